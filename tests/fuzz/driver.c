/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzzer that needs gcc only: mutates inputs with a fixed random seed, and keeps those that
 * reach new code (-fsanitize-coverage=trace-pc reports it).  Sanitizers find the mistakes.
 *
 *	fuzz_NAME [-s SECONDS] [-n EXECUTIONS] [-r SEED] [-k CRASHES] [-w FOLDER] SEED_FILE...
 *	fuzz_NAME -1 INPUT       runs one input, to reproduce a crash
 *
 * -w writes the seeds for libFuzzer and ends.  Inputs are run by a child process, in memory that it
 * shares with this one: whatever ends it, an input that stops it, takes longer than HANG_SECONDS
 * or more memory than MOST_MEMORY is left in ./crash-fuzz_NAME.  With -k that many are, with a
 * number, before it gives up.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace_mutations.h"

#define MAX_INPUT (256 * 1024)
#define MAX_KEPT 20000
#define MAX_KEPT_BYTES (64 << 20)
#define MAP_SIZE 65536
#define HANG_SECONDS 5
#define MOST_MEMORY "512" /* MiB, the inputs that are kept included */

void __sanitizer_cov_trace_pc(void);
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
extern const char __executable_start; /* the linker's */

static struct {
	struct fuzz_input kept[MAX_KEPT];
	unsigned count, seeds;
	size_t kept_bytes;
	/* Shared with the child. */
	uint8_t *current; /* MAX_INPUT bytes, aligned like a mapped file */
	struct shared {
		size_t size;
		uint64_t random, executions;
	} * now;
	char name[64];
} fuzz;

/* Edges of this execution, each once, and those ever seen. */
static struct {
	uint8_t now[MAP_SIZE], ever[MAP_SIZE];
	uint16_t touched[MAP_SIZE];
	unsigned touched_count, total;
	uintptr_t before;
} coverage;

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64:"
	       "hard_rss_limit_mb=" MOST_MEMORY
	       ":quarantine_size_mb=16:handle_abort=1:malloc_context_size=5:"
	       "max_malloc_fill_size=0";
}

const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}

__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void)
{
	/* Wherever the program was loaded: the same inputs are kept in every run. */
	uintptr_t here = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__executable_start;
	uint16_t edge = (uint16_t)((here * 0x9e3779b97f4a7c15u >> 40) ^ coverage.before);

	coverage.before = (here * 0x9e3779b97f4a7c15u >> 41) & 0xffff;
	if (!coverage.now[edge]) {
		coverage.now[edge] = 1;
		coverage.touched[coverage.touched_count++ & (MAP_SIZE - 1)] = edge;
	}
}

/* How many edges this execution was the first to take; forgets it. */
static unsigned take_coverage(void)
{
	unsigned found = 0;

	for (unsigned i = 0; i < coverage.touched_count; i++) {
		uint16_t edge = coverage.touched[i];
		found += !coverage.ever[edge];
		coverage.ever[edge] = 1;
		coverage.now[edge] = 0;
	}
	coverage.touched_count = 0;
	coverage.before = 0;
	coverage.total += found;
	return found;
}

static void save_current(unsigned number)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), number ? "crash-%s-%u" : "crash-%s", fuzz.name, number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, fuzz.current, fuzz.now->size) != (ssize_t)fuzz.now->size)
		dprintf(2, "cannot save the input\n");
	else
		dprintf(2, "the input is in %s\n", path);
	if (fd >= 0)
		close(fd);
}

static void hangs(int signal)
{
	dprintf(2, "no end after %d s\n", HANG_SECONDS);
	_exit(3);
}

static uint64_t next_random(void)
{
	fuzz.now->random ^= fuzz.now->random << 13;
	fuzz.now->random ^= fuzz.now->random >> 7;
	fuzz.now->random ^= fuzz.now->random << 17;
	return fuzz.now->random;
}

static size_t below(size_t limit)
{
	return limit ? (size_t)(next_random() % limit) : 0;
}

/* Overwrites an aligned word with a number that programs get wrong, or moves it a little. */
static void mutate_word(void)
{
	static const uint64_t interesting[] = { 0, 1, 2, 7, 8, 16, 31, 32, 33, 63, 64, 127, 128,
		255, 256, 4095, 4096, 32767, 32768, 65535, 65536, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX - 7, UINT64_MAX };
	size_t width = (size_t)1 << below(4), at = below(fuzz.now->size / width) * width;
	uint64_t value = 0;

	if (at + width > fuzz.now->size)
		return;
	memcpy(&value, fuzz.current + at, width);
	switch (below(3)) {
	case 0:
		value = interesting[below(sizeof(interesting) / sizeof(interesting[0]))];
		break;
	case 1:
		value += below(33) - 16;
		break;
	default:
		value ^= (uint64_t)1 << below(8 * width);
	}
	memcpy(fuzz.current + at, &value, width);
}

/* Writes a number that programs get wrong in place of one in a text, in the room there is. */
static void mutate_number(void)
{
	static const char *const interesting[] = { "0", "1", "7", "8", "31", "32", "63", "64",
		"255", "4096", "65535", "2147483647", "2147483648", "4294967295", "4294967296",
		"9223372036854775800", "9223372036854775807", "9223372036854775808",
		"9223372036854775815", "18446744073709551608", "18446744073709551615" };
	const char *number = interesting[below(sizeof(interesting) / sizeof(interesting[0]))];
	size_t size = fuzz.now->size, at = below(size), end, length = strlen(number);

	while (at < size && (fuzz.current[at] < '0' || fuzz.current[at] > '9'))
		at++;
	for (end = at; end < size && fuzz.current[end] >= '0' && fuzz.current[end] <= '9';)
		end++;
	if (end == at || fuzz.now->size - (end - at) + length > MAX_INPUT)
		return;
	memmove(fuzz.current + at + length, fuzz.current + end, fuzz.now->size - end);
	memcpy(fuzz.current + at, number, length);
	fuzz.now->size += length - (end - at);
}

static size_t aligned(size_t value)
{
	return below(4) ? value & ~(size_t)7 : value;
}

/* Moves, repeats, removes or inserts a block, most often in words of the format. */
static void mutate_block(void)
{
	size_t from = aligned(below(fuzz.now->size)), to = aligned(below(fuzz.now->size));
	size_t left = fuzz.now->size - from, length = aligned(below(left < 512 ? left : 512) + 8);

	if (length > left)
		length = left;
	switch (below(4)) {
	case 0:
		if (length <= fuzz.now->size - to)
			memmove(fuzz.current + to, fuzz.current + from, length);
		break;
	case 1:
		memmove(fuzz.current + from, fuzz.current + from + length,
			fuzz.now->size - from - length);
		fuzz.now->size -= length;
		break;
	case 2:
		if (fuzz.now->size + length > MAX_INPUT)
			break;
		memmove(fuzz.current + from + length, fuzz.current + from, fuzz.now->size - from);
		fuzz.now->size += length;
		break;
	default:
		if (!below(8))
			fuzz.now->size = to;
	}
}

/* Bytes of another input at the same place. */
static void mix(void)
{
	const struct fuzz_input *other = &fuzz.kept[below(fuzz.count)];
	size_t shorter = other->size < fuzz.now->size ? other->size : fuzz.now->size;
	size_t at = aligned(below(shorter)), length = aligned(below(shorter - at) + 1);

	memcpy(fuzz.current + at, other->data + at, length);
}

static void start_from(const struct fuzz_input *base)
{
	memcpy(fuzz.current, base->data, base->size);
	fuzz.now->size = base->size;
}

static int is_trace(void)
{
	return &fuzz_is_trace && fuzz_is_trace;
}

static void change(void)
{
	size_t which = below(8);

	if (is_trace() && below(8))
		trace_mutate(fuzz.current, &fuzz.now->size, MAX_INPUT,
			&fuzz.kept[below(fuzz.count)], next_random);
	else if (which < 4)
		mutate_word();
	else if (which < 5)
		mutate_number();
	else if (which < 7)
		mutate_block();
	else
		mix();
}

/* 1 if the input may be kept: what has been damaged on purpose is no base for another. */
static int mutate(void)
{
	size_t changes = 1 + below(below(2) ? 2 : 8);

	if (is_trace() && !below(4)) {
		start_from(&fuzz.kept[below(fuzz.seeds)]);
		if (trace_damage(fuzz.current, &fuzz.now->size, MAX_INPUT, next_random))
			return 0;
	}
	start_from(&fuzz.kept[below(fuzz.count)]);
	while (changes-- && fuzz.now->size)
		change();
	return 1;
}

static void keep(const uint8_t *data, size_t size)
{
	struct fuzz_input *kept = &fuzz.kept[fuzz.count];

	if (fuzz.count == MAX_KEPT || fuzz.kept_bytes + size > MAX_KEPT_BYTES ||
		!(kept->data = malloc(size + 1)))
		return;
	memcpy(kept->data, data, size);
	kept->size = size;
	fuzz.kept_bytes += size;
	fuzz.count++;
}

/* Counts processor time: a busy machine is no hang.  An input that sleeps has far more time. */
static void watch_for_hangs(void)
{
	struct itimerval limit = { .it_value = { .tv_sec = HANG_SECONDS } };

	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(10 * HANG_SECONDS);
}

static void execute(int may_keep)
{
	/* A copy that ends where it ends: a byte too far is the sanitizer's. */
	uint8_t *copy = malloc(fuzz.now->size ? fuzz.now->size : 1);

	if (!copy)
		return;
	memcpy(copy, fuzz.current, fuzz.now->size);
	fuzz.now->executions++;
	watch_for_hangs();
	LLVMFuzzerTestOneInput(copy, fuzz.now->size);
	free(copy);
	if (take_coverage() && may_keep)
		keep(fuzz.current, fuzz.now->size);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void load(const struct fuzz_input *input)
{
	fuzz.now->size = input->size < MAX_INPUT ? input->size : MAX_INPUT;
	memcpy(fuzz.current, input->data, fuzz.now->size);
}

static int write_seed(const char *folder, unsigned n, const struct fuzz_input *seed)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/seed-%u", folder, n);
	out = fopen(path, "wb");
	if (!out || fwrite(seed->data, 1, seed->size, out) != seed->size || fclose(out)) {
		dprintf(2, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}

/* Seeds are kept whatever they reach. */
static int read_seeds(char *const *path, unsigned count, const char *folder)
{
	struct fuzz_input seed;
	unsigned n;
	int rc;

	for (n = 0; (rc = fuzz_seed(n, path, count, &seed)) > 0; n++) {
		if (folder && write_seed(folder, n, &seed))
			return -1;
		load(&seed);
		free(seed.data);
		keep(fuzz.current, fuzz.now->size);
	}
	fuzz.seeds = fuzz.count;
	if (rc || !n)
		dprintf(2, "cannot make seed %u\n", n);
	return rc || !n ? -1 : 0;
}

static int run_one(const char *path)
{
	struct fuzz_input input;

	if (fuzz_read(path, &input)) {
		dprintf(2, "%s: %s\n", path, strerror(errno));
		return 2;
	}
	load(&input);
	free(input.data);
	execute(0);
	printf("no crash\n");
	return 0;
}

/*
 * The targets say on stderr what is wrong with an input.  The sanitizers keep descriptor 2: the
 * leak checker, a process of its own, does not write to another one that they were given.
 */
static int silence(void)
{
	FILE *nowhere = fopen("/dev/null", "we");

	if (!nowhere)
		return -1;
	stderr = nowhere;
	signal(SIGALRM, hangs);
	signal(SIGPROF, hangs);
	return 0;
}

/* The work to do. */
struct work {
	double start, seconds;
	uint64_t limit;
};

/* The child: what one finds out is gone with it, and another goes on from the seeds. */
static int run(const struct work *work)
{
	for (unsigned i = 0; i < fuzz.seeds && fuzz.now->executions <= i; i++) {
		start_from(&fuzz.kept[i]);
		execute(0);
	}
	while (fuzz.now->executions < work->limit ||
		(fuzz.now->executions % 64 ? work->seconds > 0
					   : now() - work->start < work->seconds))
		execute(mutate());
	printf("%s: %llu executions in %.0f s (%.0f a second), %u inputs, %u edges\n", fuzz.name,
		(unsigned long long)fuzz.now->executions, now() - work->start,
		(double)fuzz.now->executions / (now() - work->start + 1e-9), fuzz.count,
		coverage.total);
	return 0;
}

/* 0 if nothing stopped it; up to crashes inputs that did are saved. */
static int supervise(const struct work *work, unsigned crashes)
{
	for (unsigned crash = 1;; crash++) {
		pid_t child;
		int status;

		fflush(stdout);
		child = fork();
		if (!child)
			exit(run(work));
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 2;
		if (!status) {
			printf("%s: %u crashes\n", fuzz.name, crash - 1);
			return crash > 1;
		}
		save_current(crashes ? crash : 0);
		if (crash >= crashes)
			return 1;
	}
}

static void *share(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const char *folder = NULL, *single = NULL;
	struct work work = { 0 };
	unsigned crashes = 0;
	int option;

	fuzz.now = share(sizeof(*fuzz.now));
	fuzz.current = share(MAX_INPUT + 1);
	snprintf(fuzz.name, sizeof(fuzz.name), "%s", name);
	if (!fuzz.current || !fuzz.now || silence())
		return 2;
	fuzz.now->random = 0x2545f4914f6cdd1d;
	while ((option = getopt(argc, argv, "s:n:r:k:w:1:")) != -1) {
		if (option == 's')
			work.seconds = atof(optarg);
		else if (option == 'n')
			work.limit = strtoull(optarg, NULL, 0);
		else if (option == 'r')
			fuzz.now->random ^= strtoull(optarg, NULL, 0) << 1;
		else if (option == 'k')
			crashes = (unsigned)atoi(optarg);
		else if (option == 'w')
			folder = optarg;
		else if (option == '1')
			single = optarg;
		else
			return 2;
	}
	if (single)
		return run_one(single);
	if (read_seeds(argv + optind, (unsigned)(argc - optind), folder))
		return 2;
	if (folder)
		return 0;
	work.start = now();
	return supervise(&work, crashes);
}
