/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream is held by cuStreamWaitValue32 on a word of pinned memory.  After each consumer the
 * device writes a word, which shows without a call which consumers are complete: those complete
 * when the stream is released ran before their producers.  A thread releases the stream when its
 * time is up, or when all consumers are complete.
 *
 * If the driver does not support such waits, a host function blocks the stream.  Drivers run one
 * host function at a time, so the words after consumers are then written by a memset.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "hold_internal.h"
#include "machine.h"
#include "system.h"

#define LOOK_NS 100000 /* polling interval of the thread */

/* glibc's dlsym, not the recorder's, and all as of glibc 2.31 (preload/glibc.h). */
__asm__(".symver dlsym, dlsym@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_detach, pthread_detach@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_sigmask, pthread_sigmask@" MACHINE_OLD("2.2.5"));

static struct {
	CUresult (*host_alloc)(void **, size_t, unsigned);
	CUresult (*device_pointer)(CUdeviceptr *, void *, unsigned);
	CUresult (*wait_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
	CUresult (*write_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
	CUresult (*host_function)(CUstream, CUhostFn, void *);
	CUresult (*set_words)(CUdeviceptr, unsigned, size_t, CUstream);
	CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus *);
	CUresult (*get_flags)(CUstream, unsigned *);
	CUresult (*current_context)(CUcontext *);
	CUresult (*synchronize)(CUstream);
} driver;

/* Memory shared by device and host. */
struct words {
	_Atomic uint32_t go;               /* holds up to this number are over */
	_Atomic uint32_t done[HOLD_TRIES]; /* the consumer is complete */
};

static struct {
	pthread_mutex_t lock;
	struct hold_plan *plan;
	const struct hold_recorder *recorder;
	struct words *words; /* NULL: not allocated yet */
	CUdeviceptr device;  /* their device address */
	uint32_t number;     /* of the current hold */
	/* like words.go, for host functions, which may outlive contexts */
	_Atomic uint32_t over;
	_Atomic uint64_t stream;        /* the held one, 0: none */
	CUcontext context;              /* of the held stream, if it is a default stream */
	int thread;                     /* of the held stream, if it is a per-thread one */
	uint64_t since, until;          /* begin and end of the hold, ns */
	uint64_t consumers[HOLD_TRIES]; /* streams, 0: not submitted yet, or the host */
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int stream_is_held(void)
{
	return held.stream != 0;
}

/* A default stream has one handle for all contexts or threads. */
static int is_held(uint64_t stream)
{
	CUcontext context = NULL;

	if (held.stream != stream || stream > STREAM_PER_THREAD)
		return held.stream == stream;
	driver.current_context(&context);
	return context == held.context &&
		(stream == STREAM_LEGACY || held.thread == (int)syscall(SYS_gettid));
}

static CUdeviceptr device_word(const _Atomic uint32_t *word)
{
	return held.device + (CUdeviceptr)((const char *)word - (const char *)held.words);
}

/* --- release; the lock is held --- */

static void release(void)
{
	if (!held.stream)
		return;
	for (uint32_t i = 0; i < held.plan->count; i++) {
		struct hold_try *try = &held.plan->tries[i];

		if (try->state != HOLD_HELD)
			continue;
		if (held.words->done[i])
			try->first = 1;
		try->state = HOLD_DONE;
	}
	memset(held.consumers, 0, sizeof(held.consumers));
	held.plan->spent += now_ns() - held.since;
	held.stream = 0;
	held.words->go = held.number;
	held.over = held.number;
}

static int all_have_come(void)
{
	for (uint32_t i = 0; i < held.plan->count; i++)
		if (held.plan->tries[i].state == HOLD_HELD && !held.words->done[i])
			return 0;
	return held.plan->count > 0;
}

static void *watch(void *unused)
{
	for (;;) {
		system_sleep(LOOK_NS);
		if (!held.stream)
			continue;
		pthread_mutex_lock(&held.lock);
		if (held.stream && (now_ns() >= held.until || all_have_come()))
			release();
		pthread_mutex_unlock(&held.lock);
	}
	return NULL;
}

/* The thread is hidden: it gets no signals of the program, and the recorder ignores it. */
static int start_watch(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	sigset_t all, before;
	pthread_t thread;
	int rc;

	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	if (!create)
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = create(&thread, NULL, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		pthread_detach(thread);
	return rc;
}

/* --- holding --- */

/* Allocates in the current context; the memory is lost with that context. */
static CUresult allocate_words(void)
{
	void *memory;
	CUresult result;

	if (held.words)
		return CUDA_SUCCESS;
	result = driver.host_alloc(&memory, sizeof(*held.words),
		CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	if (result == CUDA_SUCCESS)
		result = driver.device_pointer(&held.device, memory, 0);
	if (result != CUDA_SUCCESS)
		return result;
	memset(memory, 0, sizeof(*held.words));
	held.words = memory;
	held.words->go = held.number;
	return CUDA_SUCCESS;
}

static void block(void *number)
{
	while (held.over < (uint32_t)(uintptr_t)number)
		system_sleep(LOOK_NS);
}

/* Makes the stream wait until that hold is over. */
static CUresult submit_wait(CUstream stream, uint32_t number)
{
	CUresult result = driver.wait_value(stream, device_word(&held.words->go), number,
		CU_STREAM_WAIT_VALUE_GEQ);

	if (result != CUDA_ERROR_NOT_SUPPORTED)
		return result;
	return driver.host_function(stream, block, (void *)(uintptr_t)number);
}

/* Writes the word when previous work of the stream is complete. */
static CUresult submit_word(CUstream stream, const _Atomic uint32_t *word)
{
	CUresult result = driver.write_value(stream, device_word(word), 1, 0);

	if (result != CUDA_ERROR_NOT_SUPPORTED)
		return result;
	return driver.set_words(device_word(word), 1, 1, stream);
}

/* Returns HOLD_HELD, or why not; result: of the driver. */
static enum hold_state begin(uint64_t stream, uint64_t ns, CUresult *result)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	unsigned flags = 0;

	*result = driver.is_capturing((CUstream)stream, &capture);
	if (*result != CUDA_SUCCESS || capture != CU_STREAM_CAPTURE_STATUS_NONE)
		return HOLD_CAPTURED;
	/* Memory cannot be allocated while another stream is being captured. */
	*result = held.recorder->captures() && !held.words ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
							   : allocate_words();
	if (*result == CUDA_SUCCESS)
		*result = submit_wait((CUstream)stream, held.number + 1);
	if (*result != CUDA_SUCCESS)
		return HOLD_REFUSED;
	held.number++;
	if (stream <= STREAM_PER_THREAD || driver.get_flags((CUstream)stream, &flags))
		flags = 0;
	driver.current_context(&held.context);
	held.thread = (int)syscall(SYS_gettid);
	held.since = now_ns();
	held.until = held.since + ns;
	covers_begin(stream, flags & CU_STREAM_NON_BLOCKING);
	held.stream = stream;
	return HOLD_HELD;
}

void stream_hold(struct hold_try *try, uint64_t stream)
{
	CUresult result;

	pthread_mutex_lock(&held.lock);
	held.recorder->own_begin();
	if (held.stream) {
		try->state = is_held(stream) ? HOLD_HELD : HOLD_CROWDED;
	} else {
		try->state = begin(stream, held.plan->timeout, &result);
		if (try->state == HOLD_REFUSED)
			try->error = (uint32_t)result;
	}
	held.recorder->own_end();
	pthread_mutex_unlock(&held.lock);
}

enum hold_state stream_shake(uint64_t stream, uint64_t ns)
{
	enum hold_state state = HOLD_CROWDED;
	uint64_t spent;
	CUresult result;

	pthread_mutex_lock(&held.lock);
	held.recorder->own_begin();
	spent = held.plan->spent;
	if (spent + LOOK_NS > held.plan->budget)
		state = HOLD_SPENT;
	else if (!held.stream)
		state = begin(stream,
			ns < held.plan->budget - spent ? ns : held.plan->budget - spent, &result);
	held.recorder->own_end();
	pthread_mutex_unlock(&held.lock);
	return state;
}

void stream_consumed(struct hold_try *try, uint64_t stream)
{
	size_t i = (size_t)(try - held.plan->tries);
	CUresult result = CUDA_SUCCESS;
	int counts;

	pthread_mutex_lock(&held.lock);
	counts = held.stream && try->state == HOLD_HELD;
	if (counts && !stream)
		held.words->done[i] = 1;
	try->submitted |= (uint32_t)counts;
	pthread_mutex_unlock(&held.lock);
	if (!counts || !stream)
		return;
	/* The call may wait for room in the queue. */
	held.recorder->own_begin();
	result = submit_word((CUstream)stream, &held.words->done[i]);
	held.recorder->own_end();
	pthread_mutex_lock(&held.lock);
	if (held.stream && result == CUDA_SUCCESS)
		held.consumers[i] = stream;
	pthread_mutex_unlock(&held.lock);
}

void stream_forget(uint64_t stream)
{
	pthread_mutex_lock(&held.lock);
	/* The handle may be reused for another stream. */
	if (held.stream == stream)
		release();
	for (uint32_t i = 0; i < HOLD_TRIES; i++)
		if (held.consumers[i] == stream)
			held.consumers[i] = 0;
	pthread_mutex_unlock(&held.lock);
}

/* Returns the stream of a consumer that is not complete yet, 0: none. */
static uint64_t missing_consumer(void)
{
	uint64_t stream = 0;

	pthread_mutex_lock(&held.lock);
	for (uint32_t i = 0; held.stream && i < held.plan->count && !stream; i++)
		if (held.plan->tries[i].state == HOLD_HELD && !held.words->done[i]) {
			stream = held.consumers[i];
			held.consumers[i] = 0;
		}
	pthread_mutex_unlock(&held.lock);
	return stream;
}

/*
 * Gives submitted consumers time to complete first; if they wait for the held stream, too, until
 * the time is up.
 */
void stream_let_go(int ends_context)
{
	uint64_t stream;

	while (!held.recorder->captures() && (stream = missing_consumer())) {
		held.recorder->own_begin();
		driver.synchronize((CUstream)stream);
		held.recorder->own_end();
	}
	pthread_mutex_lock(&held.lock);
	release();
	if (ends_context)
		held.words = NULL;
	pthread_mutex_unlock(&held.lock);
}

/* --- start --- */

static const struct {
	const char *name;
	void *function;
} wanted[] = {
	{ "cuMemHostAlloc", &driver.host_alloc },
	{ "cuMemHostGetDevicePointer_v2", &driver.device_pointer },
	{ "cuStreamWaitValue32_v2", &driver.wait_value },
	{ "cuStreamWriteValue32_v2", &driver.write_value },
	{ "cuLaunchHostFunc", &driver.host_function },
	{ "cuMemsetD32Async", &driver.set_words },
	{ "cuStreamIsCapturing", &driver.is_capturing },
	{ "cuStreamGetFlags", &driver.get_flags },
	{ "cuCtxGetCurrent", &driver.current_context },
	{ "cuStreamSynchronize", &driver.synchronize },
};

const char *stream_start(const struct hold_recorder *recorder, struct hold_plan *plan)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *found = recorder->symbol(wanted[i].name);

		if (!found)
			return "the driver is too old";
		*(void **)wanted[i].function = found;
	}
	held.recorder = recorder;
	held.plan = plan;
	return start_watch() ? "no thread can be made" : NULL;
}

/* The thread and the driver's memory belong to the parent. */
void stream_child(void)
{
	pthread_mutex_init(&held.lock, NULL);
	held.stream = 0;
	held.words = NULL;
}
