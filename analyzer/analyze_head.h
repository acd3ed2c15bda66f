/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a process's loop, for samples of whole turns (control/sampler.h). */
#ifndef CUFENCE_ANALYZE_HEAD_H
#define CUFENCE_ANALYZE_HEAD_H

#include <stdint.h>

/*
 * Analyzes the last window of a trace, in memory.  Returns the recorder's number of the call site
 * that submits work once in each turn of the looping thread, of several the first in a turn; 0:
 * there is no loop or no such site, or the analysis failed.
 */
uint32_t analyze_find_head(char *trace);

#endif
