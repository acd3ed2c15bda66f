/* SPDX-License-Identifier: Apache-2.0 */
#include "wait.h"

#include "array.h"

int wait_list_add(struct wait_list *list, const struct wait *wait)
{
	struct wait *more = array_room(list->wait, list->count, sizeof(*more));

	if (!more)
		return -1;
	list->wait = more;
	list->wait[list->count++] = *wait;
	return 0;
}

int wait_add_row(struct wait *wait, struct run_evidence *evidence, const struct wait *held)
{
	if (run_add_wait(evidence,
		    &(struct run_wait){
			    .call = (uint32_t)wait->call,
			    .kind = wait->kind,
			    .op = (uint32_t)wait->by.op,
			    .waited = wait->waited,
			    /* It had nothing to wait for: all of its time is avoidable. */
			    .avoidable = held ? wait->waited : 0,
			    .partner = (uint32_t)wait->partner,
			    .behind = held ? (uint32_t)held->call : 0,
		    }))
		return -1;
	wait->number = (uint32_t)evidence->wait_count - 1;
	return 0;
}
