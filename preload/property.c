/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that affect CUDA or explain results: recorded once per process. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hold_plan.h"
#include "shim.h"
#include "system.h"

#define LONGEST_NAME 100 /* bytes of a variable's name */

/* clang-format off */
static const char *const names[] = {
	"CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_MODULE_DATA_LOADING",
	"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS", "CUDA_VISIBLE_DEVICES",
	"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_FORCE_PTX_JIT",
	"CUDA_CACHE_DISABLE", "CUDA_SCALE_LAUNCH_QUEUES", "CUDA_AUTO_BOOST",
	"CUDA_DEVICE_WAITS_ON_EXCEPTION", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_NCCL_BLOCKING_WAIT", "NCCL_LAUNCH_MODE",
	"NCCL_P2P_DISABLE", "XLA_FLAGS", "XLA_PYTHON_CLIENT_ALLOCATOR",
	"XLA_PYTHON_CLIENT_PREALLOCATE", SHAKEN_PROPERTY,
};
/* clang-format on */

void property_write(struct thread_state *thread, const char *name, const char *value,
	size_t value_length)
{
	size_t name_length = strlen(name);
	struct property_record *record;

	if (value_length > 8192)
		value_length = 8192;
	record = thread_reserve(thread, sizeof(*record) + name_length + value_length,
		RECORD_PROPERTY);
	if (!record)
		return;
	record->name_length = (uint16_t)name_length;
	record->value_length = (uint16_t)value_length;
	memcpy(record->data, name, name_length);
	memcpy(record->data + name_length, value, value_length);
	trace_commit(&thread->chunk);
}

/* Arguments separated by NUL in /proc become separated by spaces. */
static void write_command_line(struct thread_state *thread)
{
	static char text[4096]; /* used only by the thread that starts the recorder */
	int fd = system_open("/proc/self/cmdline", O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : system_read(fd, text, sizeof(text));

	if (fd >= 0)
		system_close(fd);
	while (n > 0 && !text[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	if (n > 0)
		property_write(thread, "command", text, (size_t)n);
}

/* The name of the machine, in its container. */
static void write_host(struct thread_state *thread)
{
	char name[HOST_NAME_MAX + 2];
	int fd = system_open("/proc/sys/kernel/hostname", O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : system_read(fd, name, sizeof(name));

	if (fd >= 0)
		system_close(fd);
	if (n > 1)
		property_write(thread, "host", name, (size_t)n - (name[n - 1] == '\n'));
}

/* Reports list settings by their names, but not these: "env." stands before the name. */
static void write_unlisted(struct thread_state *thread, const char *name, size_t length,
	const char *value)
{
	char text[4 + LONGEST_NAME + 1] = "env.";

	if (!value || length > LONGEST_NAME)
		return;
	memcpy(text + 4, name, length);
	property_write(thread, text, value, strlen(value));
}

static void write_launcher(struct thread_state *thread)
{
	static const char *const variables[] = {
#define LAUNCHER(name, rank, local_rank, world) rank, local_rank, world,
#include "launchers.def"
	};

	for (unsigned i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (*variables[i])
			write_unlisted(thread, variables[i], strlen(variables[i]),
				getenv(variables[i]));
}

static int is_listed(const char *name, size_t length)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return 1;
	return 0;
}

/* Whatever else is set for CUDA and NCCL, as it may differ between ranks. */
static void write_families(struct thread_state *thread)
{
	static const char *const families[] = { "CUDA_", "NCCL_", "TORCH_NCCL_" };

	for (char **variable = environ; variable && *variable; variable++)
		for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
			size_t length = strcspn(*variable, "=");

			if (!strncmp(*variable, families[i], strlen(families[i])) &&
				(*variable)[length] && !is_listed(*variable, length))
				write_unlisted(thread, *variable, length, *variable + length + 1);
		}
}

void property_write_all(struct thread_state *thread)
{
	write_command_line(thread);
	write_host(thread);
	write_launcher(thread);
	write_families(thread);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		if (value)
			property_write(thread, names[i], value, strlen(value));
	}
}
