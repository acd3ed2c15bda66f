/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ptx_interpret() says of the kernels of one piece of code (a cubin, a PTX text), kept from
 * run to run in the user's cache by the hash of the code: a training program launches the same
 * kernels in the same shapes each time.
 */
#ifndef CUFENCE_KEPT_ACCESS_H
#define CUFENCE_KEPT_ACCESS_H

#include "ptx.h"

struct kept_access;

/* A variable of the module that claims are of. */
struct kept_variable {
	uint64_t bytes;        /* as of ptx_variable() */
	uint32_t offset;       /* of the claims */
	uint32_t name, length; /* in the names of the answer */
	uint32_t reserved;
};

/* As in struct ptx_access; all of it holds until the next question. */
struct kept_answer {
	int failed; /* ptx_interpret() gave -1 */
	int complete;
	unsigned reaches;
	uint64_t steps; /* that the interpreter took when it was asked */
	const struct ptx_claim *claim;
	const struct kept_variable *variable;
	const uint8_t *scalar;
	size_t claim_count, variable_count, scalar_count;
	const char *names;
	const char *why; /* it failed or is not complete; NULL: neither */
};

/* hash: image_hash() of the code.  NULL after a message. */
struct kept_access *kept_access_open(uint64_t hash);

/* Puts what was added into the cache. */
void kept_access_close(struct kept_access *kept);

/*
 * As ptx_interpret(), which is asked only where no answer is kept.  name: the kernel's.  0, or -1
 * after a message.
 */
int kept_access_find(struct kept_access *kept, struct ptx_module *module, size_t kernel,
	const char *name, const struct ptx_launch *launch, unsigned long steps,
	struct kept_answer *answer);

#endif
