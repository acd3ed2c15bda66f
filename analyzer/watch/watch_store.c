/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "db.h"
#include "process.h"
#include "watch.h"

__attribute__((format(printf, 2, 3))) static void set_unknown(struct watch_verdict *verdict,
	const char *format, ...)
{
	va_list values;

	verdict->seen = "unknown";
	va_start(values, format);
	vsnprintf(verdict->why, sizeof(verdict->why), format, values);
	va_end(values);
}

static unsigned count_others(const struct watched_gpu *gpu, int visible, int computed)
{
	unsigned count = 0;

	for (unsigned i = 0; i < gpu->count; i++)
		count += !gpu->process[i].own && gpu->process[i].visible >= visible &&
			gpu->process[i].computed >= computed;
	return count;
}

void watch_judge(const struct watch *watch, const struct watched_gpu *gpu, int sees_all,
	struct watch_verdict *verdict)
{
	/*
	 * Where NVML names the program's own processes by their ids, an id without a process is
	 * somebody's who has ended or is in another container.  Elsewhere it may be our own.
	 */
	int visible = !gpu->own_seen;
	unsigned computing = count_others(gpu, visible, 1), all = count_others(gpu, visible, 0);

	*verdict = (struct watch_verdict){ .processes = computing ? computing : all };
	if (gpu->place.mig)
		set_unknown(verdict, "it is divided into instances (MIG)");
	else if (!gpu->listed)
		set_unknown(verdict, "NVML: error %d", gpu->list_error);
	else if (computing) {
		verdict->seen = "computing";
		verdict->busy = (unsigned)((gpu->others + (visible ? 0 : gpu->invisible)) /
			(gpu->asked ? gpu->asked : 1));
	} else if (!gpu->own_seen)
		set_unknown(verdict, "NVML did not name the program among its processes");
	else if (all && !gpu->entries)
		set_unknown(verdict, "NVML does not say whether other processes compute");
	else if (all)
		verdict->seen = "memory";
	else if (!sees_all)
		set_unknown(verdict, "processes outside of this container are not visible");
	else
		verdict->seen = "none";
}

/* Returns NULL if it is not known which GPU it is.  Places of 0 are unknown. */
static const struct watched_gpu *find_gpu(const struct watched *watched, sqlite3_stmt *device)
{
	for (unsigned i = 0; i < watched->gpus; i++) {
		const struct nvml_place *place = &watched->gpu[i].place;

		if (sqlite3_column_int64(device, 2) == place->domain &&
			sqlite3_column_int64(device, 3) == place->bus &&
			sqlite3_column_int64(device, 4) == place->slot)
			return &watched->gpu[i];
	}
	return NULL;
}

static void judge_device(const struct watch *watch, sqlite3_stmt *device, int sees_all,
	struct watch_verdict *verdict)
{
	const struct watched *watched = watch->watched;
	const struct watched_gpu *gpu = watched->ready ? find_gpu(watched, device) : NULL;

	*verdict = (struct watch_verdict){ .seen = "unknown" };
	if (gpu)
		watch_judge(watch, gpu, sees_all, verdict);
	else if (watched->ready)
		set_unknown(verdict, "NVML has no such device");
	else
		set_unknown(verdict, "%s",
			*watched->why ? watched->why : "the program ended before NVML answered");
}

int watch_store(const struct watch *watch, struct db *db)
{
	sqlite3_stmt *device, *insert;
	int step = 0, sees_all = process_sees_all();

	if (!watch || !watch->watched)
		return 0;
	device = db_prepare(db,
		"SELECT process, device, max(a.value) FILTER (WHERE name = 'pci_domain_id'),"
		" max(a.value) FILTER (WHERE name = 'pci_bus_id'),"
		" max(a.value) FILTER (WHERE name = 'pci_device_id')"
		" FROM (SELECT DISTINCT process, device FROM context WHERE device >= 0)"
		" LEFT JOIN device_attribute a USING (process) WHERE a.ordinal = device"
		" GROUP BY 1, 2 ORDER BY 1, 2");
	insert = db_prepare(db,
		"INSERT INTO other_use (process, device, seen, processes, busy, why)"
		" VALUES (?, ?, ?, ?, ?, nullif(?, ''))");
	while (device && insert && !step && (step = db_step(device)) > 0) {
		struct watch_verdict verdict;

		judge_device(watch, device, sees_all, &verdict);
		step = db_run(insert, "iisiis", sqlite3_column_int64(device, 0),
			sqlite3_column_int64(device, 1), verdict.seen, (int64_t)verdict.processes,
			(int64_t)verdict.busy, verdict.why);
	}
	sqlite3_finalize(device);
	sqlite3_finalize(insert);
	return device && insert && !step ? 0 : -1;
}
