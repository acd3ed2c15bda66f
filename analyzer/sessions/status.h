/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How running processes fare, in numbers: what their traces showed when they were last analyzed.
 * The screen of "watch" and its metrics are both made from it.
 */
#ifndef CUFENCE_STATUS_H
#define CUFENCE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

/* A sum of time by name: a kind of table wait_use, or a cause of table account. */
struct status_part {
	char *name;
	int64_t device; /* of a cause */
	int64_t ns;
};

struct status_device {
	int64_t device;
	int64_t busy, since; /* ns; since: from its first work on, where work is known */
};

struct status_finding {
	char *rule, *severity, *message;
	double share; /* of the loop or the run that it would save; < 0: not estimated */
};

struct status {
	int64_t recorded; /* ns, that the rest is about */
	int64_t turns;    /* 0: there is no loop */
	int64_t turn;     /* ns, of one */
	char *place;      /* of the loop */
	struct status_device *device;
	struct status_part *wait, *idle;
	struct status_finding *finding; /* that are shown by default, the most costly first */
	size_t devices, waits, idles, findings;
};

/*
 * Reads it for the process with that trace.  Returns 1, 0 if the database does not have the
 * process, or -1 after a message.  Release it then, too.
 */
int status_read(struct status *status, struct db *db, const char *trace);
void status_release(struct status *status);

/* The share of time in which its devices were busy, on average; < 0: not known. */
double status_busy(const struct status *status);

/* The share of what was recorded for which the host waited for the device. */
double status_waited(const struct status *status);

#endif
