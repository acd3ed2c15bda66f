/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports while the program goes on: when the windows of all its processes are over, and after a
 * Ctrl-C that does not end it.  A process of its own makes the report, so that signals still reach
 * the program.
 */
#ifndef CUFENCE_EARLY_H
#define CUFENCE_EARLY_H

#include <stddef.h>
#include <sys/types.h>

struct early {
	const char *folder;            /* of the traces */
	int ends;                      /* windows end by themselves */
	int (*report)(void *argument); /* 0 or -1 after a message */
	void *argument;
	pid_t reporter; /* 0: none */
	int seen;       /* Ctrl-Cs before it */
	int looks;      /* since the first one */
	int begun, all; /* a report was begun; it has all windows */
	size_t traces;  /* that it is about */
};

/* Call ten times a second, with the number of Ctrl-Cs so far. */
void early_look(void *early, int interrupts);

/* At the program's end: waits for the report.  Returns whether it left nothing to report. */
int early_end(struct early *early);

#endif
