/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel reads no register that nothing in it writes: one that is decoded wrong, or one too many,
 * shows so.  Functions that other sections call have arguments; those sections are not judged.
 */
#ifndef CUFENCE_WRITTEN_H
#define CUFENCE_WRITTEN_H

#include "kernel_code.h"
#include "sass.h"

enum { WRITTEN_FILES = 4, WRITTEN_REGISTERS = 1024 };

struct written {
	uint8_t by[WRITTEN_FILES][WRITTEN_REGISTERS]; /* general, uniform, predicates of both */
	int judged;
};

/* Finds what the section writes. */
void written_find(struct written *written, const struct machine_code *code, uint32_t section);

/* 1: the instruction reads what nothing writes. */
int written_misses(const struct written *written, const struct sass_instruction *in);

#endif
