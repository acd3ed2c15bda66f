/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the other tool that uses CUPTI, which allows one subscriber and does not name it. */
#ifndef CUFENCE_HOLDER_H
#define CUFENCE_HOLDER_H

struct thread_state;

/* Writes the tool that this process seems to run under to the trace, if one is known. */
void holder_note(struct thread_state *thread);

#endif
