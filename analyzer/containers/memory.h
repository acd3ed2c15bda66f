/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a command.  For lack of it the process ends, after a message, with exit_status; files
 * that are being written are removed (terminal/interrupt.h).  Input never does that: sizes that it
 * claims are checked by those who read it.
 */
#ifndef CUFENCE_MEMORY_H
#define CUFENCE_MEMORY_H

#include <stddef.h>

/* 2, "trouble", unless a command has another one: "run" ends as its program did. */
extern int memory_exit_status;

/* Ends the process after the message. */
_Noreturn void memory_lacks(void);

/* Zeroed; count or size may be 0.  The caller's to free(), as all of these. */
void *xcalloc(size_t count, size_t size);

/* Of count elements; NULL for array: as malloc(). */
void *xrealloc(void *array, size_t count, size_t size);

char *xstrdup(const char *text);

/* As asprintf(). */
__attribute__((format(printf, 1, 2))) char *xprintf(const char *format, ...);

/* The array with room for one more than count elements, by doubling. */
void *array_grown(void *array, size_t count, size_t size);

/* A pointer to one more element of array, whose content is undefined; counts it. */
#define array_push(array, count) \
	((array) = array_grown((array), (count), sizeof(*(array))), &(array)[(count)++])

#endif
