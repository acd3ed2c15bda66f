/* SPDX-License-Identifier: Apache-2.0 */
#include "losses.h"

#include <string.h>

#include "unknown.h"

static const struct loss losses[] = {
	{ "work_failed", LOSS_FAILED,
		"%lld calls that submit work failed, more than half of all: findings cannot be "
		"expected; check the results of CUDA calls" },
	{ "nothing_ran", LOSS_FAILED,
		"%lld calls submitted work, and no operation of the device ran: findings cannot be "
		"expected; check the results of CUDA calls" },
	{ "dropped_records", LOSS_INCOMPLETE,
		"%lld records were not written: disk full, memory, --max-size, or "
		"the trace was cut" },
	{ "cut", LOSS_INCOMPLETE,
		"the trace file was cut while it was written: its contents and all later "
		"records are missing" },
	{ "dropped_device", LOSS_OPERATIONS, "CUPTI dropped %lld device records" },
	{ "invalid_device", LOSS_OPERATIONS,
		"%lld device records had impossible times and were left out" },
	{ "dropped_sites", LOSS_INCOMPLETE, "%lld call sites were not recorded" },
	{ "dropped_entries", LOSS_INCOMPLETE,
		"%lld names of functions, contexts or kernels were not recorded" },
	{ "not_closed", LOSS_INCOMPLETE,
		"the process exited abnormally: calls in progress have no end" },
	{ UNKNOWN_LOSS, LOSS_OPERATIONS,
		"device operations of the last %s are unknown: CUPTI had not delivered them "
		"when the process ended" },
	{ UNKNOWN_ALL_LOSS, LOSS_OPERATIONS,
		"all %lld device operations are unknown: CUPTI had delivered none when the process "
		"ended" },
	{ "still_running", LOSS_INCOMPLETE,
		"the process was still running when its trace was read: later calls are "
		"missing" },
	{ "truncated", LOSS_INCOMPLETE,
		"the trace was cut or damaged: at least %lld bytes of what was written "
		"are missing" },
	{ "damaged", LOSS_INCOMPLETE,
		"%lld records or chunks of the trace are damaged and were left out" },
	{ "unusable", LOSS_INCOMPLETE,
		"CUDA could not be used: there is no device (cufence run --sim "
		"simulates one), or the process was forked from one that uses CUDA" },
	{ "host_only", LOSS_OPERATIONS, "no device operations were recorded" },
	{ "clock_estimated", LOSS_NOTE,
		"the process ended before its clock could be calibrated twice: "
		"times are based on this machine's clock rate" },
	{ "size_reached", LOSS_INCOMPLETE,
		"work was no longer recorded once the trace had reached --max-size" },
	{ "ended_before_delay", LOSS_INCOMPLETE,
		"no work was recorded: the process ended within --delay" },
	{ "no_profiler_start", LOSS_INCOMPLETE,
		"no work was recorded: the process never called "
		"cudaProfilerStart" },
	{ "no_range", LOSS_INCOMPLETE,
		"no work was recorded: no NVTX range of that name ever began" },
	{ "code_missing", LOSS_NOTE,
		"the code of %lld kernels was not found, so what they read and write is not "
		"known: load the trace where the program ran, with the folder "
		"cufence.images beside it" },
	{ "code_refused", LOSS_NOTE,
		"the code of %lld kernels was not read, because that takes too much memory: "
		"what they read and write is not known" },
	{ "order_given_up", LOSS_OPERATIONS,
		"order was analyzed for the first %lld calls only: the order between "
		"streams and threads takes more than 512 MiB, or too long; no finding is based "
		"on later calls" },
	{ "graphs_not_read", LOSS_NOTE,
		"%lld executable graphs are too large, or only partly known: some of their nodes "
		"were "
		"not checked for missing fences" },
	{ "accesses_forgotten", LOSS_NOTE,
		"%lld accesses were dropped, because too many are unordered: fences missing "
		"between these and later accesses are not found" },
	{ "late_ends", LOSS_NOTE, "%lld operations' ends were impossible and were corrected" },
	{ "lost_times", LOSS_OPERATIONS,
		"%lld operations' times were impossible and are not known" },
	{ "aliases_left_out", LOSS_NOTE,
		"%lld mappings of memory that has several addresses were taken for memory of their "
		"own: fences missing between two addresses of them are not found" },
	{ "passed_through", LOSS_NOTE, NULL },
	{ "passed_functions", LOSS_NOTE,
		"the runs of %lld host functions were not recorded: too many others were "
		"pending, or nodes of graphs" },
	{ "other_namespaces", LOSS_INCOMPLETE,
		"CUDA was used in %lld other link namespaces (dlmopen), whose calls are not "
		"recorded" },
	{ "unlisted_modules", LOSS_NOTE,
		"a seccomp filter may forbid to list the program's libraries at its end: those "
		"loaded late may be unknown, and a needless-wait is likely at most" },
	{ "bypassed_calls", LOSS_NOTE,
		"%lld calls bypassed the wrappers and were recorded by CUPTI only" },
};

/* Texts of a count of 1, where they differ. */
static const struct {
	const char *reason, *text;
} singular[] = {
	{ "late_ends", "1 operation's end was impossible and was corrected" },
	{ "lost_times", "1 operation's times were impossible and are not known" },
	{ "other_namespaces",
		"CUDA was used in another link namespace (dlmopen), whose calls are not recorded" },
};

const char *loss_wording(const struct loss *loss, int64_t count)
{
	for (size_t i = 0; i < sizeof(singular) / sizeof(*singular) && count == 1; i++)
		if (!strcmp(singular[i].reason, loss->reason))
			return singular[i].text;
	return loss->text;
}

const struct loss *loss_find(const char *reason)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (!strcmp(losses[i].reason, reason))
			return &losses[i];
	return NULL;
}

enum loss_effect loss_effect(const char *reason)
{
	const struct loss *loss = loss_find(reason);

	return loss ? loss->effect : LOSS_INCOMPLETE;
}

int losses_effect(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT reason FROM loss");
	int gravest = LOSS_NOTE, step = -1;

	while (q && (step = db_step(q)) > 0) {
		int effect = (int)loss_effect(db_text(q, 0));
		gravest = effect > gravest ? effect : gravest;
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : gravest;
}
