/* SPDX-License-Identifier: Apache-2.0 */
#include "rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "byte_hash.h"
#include "print.h"
#include "store.h"

int rerun_open(struct rerun *rerun, const char *database)
{
	*rerun = (struct rerun){ .descriptor = -1 };
	if (run_folder_create(&rerun->folder, database) ||
		asprintf(&rerun->plan, "%s/plan", rerun->folder.path) < 0 ||
		asprintf(&rerun->stdout_file, "%s/output", rerun->folder.path) < 0)
		return -1;
	rerun->descriptor = open(rerun->stdout_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (rerun->descriptor >= 0)
		return 0;
	print(stderr, "cufence: cannot create '%s': %s\n", rerun->stdout_file, strerror(errno));
	return -1;
}

void rerun_close(struct rerun *rerun)
{
	char *database = NULL;

	if (rerun->plan)
		unlink(rerun->plan);
	if (rerun->stdout_file)
		unlink(rerun->stdout_file);
	if (rerun->folder.path && asprintf(&database, "%s/again.db", rerun->folder.path) >= 0)
		unlink(database);
	free(database);
	if (rerun->descriptor >= 0)
		close(rerun->descriptor);
	if (rerun->folder.path && !rerun->folder.count)
		run_folder_list(&rerun->folder);
	run_folder_release(&rerun->folder, 0);
	free(rerun->plan);
	free(rerun->stdout_file);
}

void *rerun_plan(const struct rerun *rerun, const void *plan, size_t bytes)
{
	int fd = open(rerun->plan, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *mapped = MAP_FAILED;

	if (fd >= 0 && write(fd, plan, bytes) == (ssize_t)bytes)
		mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mapped != MAP_FAILED)
		return mapped;
	print(stderr, "cufence: cannot write '%s': %s\n", rerun->plan, strerror(errno));
	return NULL;
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

/* What a command prints, and its status. */
static uint64_t hash_check(uint64_t hash, const char *command)
{
	FILE *in = popen(command, "re");
	char bytes[4096];
	size_t n;
	int status = -1;

	while (in && (n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		hash = byte_hash(hash, bytes, n);
	if (in)
		status = pclose(in);
	return byte_hash(hash, &status, sizeof(status));
}

/* A missing file counts as empty. */
static uint64_t hash_output(const struct rerun *rerun, const struct rerun_request *request)
{
	uint64_t hash = byte_hash(BYTE_HASH_SEED, &rerun->status, sizeof(rerun->status));
	int fd = request->output ? open(request->output, O_RDONLY | O_CLOEXEC) : -1;

	hash = hash_file(hash, rerun->descriptor);
	if (fd >= 0) {
		hash = hash_file(hash, fd);
		close(fd);
	}
	return request->check ? hash_check(hash, request->check) : hash;
}

int rerun_program(struct rerun *rerun, const struct rerun_request *request)
{
	struct run_environment environment;
	int started = 0;
	int rc = run_environment_init(&environment, request->simulated) ||
		(request->library &&
			run_environment_below(&environment, request->library, request->needs)) ||
		(request->guarded && run_environment_guard(&environment));

	environment.out = rerun->folder.path;
	environment.output = rerun->descriptor;
	environment.sanitizer = request->sanitizer;
	environment.most = request->most;
	environment.setting = request->setting;
	if (!rc && request->output)
		unlink(request->output);
	if (!rc)
		rerun->status = run_program(request->command, &environment, &started);
	rerun->wrote = hash_output(rerun, request);
	run_environment_release(&environment);
	return rc || !started || run_folder_list(&rerun->folder) ? -1 : 0;
}

int rerun_load(struct rerun *rerun, struct db *db, enum db_access access)
{
	struct analyze_input input = { .trace = rerun->folder.trace, .count = rerun->folder.count };
	char *path = NULL;
	int rc;

	if (asprintf(&path, "%s/again.db", rerun->folder.path) < 0)
		return -1;
	rc = store_build(path, &input) || db_open(db, path, access);
	free(path);
	return rc ? -1 : 0;
}
