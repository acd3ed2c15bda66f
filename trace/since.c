/* SPDX-License-Identifier: Apache-2.0 */
#include "since.h"

#include "calls.h"

#define AS(type) ((const struct type *)record)

void since_note(struct trace_since *since, const struct record *record)
{
	if (record->type == RECORD_CALL_TYPE)
		since->is_work[AS(call_type_record)->call] =
			AS(call_type_record)->kind < KIND_COUNT &&
			kind_has(AS(call_type_record)->kind, K_WINDOWED);
	else if (record->type == RECORD_CALL && since_is_before(since, record) &&
		AS(call_record)->correlation > since->correlation)
		since->correlation = AS(call_record)->correlation;
}

int since_is_before(const struct trace_since *since, const struct record *record)
{
	switch (record->type) {
	case RECORD_CALL:
		return AS(call_record)->enter < since->ticks;
	case RECORD_ENTER:
		return AS(enter_record)->enter < since->ticks;
	case RECORD_DEVICE:
		return AS(device_record)->correlation &&
			AS(device_record)->correlation <= since->correlation;
	case RECORD_HOST_RUN:
		return AS(host_run_record)->enter < since->ticks;
	case RECORD_WINDOW:
		return AS(window_record)->ticks < since->ticks;
	case RECORD_USAGE:
		return AS(usage_record)->ticks < since->ticks;
	default:
		return 0;
	}
}

int since_leaves_out(const struct trace_since *since, const struct record *record)
{
	return since_is_before(since, record) &&
		(record->type == RECORD_CALL ? since->is_work[AS(call_record)->call]
				: record->type == RECORD_ENTER
				? since->is_work[AS(enter_record)->call]
				: 1);
}
