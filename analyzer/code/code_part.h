/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fat binary, cubin or PTX text, of which no more is unpacked than is asked for: the PTX that
 * the device can run, of that the newest architecture's, and the cubins that the driver chooses
 * from, of which machine code is read where there is no PTX.  PTX for a newer architecture says
 * nothing: kernels are written for some architectures and left empty for the others.
 */
#ifndef CUFENCE_CODE_PART_H
#define CUFENCE_CODE_PART_H

#include "image.h"
#include "map.h"
#include "lower.h"

/* What may be read for one load. */
struct code_limits {
	uint32_t arch; /* of the device, 90 for 9.0; 0: not known */
	struct image_budget *budget;
};

/* Where a kernel is. */
struct code_place {
	struct ptx_module *module; /* NULL: nowhere */
	size_t number;             /* there */
	uint64_t hash;             /* image_hash() of the cubin or text that the module is of */
	/* Of machine code: what the cubin says of the kernel; NULL: the module is of PTX. */
	const struct image_kernel *machine;
};

struct code_part {
	struct image_bytes bytes; /* the descriptor, if any, and the data are the owner's */
	struct image_entry *entry;
	long count;
	struct image text; /* that module is of */
	struct ptx_module *module;
	uint64_t hash; /* of that text */
	int read_text; /* it was looked for */
	struct code_machine {
		struct image cubin;
		struct ptx_module *module;
		uint64_t hash;
	} * machine; /* the cubins that the driver chooses from, once one is asked for */
	size_t machine_count;
	int read_machine;
	char *key; /* names its bytes in the user's cache; NULL: not kept there */
};

/* What is no image has no entries.  Takes key, which was allocated. */
void code_part_init(struct code_part *part, const struct image_bytes *bytes, char *key);
void code_part_release(struct code_part *part);

/* 0: it has no PTX that is of use, or that could be read. */
int code_part_has_ptx(struct code_part *part, const struct code_limits *limits);

/* The PTX of a kernel.  1, or 0: it is not there, or could not be read; place is untouched then. */
int code_part_ptx(struct code_part *part, const struct code_limits *limits, const char *mangled,
	struct code_place *place);

/* As code_part_ptx(), its machine code, lowered for the interpreter of PTX. */
int code_part_machine(struct code_part *part, const struct code_limits *limits, const char *mangled,
	struct code_place *place);

/*
 * Whether kernels may call printf, by its cubins: prints has them by map_hash() of their mangled
 * names, 1 + enum code_said.  0, or -1 when out of memory.
 */
enum code_said { CODE_UNSURE, CODE_SILENT, CODE_PRINTS };
int code_part_prints(struct code_part *part, const struct code_limits *limits, struct map *prints);

/* As of ptx_prints(): 1, 0, or -1: not known. */
int code_prints(const struct map *prints, const char *mangled);

#endif
