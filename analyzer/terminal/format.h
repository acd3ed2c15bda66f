/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. */
#ifndef CUFENCE_FORMAT_H
#define CUFENCE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Room for any duration. */
#define DURATION_SIZE 32

/* "850 ns", "3.2 ms", "128 ms", "1.5 s".  Returns text. */
char *format_duration(char text[DURATION_SIZE], int64_t ns);

/* "11 %", "0.4 %", "<0.1 %".  Returns text. */
char *format_share(char text[DURATION_SIZE], double share);

/* "4 B", "64 KiB", "1.5 MiB".  Returns text. */
char *format_bytes(char text[DURATION_SIZE], int64_t bytes);

#endif
