/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What distinguishes kernels with one short name: a template argument, or a word of the name, that
 * not all of them have.
 */
#ifndef CUFENCE_NAME_PARTS_H
#define CUFENCE_NAME_PARTS_H

#include <stddef.h>

/* Larger groups, and parts after the first ones, are not compared. */
#define NAME_GROUP_LIMIT 64
#define NAME_PARTS_LIMIT 64
#define NAME_PART_BYTES 40

struct name_parts {
	size_t count;
	char part[NAME_PARTS_LIMIT][NAME_PART_BYTES];
};

/*
 * The words of "a_b_c", else the name and the arguments of "a, b<c, d>", without their namespaces
 * and their own arguments.
 */
void name_parts_read(const char *name, const char *arguments, struct name_parts *parts);

/* The first part from *next on that others lack; sets *next after it.  NULL: there is none. */
const char *name_parts_find(const struct name_parts *group, size_t count, size_t member,
	size_t *next);

#endif
