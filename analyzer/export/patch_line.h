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
	/* PyTorch: LATER.wait_stream(EARLIER) above the later operation of a race. */
	PATCH_WAIT_STREAM,
	/* The same for cudaStreamWaitEvent, if an event is recorded after the earlier one. */
	PATCH_WAIT_EVENT,
	/* PyTorch: TENSOR.record_stream(STREAM) below the work that the next user overtakes. */
	PATCH_RECORD_STREAM,
	/* A launch or cudaMemsetAsync() without a stream gets one. */
	PATCH_GIVE_STREAM,
	/* cudaMemPoolSetAttribute() with a release threshold below the call that gets the pool. */
	PATCH_KEEP_POOL,
	/* cudaStreamCreate(&s) becomes cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking). */
	PATCH_STREAM,
	PATCH_FORMS
};

struct patch_place {
	char *const *lines; /* of the whole file, without their line ends */
	size_t count, at;   /* the line's index, from 0 */
	int is_script;      /* Python's; else C++'s */
	const char *call;   /* "cudaDeviceSynchronize", as the program's author wrote it */
	/*
	 * Of a race, by its operations: that of the line is the later one.  Of work in the legacy
	 * default stream: the earlier one is another that uses its memory.
	 */
	const char *why;      /* as in table hazard; "": none */
	int is_war;           /* the earlier one reads */
	size_t other, record; /* lines of the earlier one and of the event record after it; not
	                       * below count: not in the same function and thread */
	/* Expressions of the two streams, of their lines; "": they show none. */
	const char *stream, *other_stream;
};

/* The form's lines come above the line, which stays; patch_line() sets *changed to them. */
int patch_line_is_above(enum patch_form form);

/* The line that the form changes for a place, most often its own; count: there is none. */
size_t patch_line_at(enum patch_form form, const struct patch_place *place);

/* Whether the form is one for this line. */
int patch_line_fits(enum patch_form form, const struct patch_place *place);

/*
 * Sets *changed to the new line, which free() frees; NULL: the line goes.  Returns NULL, or why the
 * line stays as it is, in words.
 */
const char *patch_line(enum patch_form form, const struct patch_place *place, char **changed);

#endif
