/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms of a mechanical fix: what becomes of one source line.  A line is changed only if it reads
 * exactly as the form expects; nothing is parsed beyond it but its neighbours.
 */
#ifndef CUFENCE_PATCH_LINE_H
#define CUFENCE_PATCH_LINE_H

#include <stddef.h>

enum patch_form {
	/* A wait that is a statement of its own, alone or in a macro that checks its result: the
	 * line goes. */
	PATCH_LEAVE_OUT,
	/* thrust::cuda::par becomes par_nosync, which leaves out waits that are not needed for
	 * correctness (CCCL, Thrust, execution policies). */
	PATCH_NO_SYNC,
	/* PyTorch: .to(device) gets non_blocking=True. */
	PATCH_NON_BLOCKING,
	/* The same, from memory that is pinned first. */
	PATCH_PIN,
	/* cudaStreamCreate(&s) becomes cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking). */
	PATCH_STREAM,
	PATCH_FORMS
};

struct patch_place {
	char *const *lines; /* of the whole file, without their line ends */
	size_t count, at;   /* the line's index, from 0 */
	int is_script;      /* Python's; else C++'s */
	const char *call;   /* "cudaDeviceSynchronize", as the program's author wrote it */
};

/* Whether the form is one for this line. */
int patch_line_fits(enum patch_form form, const struct patch_place *place);

/*
 * Sets *changed to the new line, which free() frees; NULL: the line goes.  Returns NULL, or why the
 * line stays as it is, in words.
 */
const char *patch_line(enum patch_form form, const struct patch_place *place, char **changed);

#endif
