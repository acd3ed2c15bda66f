/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fat binary, cubin or PTX text.  Entries are unpacked only when needed: the PTX for the newest
 * architecture that the device can run, and, without such PTX, the cubins that the driver chooses
 * from, for their machine code.  PTX for a newer architecture is ignored: kernels may have a body
 * for some architectures only.
 */
#ifndef CUFENCE_CODE_PART_H
#define CUFENCE_CODE_PART_H

#include "code_digest.h"
#include "image.h"
#include "map.h"
#include "lower.h"

/* Limits for one load. */
struct code_limits {
	uint32_t arch; /* of the device, 90 for 9.0; 0: unknown */
	struct image_budget *budget;
};

/* The place of a kernel. */
struct code_place {
	struct ptx_module *module; /* NULL: not found */
	size_t number;             /* index in the module */
	const char *digest;        /* of the module's code: code_digest.h */
	/* For machine code: the cubin's description of the kernel; NULL: the module is PTX. */
	const struct image_kernel *machine;
};

struct code_part {
	struct image_bytes bytes; /* the owner's, with the descriptor, if any, and the data */
	struct image_entry *entry;
	long count;
	struct image text; /* made from text */
	struct ptx_module *module;
	char digest[CODE_DIGEST_SIZE]; /* of text */
	int read_text;                 /* text was searched for */
	struct code_machine {
		struct image cubin;
		struct ptx_module *module;
		char digest[CODE_DIGEST_SIZE]; /* empty: not computed yet */
	} * machine; /* the cubins that the driver chooses from, read when needed */
	size_t machine_count;
	int read_machine;
	char *key; /* identifies its bytes in the user's cache; NULL: not cached */
};

/* Data that is no image has no entries.  Takes ownership of key. */
void code_part_init(struct code_part *part, const struct image_bytes *bytes, char *key);
void code_part_release(struct code_part *part);

/* Returns 0 if there is no PTX that is usable and readable, else 1. */
int code_part_has_ptx(struct code_part *part, const struct code_limits *limits);

/*
 * Finds the PTX of a kernel.  Returns 1, or 0 if it is missing or unreadable; place is unchanged
 * then.
 */
int code_part_ptx(struct code_part *part, const struct code_limits *limits, const char *mangled,
	struct code_place *place);

/* The same for its machine code, lowered for the PTX interpreter. */
int code_part_machine(struct code_part *part, const struct code_limits *limits, const char *mangled,
	struct code_place *place);

/*
 * Finds whether kernels may call printf, from the cubins: prints maps map_hash() of their mangled
 * names to 1 + enum code_said.
 */
enum code_said { CODE_UNSURE, CODE_SILENT, CODE_PRINTS };
void code_part_prints(struct code_part *part, const struct code_limits *limits, struct map *prints);

/* Returns, like ptx_prints(), 1, 0, or -1 for unknown. */
int code_prints(const struct map *prints, const char *mangled);

#endif
