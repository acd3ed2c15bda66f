/* SPDX-License-Identifier: Apache-2.0 */
#include "losses.h"

#include <string.h>

#include "unknown.h"

static const struct loss losses[] = {
	{ "dropped_records", 1,
		"%lld records were not written: disk full, memory, --max-size, or "
		"the trace was cut" },
	{ "cut", 1,
		"the trace file was cut while it was written: its contents and all later "
		"records are missing" },
	{ "dropped_device", 1, "CUPTI dropped %lld device records" },
	{ "invalid_device", 1, "%lld device records had impossible times and were left out" },
	{ "dropped_sites", 1, "%lld call sites were not recorded" },
	{ "dropped_entries", 1, "%lld names of functions, contexts or kernels were not recorded" },
	{ "not_closed", 1, "the process exited abnormally: calls in progress have no end" },
	{ UNKNOWN_LOSS, 1,
		"device operations of the last %s are unknown: CUPTI had not delivered them "
		"when the process ended" },
	{ UNKNOWN_ALL_LOSS, 1,
		"all %lld device operations are unknown: CUPTI had delivered none when the process "
		"ended" },
	{ "still_running", 1,
		"the process was still running when its trace was read: later calls are "
		"missing" },
	{ "truncated", 1,
		"the trace was cut or damaged: at least %lld bytes of what was written "
		"are missing" },
	{ "damaged", 1, "%lld records or chunks of the trace are damaged and were left out" },
	{ "unusable", 1,
		"CUDA could not be used: there is no device, or the process was forked "
		"from one that uses CUDA" },
	{ "host_only", 1, "no device operations were recorded" },
	{ "clock_estimated", 0,
		"the process ended before its clock could be calibrated twice: "
		"times are based on this machine's clock rate" },
	{ "size_reached", 1, "work was no longer recorded once the trace had reached --max-size" },
	{ "ended_before_delay", 1, "no work was recorded: the process ended within --delay" },
	{ "no_profiler_start", 1,
		"no work was recorded: the process never called "
		"cudaProfilerStart" },
	{ "no_range", 1, "no work was recorded: no NVTX range of that name ever began" },
	{ "code_missing", 0,
		"the code of %lld kernels was not found, so what they read and write is not "
		"known: load the trace where the program ran, with the folder "
		"cufence.images beside it" },
	{ "code_refused", 0,
		"the code of %lld kernels was not read, because that takes too much memory: "
		"what they read and write is not known" },
	{ "order_given_up", 1,
		"order was analyzed for the first %lld calls only: the order between "
		"streams and threads takes more than 512 MiB, or too long; no finding is based "
		"on later calls" },
	{ "graphs_not_read", 0,
		"%lld executable graphs are too large, or only partly known: their nodes were "
		"not checked for missing fences" },
	{ "accesses_forgotten", 0,
		"%lld accesses were dropped, because too many are unordered: fences missing "
		"between these and later accesses are not found" },
	{ "passed_through", 0, NULL },
	{ "bypassed_calls", 0, "%lld calls bypassed the wrappers and were recorded by CUPTI only" },
};

const struct loss *loss_find(const char *reason)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (!strcmp(losses[i].reason, reason))
			return &losses[i];
	return NULL;
}

int losses_incomplete(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT reason FROM loss");
	int count = 0, step = -1;

	while (q && (step = db_step(q)) > 0) {
		const struct loss *loss = loss_find(db_text(q, 0));
		count += !loss || loss->incomplete;
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : count;
}
