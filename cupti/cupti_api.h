/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI as a table of pointers: it is opened at run time, from where the program itself would
 * have it, and the process runs on without it.
 */
#ifndef CUFENCE_CUPTI_API_H
#define CUFENCE_CUPTI_API_H

#include <cupti.h>

/* name, required: missing ones make the library unusable */
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
	X(cuptiGetVersion, 0) \
	X(cuptiActivityFlushPeriod, 0) \
	X(cuptiActivityGetNumDroppedRecords, 0)

struct cupti_api {
	void *library;
#define X(name, required) __typeof__(&name) name;
	CUPTI_FUNCTIONS(X)
#undef X
};

/* 0, or -1 if there is no usable libcupti.  path: where to look only, NULL: everywhere. */
int cupti_api_open(struct cupti_api *api, const char *path);

#endif
