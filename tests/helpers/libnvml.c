/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 for machines without a GPU: its answers are those in the file FAKE_NVML.
 * The lines, read anew at each question:
 *
 *	init ERROR [MS]         nvmlInit takes that long and fails (0: succeeds)
 *	devices N               (1)
 *	mig DEVICE              it is divided
 *	list DEVICE PID|ERROR=N a process has a context there
 *	use DEVICE PID PERCENT  and computes; use DEVICE ERROR=N fails
 *	hang                    no question is answered
 *
 * PID is a number, or the name of a file that contains one.  Each question about use appends a line
 * to FAKE_NVML.asked, with the id of the process that asks.  No line "use": nobody computed (6).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct process {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance, compute_instance;
};

struct utilization {
	unsigned pid;
	unsigned long long at;
	unsigned sm, memory, encoder, decoder;
};

struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char text[32];
};

enum { NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static unsigned number_of(const char *word)
{
	FILE *file = strspn(word, "0123456789") == strlen(word) ? NULL : fopen(word, "r");
	unsigned number = (unsigned)atoi(word);

	if (file) {
		if (fscanf(file, "%u", &number) != 1)
			number = 0;
		fclose(file);
	}
	return number;
}

/* Calls back with the words of each line that begins with word. */
static void each(const char *word, void (*line)(void *, char **), void *state)
{
	const char *path = getenv("FAKE_NVML");
	FILE *file = path ? fopen(path, "r") : NULL;
	char text[256];

	while (file && fgets(text, sizeof(text), file)) {
		char *words[4] = { NULL }, *rest = text;
		int count = 0;

		while (count < 4 && (words[count] = strtok_r(rest, " \n", &rest)))
			count++;
		if (count && !strcmp(words[0], "hang"))
			pause();
		if (count && !strcmp(words[0], word))
			line(state, words + 1);
	}
	if (file)
		fclose(file);
}

static void take_init(void *state, char **word)
{
	*(int *)state = atoi(word[0]);
	if (word[1])
		usleep((useconds_t)atoi(word[1]) * 1000);
}

static void take_number(void *state, char **word)
{
	*(unsigned *)state = (unsigned)atoi(word[0]);
}

struct answer {
	unsigned device, count, room;
	int error, mig;
	struct process *process;
	struct utilization *used;
};

static void take_mig(void *state, char **word)
{
	struct answer *answer = state;

	answer->mig |= (unsigned)atoi(word[0]) == answer->device;
}

static void take_row(void *state, char **word)
{
	struct answer *answer = state;
	unsigned pid;

	if ((unsigned)atoi(word[0]) != answer->device)
		return;
	if (sscanf(word[1], "ERROR=%d", &answer->error) == 1 || !(pid = number_of(word[1])))
		return;
	if (answer->process && answer->count < answer->room)
		answer->process[answer->count] = (struct process){ .pid = pid };
	if (answer->used && answer->count < answer->room)
		answer->used[answer->count] = (struct utilization){ .pid = pid,
			.at = (unsigned long long)time(NULL) * 1000000,
			.sm = (unsigned)atoi(word[2]) };
	answer->count++;
}

int nvmlInit_v2(void)
{
	int error = 0;

	each("init", take_init, &error);
	return error;
}

const char *nvmlErrorString(int error)
{
	return error == 4 ? "Insufficient Permissions" : "Some Error";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = 1;
	each("devices", take_number, count);
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = (void *)(size_t)(index + 1);
	return 0;
}

/* The simulated devices sit on bus 1 and on. */
int nvmlDeviceGetPciInfo_v3(void *device, struct pci_info *pci)
{
	memset(pci, 0, sizeof(*pci));
	pci->bus = (unsigned)(size_t)device;
	return 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *mode, unsigned *pending)
{
	struct answer answer = { .device = (unsigned)(size_t)device - 1 };

	each("mig", take_mig, &answer);
	*mode = *pending = (unsigned)answer.mig;
	return answer.mig ? 0 : 3;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *process)
{
	struct answer answer = { .device = (unsigned)(size_t)device - 1,
		.room = *count,
		.process = process };

	each("list", take_row, &answer);
	*count = answer.count;
	return answer.error ? answer.error : answer.count > answer.room ? INSUFFICIENT_SIZE : 0;
}

int nvmlDeviceGetProcessUtilization(void *device, struct utilization *used, unsigned *count,
	unsigned long long since)
{
	struct answer answer = { .device = (unsigned)(size_t)device - 1,
		.room = *count,
		.used = used };
	const char *path = getenv("FAKE_NVML");
	char *name = NULL;
	FILE *asked = path && asprintf(&name, "%s.asked", path) > 0 ? fopen(name, "a") : NULL;

	free(name);
	if (asked) {
		fprintf(asked, "%d\n", (int)getpid());
		fclose(asked);
	}
	each("use", take_row, &answer);
	*count = answer.count;
	return answer.error ? answer.error : !answer.count ? NOT_FOUND : 0;
}
