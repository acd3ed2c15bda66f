/* SPDX-License-Identifier: Apache-2.0 */
#include "rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"
#include "store.h"

int rerun_open(struct rerun *rerun, const char *database)
{
	*rerun = (struct rerun){ .descriptor = -1 };
	if (run_folder_create(&rerun->folder, database) ||
		asprintf(&rerun->plan, "%s/plan", rerun->folder.path) < 0 ||
		asprintf(&rerun->output, "%s/output", rerun->folder.path) < 0)
		return -1;
	rerun->descriptor = open(rerun->output, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (rerun->descriptor >= 0)
		return 0;
	print(stderr, "cufence: cannot create '%s': %s\n", rerun->output, strerror(errno));
	return -1;
}

void rerun_close(struct rerun *rerun)
{
	char *database = NULL;

	if (rerun->plan)
		unlink(rerun->plan);
	if (rerun->output)
		unlink(rerun->output);
	if (rerun->folder.path && asprintf(&database, "%s/again.db", rerun->folder.path) >= 0)
		unlink(database);
	free(database);
	if (rerun->descriptor >= 0)
		close(rerun->descriptor);
	if (rerun->folder.path && !rerun->folder.count)
		run_folder_list(&rerun->folder);
	run_folder_release(&rerun->folder, 0);
	free(rerun->plan);
	free(rerun->output);
}

static uint64_t hash_file(uint64_t hash, int fd)
{
	char bytes[65536];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		hash = byte_hash(hash, bytes, (size_t)n);
	return hash;
}

/* A missing file counts as empty. */
static uint64_t hash_output(const struct rerun *rerun, const char *named)
{
	uint64_t hash = byte_hash(BYTE_HASH_SEED, &rerun->status, sizeof(rerun->status));
	int fd = named ? open(named, O_RDONLY | O_CLOEXEC) : -1;

	hash = hash_file(hash, rerun->descriptor);
	if (fd < 0)
		return hash;
	hash = hash_file(hash, fd);
	close(fd);
	return hash;
}

struct hold_plan *rerun_plan(const struct rerun *rerun, const struct hold_plan *plan)
{
	int fd = open(rerun->plan, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct hold_plan *mapped = MAP_FAILED;

	if (fd >= 0 && write(fd, plan, sizeof(*plan)) == (ssize_t)sizeof(*plan))
		mapped = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mapped != MAP_FAILED)
		return mapped;
	print(stderr, "cufence: cannot write '%s': %s\n", rerun->plan, strerror(errno));
	return NULL;
}

int rerun_run(struct rerun *rerun, const struct rerun_request *request)
{
	struct run_environment environment;
	int started = 0, rc;

	rc = run_environment_init(&environment, request->simulated) ||
		(request->hold && run_environment_hold(&environment)) ||
		(request->guard && run_environment_guard(&environment));
	environment.out = rerun->folder.path;
	environment.output = rerun->descriptor;
	environment.sanitizer = request->sanitizer;
	environment.most = request->most;
	environment.setting = request->setting;
	if (!rc && request->output)
		unlink(request->output);
	if (!rc)
		rerun->status = run_program(request->command, &environment, &started);
	rerun->wrote = hash_output(rerun, request->output);
	run_environment_release(&environment);
	return rc || !started || run_folder_list(&rerun->folder) ? -1 : 0;
}

int rerun_load(struct rerun *rerun, struct db *db)
{
	struct analyze_input input = { .trace = rerun->folder.trace, .count = rerun->folder.count };
	char *path = NULL;
	int rc;

	if (asprintf(&path, "%s/again.db", rerun->folder.path) < 0)
		return -1;
	rc = store_build(path, &input) || db_open(db, path, DB_OWN);
	free(path);
	return rc ? -1 : 0;
}
