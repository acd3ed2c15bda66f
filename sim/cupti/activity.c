/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activity records: completed operations wait in a list until CUPTI's worker thread writes them
 * into buffers requested from the client: on a flush, after each flush period, and when the list is
 * long.  A buffer is handed over when it is full, or on a flush: the period alone hands over full
 * ones only, as measured on an H200.  A killed process loses the rest.  Not modelled: a buffer with
 * an operation in progress stays until the next flush.
 */
#include "cupti.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define DELIVER_COUNT 64 /* less than a buffer of the recorder's has room for */
#define SLAB_ENTRIES 256
#define KINDS 64

struct entry {
	struct entry *next;
	struct sim_record record;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;
static struct entry *first, **last = &first;
static struct entry *spare;
static size_t count, dropped;
static _Atomic uint64_t enabled; /* bit per CUpti_ActivityKind */
static _Atomic bool ever_enabled;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static unsigned int flushes_asked, flushes_done;
static uint32_t period_ms;
static bool worker_started, stopping;
static pthread_t worker;

/* The client's buffer that is being filled; bytes NULL: none.  Only the worker uses it. */
static struct buffer {
	uint8_t *bytes;
	size_t size, limit; /* limit: of records, 0: none */
	size_t valid, records;
} current;

/* With records of whole graphs, their nodes have none. */
static bool wanted(const struct sim_record *record)
{
	if (record->node && enabled >> CUPTI_ACTIVITY_KIND_GRAPH_TRACE & 1)
		return false;
	return enabled >> simtool_kind(record) & 1;
}

/*
 * Entries are not allocated from the heap: they are freed at times that depend on real time, which
 * must not change addresses of the program's allocations.  Lock held.
 */
static struct entry *take_entry(void)
{
	struct entry *entry = spare;

	if (!entry) {
		entry = mmap(NULL, SLAB_ENTRIES * sizeof(*entry), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (entry == MAP_FAILED)
			return NULL;
		for (int i = 0; i < SLAB_ENTRIES - 1; i++)
			entry[i].next = &entry[i + 1];
	}
	spare = entry->next;
	return entry;
}

static void give_back(struct entry *entry)
{
	pthread_mutex_lock(&lock);
	entry->next = spare;
	spare = entry;
	pthread_mutex_unlock(&lock);
}

void simtool_record(const struct sim_record *record)
{
	struct entry *entry;

	if (!wanted(record))
		return;
	pthread_mutex_lock(&lock);
	entry = take_entry();
	if (entry) {
		*entry = (struct entry){ .record = *record };
		*last = entry;
		last = &entry->next;
		if (++count == DELIVER_COUNT)
			pthread_cond_signal(&work);
	} else {
		dropped++;
	}
	pthread_mutex_unlock(&lock);
}

static size_t drop(struct entry *list)
{
	size_t number = 0;

	while (list) {
		struct entry *next = list->next;

		give_back(list);
		list = next;
		number++;
	}
	return number;
}

/* Takes a buffer from the client, unless there is one.  Returns whether there is. */
static bool open_buffer(void)
{
	if (current.bytes)
		return true;
	current = (struct buffer){ 0 };
	request(&current.bytes, &current.size, &current.limit);
	return current.bytes;
}

static void hand_over_buffer(void)
{
	if (current.bytes)
		complete(NULL, 0, current.bytes, current.size, current.valid);
	current.bytes = NULL;
}

/*
 * Writes the records into buffers and hands over the full ones, on a flush also the last one.
 * Returns how many could not be written.  Called without the lock: the client's functions may do
 * anything but flush.
 */
static size_t deliver(struct entry *list, bool flush)
{
	while (list) {
		struct entry *entry = list;
		size_t bytes;

		if (!open_buffer())
			return drop(list);
		bytes = simtool_encode(&entry->record, current.bytes + current.valid,
			current.size - current.valid);
		if (!bytes && !current.records) {
			hand_over_buffer();
			return drop(list); /* not even one record fits */
		}
		if (bytes) {
			current.valid += bytes;
			current.records++;
			list = entry->next;
			give_back(entry);
		}
		if (!bytes || current.records == current.limit)
			hand_over_buffer();
	}
	if (flush)
		hand_over_buffer();
	return 0;
}

static void wait_for_work(void)
{
	struct timespec t;

	if (!period_ms) {
		pthread_cond_wait(&work, &lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += period_ms / 1000;
	t.tv_nsec += (long)(period_ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&work, &lock, &t);
}

static void *work_loop(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!stopping) {
		struct entry *list;
		unsigned int flush;
		bool asked;
		size_t lost;

		if (flushes_asked == flushes_done && count < DELIVER_COUNT)
			wait_for_work();
		flush = flushes_asked;
		asked = flush != flushes_done;
		list = first;
		first = NULL;
		last = &first;
		count = 0;
		pthread_mutex_unlock(&lock);
		lost = deliver(list, asked);
		pthread_mutex_lock(&lock);
		dropped += lost;
		flushes_done = flush;
		pthread_cond_broadcast(&delivered);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
	CUpti_BuffersCallbackCompleteFunc completed)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!requested || !completed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	request = requested;
	complete = completed;
	stopping = false;
	if (!worker_started && pthread_create(&worker, NULL, work_loop, NULL))
		result = CUPTI_ERROR_OUT_OF_MEMORY;
	else
		worker_started = true;
	pthread_mutex_unlock(&lock);
	return result;
}

/*
 * Kinds that never occur here may be enabled; kinds that should occur but are not modelled are
 * refused.
 */
static bool supported(CUpti_ActivityKind kind)
{
	return simtool_size(kind) || kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if ((unsigned int)kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	if (!supported(kind))
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (!simtool_attach())
		return CUPTI_ERROR_UNKNOWN;
	enabled |= 1ull << kind;
	ever_enabled = true;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	if ((unsigned int)kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	enabled &= ~(1ull << kind);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	unsigned int wanted;

	pthread_mutex_lock(&lock);
	if (worker_started && !pthread_equal(worker, pthread_self())) {
		wanted = ++flushes_asked;
		pthread_cond_signal(&work);
		while ((int)(flushes_done - wanted) < 0)
			pthread_cond_wait(&delivered, &lock);
	}
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	pthread_mutex_lock(&lock);
	period_ms = ms;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = buffer;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		size_t size = simtool_size((*record)->kind);

		if (!size)
			return CUPTI_ERROR_INVALID_KIND;
		next = (uint8_t *)*record + size;
	}
	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *number)
{
	if (!number)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	*number = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

bool simtool_disabled(void)
{
	return ever_enabled && !enabled;
}

void simtool_finalize(void)
{
	enabled = 0;
	ever_enabled = false;
	cuptiActivityFlushAll(0);
	pthread_mutex_lock(&lock);
	stopping = worker_started;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
	if (stopping && !pthread_equal(worker, pthread_self())) {
		pthread_join(worker, NULL);
		worker_started = false;
	}
}
