/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's one place that judges whether what a record says can be. */
#ifndef CUFENCE_LOAD_ACCEPT_H
#define CUFENCE_LOAD_ACCEPT_H

#include "loader.h"

/* Each: 1, or 0 when it cannot be: p.refused counts it, and it is not to be used. */
int loader_accept_call(struct loader *loader, const struct record *record);
int loader_accept_device(struct loader *loader, const struct device_record *device);
int loader_accept_window(struct loader *loader, const struct window_record *window);

/* 1 if the call stands for several, and what is said of them. */
int loader_polls(const struct call_record *call, struct call_polls *polls);

/* No memory has more bytes; 256 TiB.  What failed may name more, and is taken to name so many. */
#define SIZE_MOST ((uint64_t)1 << 48)

/* Whether fields of that kind are sizes, which are at most SIZE_MOST. */
int load_is_size(unsigned kind);

#endif
