/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes CUPTI activity records by offset.  Layouts only grow at the end, so fixed offsets work
 * for every CUPTI since 11.x; decode.c asserts them against the installed header.
 */
#ifndef CUFENCE_DECODE_H
#define CUFENCE_DECODE_H

#include <stdint.h>

#include "record.h"

struct decoded {
	uint8_t kind;             /* enum device_kind */
	uint8_t detail, src, dst; /* as in struct device_record */
	uint64_t start, end;      /* CUPTI ns */
	uint32_t correlation, context, device, stream;
	uint64_t value;   /* as in struct device_record */
	uint32_t graph;   /* graph id of DEVICE_GRAPH */
	const char *name; /* kernels: mangled, CUPTI's memory; else NULL */
	int invalid;      /* 1: impossible times, as CUPTI lost them or the operation never ran */
};

/* Returns 1, or 0 for a kind that is not recorded. record comes from cuptiActivityGetNextRecord. */
int decode_activity(const void *record, struct decoded *out);

#endif
