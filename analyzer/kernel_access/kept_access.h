/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of ptx_interpret() results for one piece of code (a cubin, a PTX text), by the digest of
 * the code, in the user's cache: a training program launches the same kernels in the same shapes
 * in each run.
 */
#ifndef CUFENCE_KEPT_ACCESS_H
#define CUFENCE_KEPT_ACCESS_H

#include "ptx.h"

struct kept_access;

/* A variable of the module with claims. */
struct kept_variable {
	uint64_t bytes;        /* as from ptx_variable() */
	uint32_t offset;       /* offset in its claims */
	uint32_t name, length; /* start and length in the answer's names */
	uint32_t reserved;
};

/* Members as in struct ptx_access.  Valid until the next kept_access_find(). */
struct kept_answer {
	int failed; /* ptx_interpret() returned -1 */
	int complete;
	unsigned reaches;
	uint64_t steps; /* steps that the interpreter took */
	const struct ptx_claim *claim;
	const struct kept_variable *variable;
	const uint8_t *scalar;
	size_t claim_count, variable_count, scalar_count;
	const char *names;
	const char *why; /* why it failed or is not complete; NULL: neither */
};

/* digest: code_digest() of the code.  Returns NULL after a message. */
struct kept_access *kept_access_open(const char *digest);

/* Writes new answers to the cache. */
void kept_access_close(struct kept_access *kept);

/*
 * Returns the result of ptx_interpret(), which is called only if no answer is cached.  name: of the
 * kernel.  Returns 0, or -1 after a message.
 */
void kept_access_find(struct kept_access *kept, struct ptx_module *module, size_t kernel,
	const char *name, const struct ptx_launch *launch, unsigned long steps,
	struct kept_answer *answer);

#endif
