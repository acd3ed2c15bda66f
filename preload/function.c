/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels by handle: name and parameter layout, queried from the driver at the first launch and
 * stored, because every launch uses the layout to read its parameters.  The size of their local
 * memory is queried at the same time.
 */
#include <cuda.h>
#include <errno.h>
#include <string.h>

#include "hot.h"
#include "resolve.h"
#include "system.h"
#include "window.h"

#define MAX_PARAMETERS 1024

#define ARENA_BYTES (1u << 20)

struct known_function functions[FUNCTION_TABLE] __attribute__((aligned(64)));

_Atomic uint32_t function_epoch;

/* Layouts are never freed: handles are reused after an unload, and a launch may still use one. */
static struct {
	_Atomic(char *) block;
	_Atomic size_t used;
} arena = { .used = ARENA_BYTES };

/*
 * cudart passes a CUkernel cast to CUfunction: kernel calls are tried first, then function calls.
 */
static struct {
	_Atomic int looked_up;
	CUresult (*kernel_name)(const char **, CUkernel);
	CUresult (*function_name)(const char **, CUfunction);
	CUresult (*kernel_parameter)(CUkernel, size_t, size_t *, size_t *);
	CUresult (*function_parameter)(CUfunction, size_t, size_t *, size_t *);
	CUresult (*device)(CUdevice *);
	CUresult (*stream_context)(CUstream, CUcontext *);
	CUresult (*kernel_attribute)(int *, CUfunction_attribute, CUkernel, CUdevice);
	CUresult (*function_attribute)(int *, CUfunction_attribute, CUfunction);
} driver;

/* A word for each answer, which it makes with its function and the epoch. */
static _Atomic uint64_t answered[FUNCTION_TABLE];

static uint64_t word_of(enum call_id id, uint64_t answer)
{
	static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);

	return (answer * factor + function_epoch) * factor + id;
}

static _Atomic uint64_t *place_of(uint64_t word)
{
	return &answered[word >> 48 & (FUNCTION_TABLE - 1)];
}

int function_is_answered(enum call_id id, uint64_t answer)
{
	uint64_t word = word_of(id, answer);

	return *place_of(word) == word;
}

void function_note_answer(enum call_id id, uint64_t answer)
{
	uint64_t word = word_of(id, answer);

	*place_of(word) = word;
}

void function_doubt(void)
{
	function_epoch++;
}

void function_reset(void)
{
	for (unsigned i = 0; i < FUNCTION_TABLE; i++) {
		functions[i].layout = NULL;
		functions[i].handle = 0;
		answered[i] = 0;
	}
}

static void look_up_driver(void)
{
	if (driver.looked_up)
		return;
	*(void **)&driver.kernel_name = driver_symbol("cuKernelGetName");
	*(void **)&driver.function_name = driver_symbol("cuFuncGetName");
	*(void **)&driver.kernel_parameter = driver_symbol("cuKernelGetParamInfo");
	*(void **)&driver.function_parameter = driver_symbol("cuFuncGetParamInfo");
	*(void **)&driver.device = driver_symbol("cuCtxGetDevice");
	*(void **)&driver.stream_context = driver_symbol("cuStreamGetCtx");
	*(void **)&driver.kernel_attribute = driver_symbol("cuKernelGetAttribute");
	*(void **)&driver.function_attribute = driver_symbol("cuFuncGetAttribute");
	driver.looked_up = 1;
}

static const char *name_of(uint64_t handle)
{
	const char *name = NULL;

	if (driver.kernel_name &&
		driver.kernel_name(&name, (CUkernel)(uintptr_t)handle) == CUDA_SUCCESS && name)
		return name;
	if (driver.function_name &&
		driver.function_name(&name, (CUfunction)(uintptr_t)handle) == CUDA_SUCCESS && name)
		return name;
	return "";
}

static int parameter_at(uint64_t handle, size_t index, struct function_parameter *parameter)
{
	size_t offset, size;
	CUresult rc = CUDA_ERROR_NOT_SUPPORTED;

	if (driver.kernel_parameter)
		rc = driver.kernel_parameter((CUkernel)(uintptr_t)handle, index, &offset, &size);
	if (rc != CUDA_SUCCESS && driver.function_parameter)
		rc = driver.function_parameter((CUfunction)(uintptr_t)handle, index, &offset,
			&size);
	if (rc != CUDA_SUCCESS || offset > UINT16_MAX || size > UINT16_MAX)
		return -1;
	*parameter = (struct function_parameter){ (uint16_t)offset, (uint16_t)size };
	return 0;
}

static struct function_layout *new_layout(uint32_t count)
{
	size_t bytes =
		(sizeof(struct function_layout) + count * sizeof(struct function_parameter) + 7) &
		~(size_t)7;
	size_t at = atomic_fetch_add(&arena.used, bytes);
	char *block = arena.block;

	if (!block || at + bytes > ARENA_BYTES) {
		/* Two concurrent threads waste at most the rest of a block. */
		block = system_map(ARENA_BYTES, 0, -1, 0);
		if (block == MAP_FAILED)
			return NULL;
		arena.block = block;
		arena.used = bytes;
		at = 0;
	}
	return (struct function_layout *)(block + at);
}

static struct function_layout *read_layout(struct thread_state *thread, uint64_t handle)
{
	struct function_parameter *parameter = (void *)thread->tables->scratch;
	struct function_layout *layout;
	uint32_t count = 0;

	_Static_assert(MAX_PARAMETERS * sizeof(*parameter) <= THREAD_SCRATCH, "they have room");
	if (!driver.kernel_parameter && !driver.function_parameter)
		return NULL;
	while (count < MAX_PARAMETERS && !parameter_at(handle, count, &parameter[count]))
		count++;
	layout = new_layout(count);
	if (!layout)
		return NULL;
	layout->count = count;
	layout->asked = 0;
	memcpy(layout->parameter, parameter, count * sizeof(parameter[0]));
	arguments_measure(layout);
	return layout;
}

static uint64_t hash_of(const char *text)
{
	return string_hash(text, strlen(text));
}

static void write_function(struct thread_state *thread, uint64_t handle, const char *name,
	const struct function_layout *layout, uint32_t local)
{
	size_t length = strlen(name);
	size_t bytes = layout ? layout->count * sizeof(layout->parameter[0]) : 0;
	struct function_record *record =
		thread_reserve(thread, sizeof(*record) + bytes + length, RECORD_FUNCTION);

	if (!record)
		return;
	record->handle = handle;
	record->name_length = (uint32_t)length;
	record->parameter_count = layout ? layout->count : FUNCTION_NO_PARAMETERS;
	record->local = local;
	if (layout)
		memcpy(record->data, layout->parameter, bytes);
	memcpy(record->data + bytes, name, length);
	trace_commit(&thread->chunk);
}

/* As function_record.local. */
static uint32_t read_local(uint64_t handle)
{
	CUdevice device;
	int bytes = -1;

	if (driver.kernel_attribute && driver.device && driver.device(&device) == CUDA_SUCCESS &&
		driver.kernel_attribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
			(CUkernel)(uintptr_t)handle, device) == CUDA_SUCCESS)
		return bytes < 0 ? 0 : 1 + (uint32_t)bytes;
	if (driver.function_attribute &&
		driver.function_attribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
			(CUfunction)(uintptr_t)handle) == CUDA_SUCCESS)
		return bytes < 0 ? 0 : 1 + (uint32_t)bytes;
	return 0;
}

/* With another current context, the query would load the kernel there too. */
static int is_of_current(uint64_t stream)
{
	CUcontext other;
	void *current;

	/* Default streams belong to the current context. */
	if (stream <= (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD)
		return 1;
	return shim.current_context && driver.stream_context && !shim.current_context(&current) &&
		driver.stream_context((CUstream)(uintptr_t)stream, &other) == CUDA_SUCCESS &&
		current == other;
}

/*
 * Called after a successful launch if layout->asked is 0: records the kernel's local memory, once.
 * Not before the launch: the query loads an unloaded kernel.  Keeps errno.
 */
static COLD void ask_local(struct thread_state *thread, uint64_t handle,
	const struct function_layout *layout, uint64_t stream)
{
	int saved = errno;
	uint32_t local;

	/* A captured kernel is not launched; and the query may not be allowed. */
	if (window_captures())
		return;
	((struct function_layout *)layout)->asked = 1;
	local = is_of_current(stream) ? read_local(handle) : 0;
	if (local)
		write_function(thread, handle, name_of(handle), layout, local);
	errno = saved;
}

/*
 * For a launch while another thread reads the layout for the table, or if the driver reports no
 * parameters: in the first case the launch reads a layout of its own.
 */
static const struct function_layout *layout_being_read(struct thread_state *thread, uint64_t handle)
{
	const struct function_layout *layout;
	int saved = errno;

	look_up_driver();
	layout = read_layout(thread, handle);
	errno = saved;
	return layout;
}

static const struct function_layout *learn(struct thread_state *thread,
	struct known_function *entry, uint64_t handle)
{
	uint32_t now = function_epoch;
	int saved = errno;
	const char *name;

	look_up_driver();
	name = name_of(handle);
	entry->layout = read_layout(thread, handle);
	entry->name = hash_of(name);
	entry->epoch = now;
	write_function(thread, handle, name, entry->layout, 0);
	errno = saved;
	return entry->layout;
}

/* Same number of parameters, and same offset of the last one: then the rest is assumed equal. */
static int has_layout(uint64_t handle, const struct function_layout *layout)
{
	struct function_parameter last, none;
	const struct function_parameter *was = layout->parameter + layout->count - 1;

	if (layout->count &&
		(parameter_at(handle, layout->count - 1, &last) || last.offset != was->offset ||
			last.size != was->size))
		return 0;
	return parameter_at(handle, layout->count, &none) != 0;
}

/* Querying every parameter of every kernel again after each unload would be too slow. */
static COLD const struct function_layout *check_again(struct thread_state *thread,
	struct known_function *entry, uint64_t handle)
{
	const struct function_layout *layout = entry->layout;
	uint32_t now = function_epoch;
	int saved = errno, same = 0;

	if (layout && layout->count < MAX_PARAMETERS)
		same = hash_of(name_of(handle)) == entry->name && has_layout(handle, layout);
	errno = saved;
	if (!same)
		return learn(thread, entry, handle);
	entry->epoch = now;
	return layout;
}

/* Not cold: several kernels may share a first slot. */
static NOINLINE const struct function_layout *search(struct thread_state *thread, uint64_t handle)
{
	for (unsigned tries = 0; tries < 64; tries++) {
		struct known_function *entry = &functions[function_place(handle, tries)];
		uint64_t found = atomic_load_explicit(&entry->handle, memory_order_acquire);

		if (found == handle) {
			const struct function_layout *layout = entry->layout;

			if (UNLIKELY(!layout))
				return layout_being_read(thread, handle);
			return UNLIKELY(entry->epoch != function_epoch)
				? check_again(thread, entry, handle)
				: layout;
		}
		if (found)
			continue;
		if (atomic_compare_exchange_strong(&entry->handle, &found, handle))
			return learn(thread, entry, handle);
		if (found == handle)
			return layout_being_read(thread, handle);
	}
	trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
	return NULL;
}

const struct function_layout *launch_other(struct call_frame *frame, const uint64_t *field)
{
	struct thread_state *thread = frame->thread;
	const struct function_layout *layout = search(thread, frame->function);

	if (layout && !layout->asked && frame->flags & FRAME_LAUNCH)
		ask_local(thread, frame->function, layout, field[1]);
	if (frame->values && layout && layout->words)
		return layout;
	arguments_scan(&thread->tables->arguments, layout, frame->values, frame->extra);
	words_note(thread, layout, frame->values, frame->extra);
	frame_rest(frame);
	frame->launch = 1;
	return NULL;
}
