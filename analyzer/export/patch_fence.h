/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms of patch_line.h that need a name of another line: a stream's or an event's.  It has to mean
 * the same at the line that is changed: both lines are in one function and run in the order in
 * which they stand, no block around the name ends between them, and nothing there assigns to it.
 */
#ifndef CUFENCE_PATCH_FENCE_H
#define CUFENCE_PATCH_FENCE_H

#include "patch_line.h"

/* The line after that of the other operation, count: there is none. */
size_t patch_after_other(const struct patch_place *place);

/* Each as patch_line(). */
const char *patch_wait_stream(const struct patch_place *place, char **changed);
const char *patch_wait_event(const struct patch_place *place, char **changed);
const char *patch_record_stream(const struct patch_place *place, char **changed);
const char *patch_give_stream(const struct patch_place *place, char **changed);

#endif
