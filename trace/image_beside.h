/* SPDX-License-Identifier: Apache-2.0 */
/* Code images stored in the folder next to the trace that names them (doc/FORMAT.md). */
#ifndef CUFENCE_IMAGE_BESIDE_H
#define CUFENCE_IMAGE_BESIDE_H

#include "record.h"

/* 1: the trace does not contain the image itself. */
static inline int image_is_beside(const struct image_record *piece)
{
	return !piece->length && piece->total;
}

/*
 * Returns all piece->total bytes of it, for the caller to free; NULL if it is missing or is not
 * that image.
 */
char *image_read_beside(const char *trace, const struct image_record *piece);

#endif
