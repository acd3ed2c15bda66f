/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUPTI with invalid records, such as CUPTI's own after very long runs: for CUFENCE_CUPTI.
 * CUPTI_BAD selects the error: records (the default), dropped, busy, enable, empty or hang, where a
 * flush never returns.
 */
#include <cupti.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define BAD_RECORDS 6

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static int delivered;

static int bad(const char *what)
{
	const char *mode = getenv("CUPTI_BAD");

	return !strcmp(mode ? mode : "records", what);
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
	void *user)
{
	return bad("busy") ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return bad("enable") ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc asked,
	CUpti_BuffersCallbackCompleteFunc completed)
{
	request = asked;
	complete = completed;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *now)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	*now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = 130001;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
	size_t *dropped)
{
	*dropped = bad("dropped") ? 17 : 0;
	return CUPTI_SUCCESS;
}

/* One slot for each, large enough for any. */
union slot {
	CUpti_Activity any;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemset4 set;
	CUpti_ActivityOverhead3 overhead;
};

static void fill(union slot *slot)
{
	memset(slot, 0, BAD_RECORDS * sizeof(*slot));
	slot[0].kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL; /* no times, no name */
	slot[1].copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;              /* ends before it starts */
	slot[1].copy.start = 2000;
	slot[1].copy.end = 1000;
	slot[2].set.kind = CUPTI_ACTIVITY_KIND_MEMSET; /* without context, stream or call */
	slot[2].set.start = UINT64_MAX - 1;
	slot[2].set.end = UINT64_MAX;
	slot[2].set.contextId = slot[2].set.streamId = slot[2].set.correlationId = UINT32_MAX;
	slot[3].any.kind = (CUpti_ActivityKind)9999;
	slot[4].any.kind = CUPTI_ACTIVITY_KIND_INVALID;
	slot[5].overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD; /* ends at 0 */
	slot[5].overhead.start = 5;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	uint8_t *buffer = NULL;
	size_t size = 0, limit = 0;

	while (bad("hang"))
		pause();
	if (!request || delivered++)
		return CUPTI_SUCCESS;
	request(&buffer, &size, &limit);
	if (size < BAD_RECORDS * sizeof(union slot))
		return CUPTI_ERROR_OUT_OF_MEMORY;
	fill((union slot *)buffer);
	complete(NULL, 0, buffer, size, bad("empty") ? 0 : BAD_RECORDS * sizeof(union slot));
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
	CUpti_Activity **record)
{
	union slot *first = (union slot *)buffer;
	union slot *next = *record ? (union slot *)*record + 1 : first;

	if ((size_t)((uint8_t *)(next + 1) - buffer) > valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = &next->any;
	return CUPTI_SUCCESS;
}
