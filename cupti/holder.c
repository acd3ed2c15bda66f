/* SPDX-License-Identifier: Apache-2.0 */
#include "holder.h"

#include <stdlib.h>
#include <string.h>

#include "injection.h"
#include "shim.h"
#include "system.h"

#define LONGEST_MARK 64

struct mark {
	const char *text;
	const char *tool;
};

static const struct mark variables[] = { { "NSYS_", "Nsight Systems" },
	{ "NV_COMPUTE_PROFILER_", "Nsight Compute" }, { "NV_SANITIZER_", "compute-sanitizer" },
	{ NULL, NULL } };

static const struct mark libraries[] = { { "/libToolsInjection", "Nsight Systems" },
	{ "/libsanitizer-collection", "compute-sanitizer" },
	{ "/libkineto", "PyTorch's profiler (kineto)" },
	/* Weak evidence: every PyTorch program has it. */
	{ "/libtorch_cpu", "PyTorch's profiler, perhaps" }, { NULL, NULL } };

static const char *by_variable(void)
{
	for (const struct mark *mark = variables; mark->text; mark++)
		for (char **variable = environ; variable && *variable; variable++)
			if (!strncmp(*variable, mark->text, strlen(mark->text)))
				return mark->tool;
	return NULL;
}

/* File name of a tool that CUDA loads by its environment, unless it is ours. */
static const char *by_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH"), *own = injection_path(), *slash;

	if (!path || !*path || (own && !strcmp(own, path)))
		return NULL;
	slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Marks found among the mapped files; bit by index. */
static unsigned marks_mapped(void)
{
	static char text[4096 + LONGEST_MARK]; /* used only by the thread that starts CUPTI */
	int fd = system_open("/proc/self/maps", O_RDONLY, 0);
	unsigned found = 0;
	size_t kept = 0;
	ssize_t n;

	while (fd >= 0 && (n = system_read(fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t length = kept + (size_t)n;

		for (unsigned i = 0; libraries[i].text; i++)
			if (memmem(text, length, libraries[i].text, strlen(libraries[i].text)))
				found |= 1u << i;
		kept = length < LONGEST_MARK ? length : LONGEST_MARK;
		memmove(text, text + length - kept, kept);
	}
	if (fd >= 0)
		system_close(fd);
	return found;
}

static const char *by_library(void)
{
	unsigned found = marks_mapped();

	for (unsigned i = 0; libraries[i].text; i++)
		if (found >> i & 1)
			return libraries[i].tool;
	return NULL;
}

void holder_note(struct thread_state *thread)
{
	const char *tool = by_variable();

	if (!tool)
		tool = by_injection();
	if (!tool)
		tool = by_library();
	if (tool)
		property_write(thread, "cupti.holder", tool, strlen(tool));
}
