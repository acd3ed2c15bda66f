/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI as a table of function pointers.  It is opened at run time, in the same order of places as
 * the program would use; without it the process runs unchanged.
 */
#ifndef CUFENCE_CUPTI_API_H
#define CUFENCE_CUPTI_API_H

#include <cupti.h>

/* name, required: the library is unusable without required functions */
#define CUPTI_FUNCTIONS(X) \
	X(cuptiSubscribe, 1) \
	X(cuptiUnsubscribe, 1) \
	X(cuptiEnableCallback, 1) \
	X(cuptiActivityEnable, 1) \
	X(cuptiActivityRegisterCallbacks, 1) \
	X(cuptiActivityGetNextRecord, 1) \
	X(cuptiActivityFlushAll, 1) \
	X(cuptiGetTimestamp, 1) \
	X(cuptiActivityDisable, 0) \
	X(cuptiFinalize, 0) \
	X(cuptiGetVersion, 0) \
	X(cuptiActivityGetNumDroppedRecords, 0)

struct cupti_api {
	void *library;
#define X(name, required) __typeof__(&name) name;
	CUPTI_FUNCTIONS(X)
#undef X
};

/* Whether the settings say that it is not to be used. */
int cupti_is_off(void);

/*
 * Loads it, if it is not loaded.  Returns 0, or -1 if there is no usable libcupti: if the settings
 * name a file it is the only one to try, and a message says once that it fails.
 */
int cupti_api_open(struct cupti_api *api);

#endif
