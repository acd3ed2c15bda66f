/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"
#include "process.h"
#include "rows.h"
#include "watch.h"

/* In fewer answers, of 250 ms each, a process that computes may not be named twice. */
#define LEAST_ANSWERS 3

/*
 * A process's first answer may be about the time before it: one that had only allocated memory was
 * said to have used 65 % (H200, driver 580.159).
 */
static int computes(const struct watched_process *process)
{
	return process->named > 1;
}

static int compare_percent(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/* Where ids tell whose a process is.  Sums their percentages. */
static double add_others(const struct watched_gpu *gpu, unsigned *computing)
{
	double sum = 0;

	for (unsigned i = 0; i < gpu->count; i++) {
		const struct watched_process *process = &gpu->process[i];

		if (process->own || !computes(process))
			continue;
		++*computing;
		sum += process->percent;
	}
	return sum;
}

/* Where they do not: the run's are no more than own, and at most those that used most. */
static double add_rest(const struct watched_gpu *gpu, unsigned own, unsigned *computing)
{
	double percent[WATCH_PROCESSES], sum = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < gpu->count; i++)
		if (computes(&gpu->process[i]))
			percent[count++] = gpu->process[i].percent;
	qsort(percent, count, sizeof(*percent), compare_percent);
	for (unsigned i = own; i < count; i++)
		sum += percent[i];
	*computing = count > own ? count - own : 0;
	return sum;
}

void watch_judge(const struct watched_gpu *gpu, unsigned own, int sees_all,
	struct watch_verdict *verdict)
{
	unsigned computing = 0, others = 0;
	double sum = sees_all ? add_others(gpu, &computing) : add_rest(gpu, own, &computing);

	for (unsigned i = 0; i < gpu->count; i++)
		others += gpu->process[i].listed && !gpu->process[i].own;
	*verdict = (struct watch_verdict){ .seen = "unknown",
		.processes = computing ? computing : others };
	if (gpu->place.mig)
		verdict->why = "it is divided into instances (MIG)";
	else if (gpu->mps)
		verdict->why = "processes share it by MPS";
	else if (!gpu->listed)
		verdict->why = *gpu->error ? gpu->error : "NVML does not answer";
	else if (!gpu->own_listed)
		verdict->why = "NVML did not list the program among its processes";
	else if (computing && gpu->answered >= LEAST_ANSWERS) {
		verdict->seen = "computing";
		verdict->busy = (unsigned)(sum / gpu->answered + 0.5);
	} else if (others && (gpu->refused || !sees_all))
		verdict->why = "NVML does not say whether the other processes compute";
	else if ((others || computing) && gpu->answered < LEAST_ANSWERS)
		verdict->why = "the program used it too briefly to tell whether others compute";
	else if (others)
		verdict->seen = "memory";
	else if (!sees_all)
		verdict->why = "processes outside of this container are not visible";
	else
		verdict->seen = "none";
}

enum { DEVICE_PROCESS, DEVICE_ORDINAL, DEVICE_DOMAIN, DEVICE_BUS, DEVICE_SLOT, DEVICE_OWN };

static const char devices_sql[] =
	"SELECT process, device, max(a.value) FILTER (WHERE name = 'pci_domain_id'),"
	" max(a.value) FILTER (WHERE name = 'pci_bus_id'),"
	" max(a.value) FILTER (WHERE name = 'pci_device_id'),"
	" (SELECT count(DISTINCT process) FROM context)"
	" FROM (SELECT DISTINCT process, device FROM context WHERE device >= 0)"
	" JOIN device_attribute a USING (process) WHERE a.ordinal = device"
	" GROUP BY 1, 2 ORDER BY 1, 2";

/* Returns NULL if there is none at that place. */
static const struct watched_gpu *find_gpu(const struct watched *watched, sqlite3_stmt *device)
{
	for (unsigned i = 0; i < watched->gpus; i++) {
		const struct nvml_place *place = &watched->gpu[i].place;

		if (sqlite3_column_int64(device, DEVICE_DOMAIN) == place->domain &&
			sqlite3_column_int64(device, DEVICE_BUS) == place->bus &&
			sqlite3_column_int64(device, DEVICE_SLOT) == place->slot)
			return &watched->gpu[i];
	}
	return NULL;
}

static void judge_device(const struct watched *watched, sqlite3_stmt *device, int sees_all,
	struct watch_verdict *verdict)
{
	const struct watched_gpu *gpu = watched->ready ? find_gpu(watched, device) : NULL;

	*verdict = (struct watch_verdict){ .seen = "unknown" };
	if (gpu)
		watch_judge(gpu, (unsigned)sqlite3_column_int64(device, DEVICE_OWN), sees_all,
			verdict);
	else if (watched->ready)
		verdict->why = "NVML has no such device";
	else if (*watched->why)
		verdict->why = watched->why;
	else
		verdict->why = "the program ended before NVML answered";
}

int watch_store(const struct watch *watch, struct db *db)
{
	sqlite3_stmt *device;
	int step = 0, sees_all = process_sees_all();

	if (!watch || !watch->watched)
		return 0;
	device = db_prepare(db, devices_sql);
	while (device && !step && (step = db_step(device)) > 0) {
		struct watch_verdict verdict;

		judge_device(watch->watched, device, sees_all, &verdict);
		step = db_add(db,
			ROW(other_use, sqlite3_column_int64(device, DEVICE_PROCESS),
				sqlite3_column_int64(device, DEVICE_ORDINAL),
				cell_text(verdict.seen), verdict.processes, verdict.busy,
				cell_text(verdict.why)));
	}
	sqlite3_finalize(device);
	return device && !step ? 0 : -1;
}
