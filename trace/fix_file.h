/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of fixes, which "cufence try --keep" writes and libcufence-fix.so applies: text, a line
 * each.  Blank lines and those that begin with # are skipped.
 *
 *	cufence-fixes 1
 *	fix NUMBER TREATMENT [reuse-host]   of a finding, as reports had it; what follows is of it
 *	call FUNCTION [SIDE]                a call of the driver that is treated, at the frames
 *	                                    below; where the treatment has sides (FIX_SIDES),
 *	                                    which one
 *	at BUILD-ID OFFSET NAME             a frame, innermost first: the mapped file's build id (-:
 *	                                    none), the offset in it, its base name (none: no file)
 *	image HASH                          image_hash() of code that may be remembered
 *	error FUNCTION RESULT               the call returned that before the fix was applied, too
 *
 * Reading allocates nothing: texts stay in the buffer that is read.
 */
#ifndef CUFENCE_FIX_FILE_H
#define CUFENCE_FIX_FILE_H

#include "fix_plan.h"

#define FIX_FILE_HEAD "cufence-fixes 1"
#define FIX_MODULES 64
#define FIX_ERRORS 256
#define FIX_FILE_BYTES (1u << 20)

struct fix_file {
	struct fix_plan plan;
	/* The files of its frames; bit i of findings: those of finding i. */
	unsigned modules_count;
	struct fix_module {
		const char *name;
		uint8_t build_id[20];
		uint32_t findings;
	} module[FIX_MODULES];
	unsigned errors_count;
	struct {
		uint32_t call;
		int result;
	} error[FIX_ERRORS];
};

extern const char *const fix_treatment_names[FIX_TREATMENT_COUNT];
/* The name of a side in files, "": the treatment has none. */
const char *fix_side_name(enum fix_treatment treatment, unsigned side);
extern const char *const fix_surprise_words[FIX_SURPRISE_COUNT];

/* Reads the text, which is changed and referred to: NULL, or what is wrong in *line, from 1. */
const char *fix_file_read(struct fix_file *file, char *text, unsigned *line);

/* Orders places as fix_plan says, and leaves out those that are there twice. */
void fix_plan_sort(struct fix_plan *plan);

#endif
