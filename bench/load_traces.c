/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_traces DATABASE TRACE: loads it, indexes included, and nothing else.  Prints calls, seconds
 * of this processor, seconds, and the most memory that was used, in KiB.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "db.h"
#include "load.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	double start = now();
	struct rusage used;
	struct db db;
	int rc;

	if (argc != 3)
		return 2;
	unlink(argv[1]);
	if (db_create(&db, argv[1]))
		return 2;
	rc = load_traces(&db, argv + 2, 1, NULL, 0);
	getrusage(RUSAGE_SELF, &used);
	if (!rc)
		printf("%lld %.3f %.3f %ld\n",
			(long long)db_int(&db, "SELECT max(id) FROM call", 0),
			seconds(used.ru_utime) + seconds(used.ru_stime), now() - start,
			used.ru_maxrss);
	db_close(&db);
	return rc ? 2 : 0;
}
