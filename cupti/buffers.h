/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that CUPTI writes its records to: mapped, used again, and bounded. */
#ifndef CUFENCE_BUFFERS_H
#define CUFENCE_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

/* Returns a buffer and its size in bytes; without memory one whose records are dropped. */
uint8_t *buffer_take(size_t *size);

/* A delivered buffer of that kind. */
int buffer_is_dropped(const uint8_t *buffer);

/* What a delivered buffer had was read. */
void buffer_return(uint8_t *delivered);

#endif
