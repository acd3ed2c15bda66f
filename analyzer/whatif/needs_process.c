/* SPDX-License-Identifier: Apache-2.0 */
#include "needs_parts.h"

static enum evidence weakest(const struct accesses *accesses)
{
	enum evidence found = EVIDENCE_EXACT;

	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->access[i].evidence < found)
			found = accesses->access[i].evidence;
	return found;
}

/* Lowers the evidence to that for all accesses of a call.  Returns 0, or -1 after a message. */
static int add_evidence(struct needs_process *process, struct relax *relax,
	const struct walk_call *call)
{
	const struct run_kernel *kernel = run_kernel(relax->run, call->kernel);
	const struct accesses *accesses;
	enum evidence found;

	if (!kind_has(call->kind, K_ACCESSES))
		return 0;
	if (kind_family(call->kind) == FAMILY_launch && kernel->complete) {
		found = (enum evidence)kernel->evidence;
	} else {
		accesses = access_read(relax->reader, call->id);
		if (!accesses)
			return -1;
		found = accesses->complete ? weakest(accesses) : EVIDENCE_NONE;
	}
	if (found < process->evidence)
		process->evidence = found;
	return 0;
}

int needs_process_note(struct needs *needs, struct relax *relax, const struct walk_call *call)
{
	struct needs_process *process = idmap_get(&needs->processes, call->process);

	if (!process) {
		process = idmap_need(&needs->processes, call->process, sizeof(*process));
		if (!process)
			return -1;
		*process = (struct needs_process){ .submitter = call->thread,
			.stream = call->stream,
			.busy = INT64_MIN,
			.evidence = EVIDENCE_EXACT,
			.others = host_view_others(&relax->view, call->process) };
	}
	if (process->submitter != call->thread)
		process->submitter = -1;
	if (process->stream != call->stream)
		process->stream = -1;
	process->last = call->id;
	if (call->op && call->op_end != WALK_NEVER && call->op_end > process->busy)
		process->busy = call->op_end;
	/* Nothing is weaker than none: most programs need no further look. */
	return process->evidence > EVIDENCE_NONE ? add_evidence(process, relax, call) : 0;
}

int needs_process_is_busy(const struct needs *needs, const struct walk_call *call)
{
	const struct needs_process *process = idmap_get(&needs->processes, call->process);

	return process && process->busy > call->exit;
}
