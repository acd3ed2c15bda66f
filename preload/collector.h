/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wrappers need of the device side.  cupti/ implements it; preload/ never sees CUPTI.
 */
#ifndef CUFENCE_COLLECTOR_H
#define CUFENCE_COLLECTOR_H

/* Before the process's first cuInit; does nothing when called again or where CUPTI is missing. */
void collector_start(void);

/* Hands over what CUPTI still holds: before a context goes and at exit. */
void collector_flush(void);

/* Asks CUPTI for operations and calls (1), or for neither after handing over what it has. */
void collector_window(int open);

/* In a forked child: never touch CUPTI again if the parent had started it. */
void collector_child(void);

#endif
