/* SPDX-License-Identifier: Apache-2.0 */
#include "probe_cupti.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define MOST_RECORDS 8192

/* Kernel and copy records begin alike in all versions: kind at 0, times at 16 and 24. */
#define START_OFFSET 16
#define END_OFFSET 24

static struct {
	__typeof__(&cuptiActivityRegisterCallbacks) register_callbacks;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityGetNextRecord) next_record;
	__typeof__(&cuptiActivityFlushAll) flush;
	__typeof__(&cuptiGetTimestamp) timestamp;
} cupti;

/* Filled on CUPTI's thread. */
static struct {
	pthread_mutex_t lock;
	struct probe_interval interval[2][MOST_RECORDS];
	size_t count[2];
} taken = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *open_library(void)
{
	static const char *const places[] = { "libcupti.so.13", "libcupti.so.12",
		"%s/lib64/libcupti.so", "%s/extras/CUPTI/lib64/libcupti.so" };
	const char *home = getenv("CUDA_HOME") ? getenv("CUDA_HOME") : "/usr/local/cuda";
	void *library = NULL;
	char *path;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !library; i++) {
		if (places[i][0] != '%')
			library = dlopen(places[i], RTLD_NOW);
		else if (asprintf(&path, "%s%s", home, places[i] + 2) >= 0) {
			library = dlopen(path, RTLD_NOW);
			free(path);
		}
	}
	return library;
}

static bool find_functions(void *library)
{
	cupti.register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
	cupti.enable = dlsym(library, "cuptiActivityEnable");
	cupti.next_record = dlsym(library, "cuptiActivityGetNextRecord");
	cupti.flush = dlsym(library, "cuptiActivityFlushAll");
	cupti.timestamp = dlsym(library, "cuptiGetTimestamp");
	return cupti.register_callbacks && cupti.enable && cupti.next_record && cupti.flush &&
		cupti.timestamp;
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = malloc(BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*most = 0;
}

static void take(const uint8_t *record)
{
	CUpti_ActivityKind kind;
	struct probe_interval interval;
	int copy;

	memcpy(&kind, record, sizeof(kind));
	if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kind != CUPTI_ACTIVITY_KIND_MEMCPY)
		return;
	copy = kind == CUPTI_ACTIVITY_KIND_MEMCPY;
	memcpy(&interval.start, record + START_OFFSET, sizeof(interval.start));
	memcpy(&interval.end, record + END_OFFSET, sizeof(interval.end));
	if (taken.count[copy] < MOST_RECORDS)
		taken.interval[copy][taken.count[copy]++] = interval;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
	size_t valid)
{
	CUpti_Activity *record = NULL;

	pthread_mutex_lock(&taken.lock);
	while (valid && cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS)
		take((const uint8_t *)record);
	pthread_mutex_unlock(&taken.lock);
	free(buffer);
}

const char *probe_cupti_start(bool copies)
{
	static char why[64];
	void *library = open_library();
	CUptiResult result;

	if (!library || !find_functions(library))
		return "no CUPTI found";
	result = cupti.register_callbacks(give_buffer, take_buffer);
	if (result == CUPTI_SUCCESS)
		result = cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (result == CUPTI_SUCCESS && copies)
		result = cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY);
	if (result == CUPTI_SUCCESS)
		return NULL;
	snprintf(why, sizeof(why), "CUPTI error %d", (int)result);
	return why;
}

uint64_t probe_cupti_now(void)
{
	uint64_t now = 0;

	return cupti.timestamp && cupti.timestamp(&now) == CUPTI_SUCCESS ? now : 0;
}

void probe_cupti_flush(void)
{
	cupti.flush(0);
	cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* nothing runs: no record is incomplete */
}

static int by_start(const void *a, const void *b)
{
	const struct probe_interval *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

size_t probe_cupti_collect(bool copies, struct probe_interval *intervals, size_t room)
{
	size_t count;

	pthread_mutex_lock(&taken.lock);
	count = taken.count[copies] < room ? taken.count[copies] : room;
	qsort(taken.interval[copies], taken.count[copies], sizeof(*intervals), by_start);
	memcpy(intervals, taken.interval[copies], count * sizeof(*intervals));
	taken.count[copies] = 0;
	pthread_mutex_unlock(&taken.lock);
	return count;
}
