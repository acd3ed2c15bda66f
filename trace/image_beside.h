/* SPDX-License-Identifier: Apache-2.0 */
/* Images that lie beside the trace that names them (doc/FORMAT.md). */
#ifndef CUFENCE_IMAGE_BESIDE_H
#define CUFENCE_IMAGE_BESIDE_H

#include "record.h"

/* 1: the trace does not have the image itself. */
static inline int image_is_beside(const struct image_record *piece)
{
	return !piece->length && piece->total;
}

/* All piece->total bytes of it, to be freed; NULL: it is not there, or is not that image. */
char *image_read_beside(const char *trace, const struct image_record *piece);

#endif
