/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills the flood at random times and compares each trace with the flood's own counts:
 *
 * kills RUNS CALLS FOLDER FLOOD [SEED]
 *
 * CUFENCE_OUT is FOLDER. Makes at least RUNS runs, until three quarters of RUNS were killed while
 * writing.  Prints "R runs, K while records were written, M records, no loss", or the error, and
 * then exits 1.  LD_PRELOAD for the flood is in KILLS_PRELOAD.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"

#define THREADS 4
enum { BEGUN = 1, DONE = 2 };

static struct account {
	_Atomic uint64_t returned;
	uint64_t thread, unused[6];
} * account;

static struct {
	const char *calls, *folder, *flood;
	char account_path[4096], trace_path[4096];
	double startup, writing; /* seconds, of the first run */
	unsigned killed_writing;
	uint64_t records, random;
} test;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double random_share(void)
{
	test.random = test.random * 6364136223846793005u + 1442695040888963407u;
	return (double)(test.random >> 33) / (double)(1u << 31);
}

static int fail(const char *what)
{
	printf("%s: %s\n", test.trace_path, what);
	return -1;
}

static pid_t spawn(void)
{
	char threads[8];
	pid_t child;

	memset(account, 0, (THREADS + 1) * sizeof(*account));
	snprintf(threads, sizeof(threads), "%d", THREADS);
	child = fork();
	if (!child) {
		setenv("LD_PRELOAD", getenv("KILLS_PRELOAD"), 1);
		setenv("CUFENCE_OUT", test.folder, 1);
		execl(test.flood, test.flood, threads, test.calls, test.account_path, NULL);
		_exit(127);
	}
	snprintf(test.trace_path, sizeof(test.trace_path), "%s/cufence.%d.cft", test.folder, child);
	return child;
}

static void pause_for(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&t, NULL);
}

/* Waits until the flood's threads run, or the time is reached. */
static void wait_for_flood(double limit)
{
	double end = now() + limit;

	while (account[THREADS].returned < BEGUN && now() < end)
		pause_for(50e-6);
}

/* Counts the calls in the trace by thread, in the order of the account. */
static int count_calls(uint64_t count[THREADS])
{
	const struct record *record;
	struct trace_reader reader;
	int rc, release = -1;

	rc = trace_open(&reader, test.trace_path);
	while (!rc && trace_next(&reader, &record)) {
		const struct call_type_record *type = (const void *)record;

		test.records++;
		if (record->type == RECORD_CALL_TYPE && type->name_length == 12 &&
			!memcmp(type->data + type->field_count, "cuMemFree_v2", 12))
			release = type->call;
		for (unsigned i = 0; record->type == RECORD_CALL && i < THREADS; i++)
			count[i] += reader.thread == account[i].thread &&
				((const struct call_record *)record)->call == release;
	}
	if (rc || !trace_is_whole(&reader))
		rc = fail(reader.error);
	trace_close(&reader);
	return rc;
}

static int check(void)
{
	uint64_t count[THREADS] = { 0 };
	char what[128];

	/* Killed before its first call, it has no trace to lose. */
	if (access(test.trace_path, F_OK))
		return account[THREADS].returned ? fail("missing") : 0;
	if (count_calls(count))
		return -1;
	for (unsigned i = 0; i < THREADS; i++) {
		/* The call in progress may be recorded or not. */
		if (count[i] - account[i].returned <= 1)
			continue;
		snprintf(what, sizeof(what), "thread %u: %llu calls recorded, %llu returned", i,
			(unsigned long long)count[i], (unsigned long long)account[i].returned);
		return fail(what);
	}
	return unlink(test.trace_path);
}

/* Every eighth time is anywhere in the life of the process, the others while it writes. */
static int kill_once(unsigned run)
{
	double moment = random_share(), limit = 30;
	pid_t child = spawn();

	if (run % 8 == 0)
		limit = moment * test.startup;
	wait_for_flood(limit);
	if (run % 8)
		pause_for(moment * 0.9 * test.writing);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	test.killed_writing += account[THREADS].returned == BEGUN;
	return check();
}

/* Not killed, to measure the minimum duration. */
static int measure(void)
{
	double start = now(), seconds;
	int status;
	pid_t child = spawn();

	wait_for_flood(60);
	test.startup = now() - start;
	start = now();
	while (account[THREADS].returned < DONE && now() < start + 60)
		pause_for(50e-6);
	seconds = now() - start;
	if (!test.writing || seconds < test.writing)
		test.writing = seconds;
	waitpid(child, &status, 0);
	if (status || account[THREADS].returned != DONE)
		return fail("the flood failed by itself");
	return check();
}

int main(int argc, char **argv)
{
	unsigned runs, done;
	uint64_t whole;
	int fd;

	if (argc < 5 || !getenv("KILLS_PRELOAD"))
		return 2;
	runs = (unsigned)atoi(argv[1]);
	test.calls = argv[2];
	test.folder = argv[3];
	test.flood = argv[4];
	test.random = argc > 5 ? strtoull(argv[5], NULL, 0) : (uint64_t)time(NULL);
	snprintf(test.account_path, sizeof(test.account_path), "%s/account", test.folder);
	fd = open(test.account_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*account) * (THREADS + 1)))
		return 2;
	account = mmap(NULL, sizeof(*account) * (THREADS + 1), PROT_READ | PROT_WRITE, MAP_SHARED,
		fd, 0);
	if (account == MAP_FAILED || measure())
		return 1;
	whole = test.records;
	if (measure() || measure())
		return 1;
	/* On a busy machine many kills come too late: then more runs are made. */
	for (done = 0; done < runs || (test.killed_writing * 4 < runs * 3 && done < runs * 3);
		done++)
		if (kill_once(done))
			return 1;
	printf("%u runs, %u killed while %llu records were written, no loss\n", done,
		test.killed_writing, (unsigned long long)whole);
	return 0;
}
