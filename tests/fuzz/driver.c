/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzzer that needs gcc only: mutates inputs with a fixed random seed, and keeps those that
 * reach code none did before (-fsanitize-coverage=trace-pc tells).  Sanitizers find the mistakes.
 *
 *	fuzz_NAME [-s SECONDS] [-n EXECUTIONS] [-r SEED] [-w FOLDER] SEED_FILE...
 *	fuzz_NAME -1 INPUT       runs one input, to reproduce a crash
 *
 * -w writes the seeds for libFuzzer and ends.  A crash leaves its input in ./crash-fuzz_NAME.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_INPUT 16384
#define MAX_KEPT 20000
#define MAP_SIZE 65536
#define HANG_SECONDS 30

void __sanitizer_cov_trace_pc(void);
void __sanitizer_set_death_callback(void (*callback)(void));
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
extern const char __executable_start; /* the linker's */

static struct {
	struct fuzz_input kept[MAX_KEPT];
	unsigned count;
	uint8_t *current;          /* MAX_INPUT bytes, aligned like a mapped file */
	size_t size;
	uint64_t random, executions;
	char crash[64];
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
	return "allocator_may_return_null=1:max_allocation_size_mb=64:hard_rss_limit_mb=3000:"
	       "quarantine_size_mb=16:handle_abort=1";
}

const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}

__attribute__((no_sanitize("address", "undefined")))
void __sanitizer_cov_trace_pc(void)
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

static void save_current(void)
{
	int fd = open(fuzz.crash, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, fuzz.current, fuzz.size) != (ssize_t)fuzz.size)
		dprintf(2, "cannot save the input\n");
	else
		dprintf(2, "the input is in %s\n", fuzz.crash);
}

static void hangs(int signal)
{
	dprintf(2, "no end after %d s\n", HANG_SECONDS);
	save_current();
	_exit(3);
}

static uint64_t next_random(void)
{
	fuzz.random ^= fuzz.random << 13;
	fuzz.random ^= fuzz.random >> 7;
	fuzz.random ^= fuzz.random << 17;
	return fuzz.random;
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
	size_t width = (size_t)1 << below(4), at = below(fuzz.size / width) * width;
	uint64_t value = 0;

	if (at + width > fuzz.size)
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
	size_t at = below(fuzz.size), end, length = strlen(number);

	while (at < fuzz.size && (fuzz.current[at] < '0' || fuzz.current[at] > '9'))
		at++;
	for (end = at; end < fuzz.size && fuzz.current[end] >= '0' && fuzz.current[end] <= '9';)
		end++;
	if (end == at || fuzz.size - (end - at) + length > MAX_INPUT)
		return;
	memmove(fuzz.current + at + length, fuzz.current + end, fuzz.size - end);
	memcpy(fuzz.current + at, number, length);
	fuzz.size += length - (end - at);
}

static size_t aligned(size_t value)
{
	return below(4) ? value & ~(size_t)7 : value;
}

/* Moves, repeats, removes or inserts a block, most often in words of the format. */
static void mutate_block(void)
{
	size_t from = aligned(below(fuzz.size)), to = aligned(below(fuzz.size));
	size_t length = aligned(below(fuzz.size - from < 512 ? fuzz.size - from : 512) + 8);

	if (length > fuzz.size - from)
		length = fuzz.size - from;
	switch (below(4)) {
	case 0:
		if (length <= fuzz.size - to)
			memmove(fuzz.current + to, fuzz.current + from, length);
		break;
	case 1:
		memmove(fuzz.current + from, fuzz.current + from + length,
			fuzz.size - from - length);
		fuzz.size -= length;
		break;
	case 2:
		if (fuzz.size + length > MAX_INPUT)
			break;
		memmove(fuzz.current + from + length, fuzz.current + from, fuzz.size - from);
		fuzz.size += length;
		break;
	default:
		if (!below(8))
			fuzz.size = to;
	}
}

/* Bytes of another input at the same place. */
static void mix(void)
{
	const struct fuzz_input *other = &fuzz.kept[below(fuzz.count)];
	size_t shorter = other->size < fuzz.size ? other->size : fuzz.size;
	size_t at = aligned(below(shorter)), length = aligned(below(shorter - at) + 1);

	memcpy(fuzz.current + at, other->data + at, length);
}

static void mutate(void)
{
	const struct fuzz_input *base = &fuzz.kept[below(fuzz.count)];
	size_t changes = 1 + below(below(2) ? 2 : 8);

	memcpy(fuzz.current, base->data, base->size);
	fuzz.size = base->size;
	while (changes-- && fuzz.size) {
		size_t which = below(8);
		if (which < 4)
			mutate_word();
		else if (which < 5)
			mutate_number();
		else if (which < 7)
			mutate_block();
		else
			mix();
	}
}

static void keep(const uint8_t *data, size_t size)
{
	struct fuzz_input *kept = &fuzz.kept[fuzz.count];

	if (fuzz.count == MAX_KEPT || !(kept->data = malloc(size + 1)))
		return;
	memcpy(kept->data, data, size);
	kept->size = size;
	fuzz.count++;
}

/* By what it computes: a busy machine is no hang.  What sleeps for ever has far more time. */
static void watch_for_hangs(void)
{
	struct itimerval limit = { .it_value = { .tv_sec = HANG_SECONDS } };

	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(10 * HANG_SECONDS);
}

static void execute(void)
{
	/* A copy that ends where it ends: a byte too far is the sanitizer's. */
	uint8_t *copy = malloc(fuzz.size ? fuzz.size : 1);

	if (!copy)
		return;
	memcpy(copy, fuzz.current, fuzz.size);
	/* Seldom, for those that take microseconds; of those that take long 64 are soon done. */
	if (fuzz.executions++ % 64 == 0)
		watch_for_hangs();
	LLVMFuzzerTestOneInput(copy, fuzz.size);
	free(copy);
	if (take_coverage())
		keep(fuzz.current, fuzz.size);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void load(const struct fuzz_input *input)
{
	fuzz.size = input->size < MAX_INPUT ? input->size : MAX_INPUT;
	memcpy(fuzz.current, input->data, fuzz.size);
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

static int run_seeds(char *const *path, unsigned count, const char *folder)
{
	struct fuzz_input seed;
	unsigned n;
	int rc;

	for (n = 0; (rc = fuzz_seed(n, path, count, &seed)) > 0; n++) {
		if (folder && write_seed(folder, n, &seed))
			return -1;
		load(&seed);
		free(seed.data);
		if (!folder)
			execute();
	}
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
	execute();
	printf("no crash\n");
	return 0;
}

/*
 * The targets say on stderr what is wrong with an input.  The sanitizers keep descriptor 2: the
 * leak checker, a process of its own, does not write to one they were told of.
 */
static int silence(void)
{
	FILE *nowhere = fopen("/dev/null", "we");

	if (!nowhere)
		return -1;
	stderr = nowhere;
	__sanitizer_set_death_callback(save_current);
	signal(SIGALRM, hangs);
	signal(SIGPROF, hangs);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const char *folder = NULL, *single = NULL;
	double seconds = 0, start;
	uint64_t limit = 0;
	int option;

	fuzz.random = 0x2545f4914f6cdd1d;
	while ((option = getopt(argc, argv, "s:n:r:w:1:")) != -1) {
		if (option == 's')
			seconds = atof(optarg);
		else if (option == 'n')
			limit = strtoull(optarg, NULL, 0);
		else if (option == 'r')
			fuzz.random ^= strtoull(optarg, NULL, 0) << 1;
		else if (option == 'w')
			folder = optarg;
		else if (option == '1')
			single = optarg;
		else
			return 2;
	}
	fuzz.current = calloc(1, MAX_INPUT + 1);
	snprintf(fuzz.crash, sizeof(fuzz.crash), "crash-%s", name);
	if (!fuzz.current || silence())
		return 2;
	if (single)
		return run_one(single);
	if (run_seeds(argv + optind, (unsigned)(argc - optind), folder))
		return 2;
	if (folder)
		return 0;
	start = now();
	while (fuzz.executions < limit ||
		(fuzz.executions % 64 ? seconds > 0 : now() - start < seconds)) {
		mutate();
		execute();
	}
	seconds = now() - start;
	printf("%s: %llu executions in %.0f s (%.0f a second), %u inputs, %u edges, no crash\n",
		name, (unsigned long long)fuzz.executions, seconds,
		(double)fuzz.executions / (seconds > 0 ? seconds : 1), fuzz.count, coverage.total);
	return 0;
}
