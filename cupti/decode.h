/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI activity records by offset.  Their layouts only ever append, so a fixed set of offsets
 * reads every CUPTI from 11.x on; decode.c asserts them against the installed header.
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
	int invalid;      /* times that cannot be: CUPTI lost them or it never ran */
};

/* 1, or 0 for a kind that is not recorded.  record is what cuptiActivityGetNextRecord gave. */
int decode_activity(const void *record, struct decoded *out);

#endif
