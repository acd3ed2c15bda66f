/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines of a Python source are in a loop.  A trace has no instructions, so the source is
 * read where it lies; blocks are found by their indentation (Python Language Reference, 2.1.8).
 */
#ifndef CUFENCE_PYTHON_LOOPS_H
#define CUFENCE_PYTHON_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* The lines of files read so far; zero-initialized is empty. */
struct script_sources {
	struct script_source *source;
	size_t count;
};

/*
 * Returns the line of the innermost for or while statement that contains a line of a function
 * which begins in first_line; 0: none, or the file cannot be read, or it changed after that time
 * (ns since 1970, 0: any).
 */
int python_loop(struct script_sources *sources, const char *file, int64_t until, int first_line,
	int line);
void script_sources_release(struct script_sources *sources);

/* The same in a text. */
int python_loop_in(const char *text, int first_line, int line);

#endif
