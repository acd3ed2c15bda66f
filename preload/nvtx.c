/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges, marks and names of streams.  NVTX 3 is compiled into the program: at its first call
 * it loads the library named by NVTX_INJECTION64_PATH (set by injection.c) and passes it a table of
 * function pointers to fill.  Functions that are not set do nothing, as without a tool.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "origin.h"
#include "shim.h"
#include "system.h"
#include "window.h"

#define EXPORT __attribute__((visibility("default")))
#define LONGEST 1024
#define ARENA_BYTES (64u << 10)

/* Texts of registered strings; the handle is a pointer to the text; never freed. */
static struct {
	_Atomic(char *) block;
	_Atomic size_t used;
} arena = { .used = ARENA_BYTES };

static _Atomic uint64_t range_ids;

static const char *keep(const char *text)
{
	size_t length = strnlen(text, LONGEST), at = atomic_fetch_add(&arena.used, length + 1);
	char *block = arena.block;

	if (!block || at + length + 1 > ARENA_BYTES) {
		block = system_map(ARENA_BYTES, 0, -1, 0);
		if (block == MAP_FAILED)
			return NULL;
		arena.block = block;
		arena.used = length + 1;
		at = 0;
	}
	memcpy(block + at, text, length);
	return block + at;
}

/* Converts a wide string to UTF-8, in to[LONGEST]. */
static const char *narrow(const wchar_t *from, char *to)
{
	size_t n = 0;

	for (; from && *from && n < LONGEST - 4; from++) {
		uint32_t c = (uint32_t)*from;

		if (c < 0x80) {
			to[n++] = (char)c;
		} else if (c < 0x800) {
			to[n++] = (char)(0xc0 | c >> 6);
			to[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			to[n++] = (char)(0xe0 | c >> 12);
			to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			to[n++] = (char)(0x80 | (c & 0x3f));
		} else {
			to[n++] = (char)(0xf0 | (c >> 18 & 7));
			to[n++] = (char)(0x80 | (c >> 12 & 0x3f));
			to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			to[n++] = (char)(0x80 | (c & 0x3f));
		}
	}
	to[n] = '\0';
	return to;
}

/* Processes a range's name for the call with this frame address; returns the range id or 0. */
typedef uint64_t (*name_user)(const char *name, void *frame_address);

/* Not inlined, so that only wide names need so much stack. */
static NOINLINE uint64_t use_wide(const wchar_t *text, name_user use, void *frame_address)
{
	char buffer[LONGEST];

	return use(narrow(text, buffer), frame_address);
}

static uint64_t use_message(const nvtxEventAttributes_t *event, name_user use, void *frame_address)
{
	const char *text = NULL;

	if (event && event->messageType == NVTX_MESSAGE_TYPE_UNICODE)
		return use_wide(event->message.unicode, use, frame_address);
	if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII)
		text = event->message.ascii;
	else if (event && event->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
		text = (const char *)event->message.registered;
	return use(text ? text : "", frame_address);
}

/* Writes one record; name NULL: the range is identified by an id. */
static void note(enum call_id id, const char *name, uint64_t value, void *frame_address)
{
	uint64_t field[2] = { 0, value };
	struct call_frame frame;

	if (!host_begin(&frame, id, frame_address))
		return;
	frame.thread->busy = STACK_PLACE;
	if (name)
		field[0] = string_intern(frame.thread, name);
	frame.thread->busy = 0;
	if (id == CALL_nvtxRangeEnd)
		field[0] = value;
	frame_end(&frame, 0, field, call_types[id].field_count);
}

static const char *window_name(void)
{
	static const char *cached;
	static _Atomic int read;

	if (!read) {
		cached = origin_setting("CUFENCE_NVTX");
		read = 1;
	}
	return cached;
}

/* Is this the range whose work is recorded? Then it is reported as begun. */
static int opens_window(const char *name)
{
	const char *wanted = window_name();

	if (!wanted || strcmp(wanted, name))
		return 0;
	window_range(wanted, 1);
	return 1;
}

/* Bit n: the n-th pushed range of this thread opened a window. */
static __thread uint64_t pushed;

/* Started ranges that opened a window. */
static _Atomic uint64_t started[64];

static void note_started(uint64_t id)
{
	for (unsigned i = 0; i < 64; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&started[i], &none, id))
			return;
	}
}

static int was_started(uint64_t id)
{
	for (unsigned i = 0; i < 64; i++) {
		uint64_t found = id;

		if (atomic_compare_exchange_strong(&started[i], &found, 0))
			return 1;
	}
	return 0;
}

static uint64_t push(const char *name, void *frame_address)
{
	pushed = pushed << 1 | (uint64_t)opens_window(name);
	note(CALL_nvtxRangePush, name, 0, frame_address);
	return 0;
}

static uint64_t start(const char *name, void *frame_address)
{
	uint64_t id = atomic_fetch_add(&range_ids, 1) + 1;

	if (opens_window(name))
		note_started(id);
	note(CALL_nvtxRangeStart, name, id, frame_address);
	return id;
}

static uint64_t mark(const char *name, void *frame_address)
{
	note(CALL_nvtxMark, name, 0, frame_address);
	return 0;
}

#define HERE __builtin_frame_address(0)

static int NVTX_API push_ascii(const char *text)
{
	push(text ? text : "", HERE);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API push_wide(const wchar_t *text)
{
	use_wide(text, push, HERE);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API push_event(const nvtxEventAttributes_t *event)
{
	use_message(event, push, HERE);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API push_in_domain(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	use_message(event, push, HERE);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API pop(void)
{
	note(CALL_nvtxRangePop, NULL, 0, HERE);
	if (pushed & 1)
		window_range(window_name(), 0);
	pushed >>= 1;
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API pop_in_domain(nvtxDomainHandle_t domain)
{
	return pop();
}

static nvtxRangeId_t NVTX_API start_ascii(const char *text)
{
	return start(text ? text : "", HERE);
}

static nvtxRangeId_t NVTX_API start_wide(const wchar_t *text)
{
	return use_wide(text, start, HERE);
}

static nvtxRangeId_t NVTX_API start_event(const nvtxEventAttributes_t *event)
{
	return use_message(event, start, HERE);
}

static nvtxRangeId_t NVTX_API start_in_domain(nvtxDomainHandle_t domain,
	const nvtxEventAttributes_t *event)
{
	return use_message(event, start, HERE);
}

static void NVTX_API end(nvtxRangeId_t id)
{
	note(CALL_nvtxRangeEnd, NULL, id, HERE);
	if (was_started(id))
		window_range(window_name(), 0);
}

static void NVTX_API end_in_domain(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	end(id);
}

static void NVTX_API mark_ascii(const char *text)
{
	mark(text ? text : "", HERE);
}

static void NVTX_API mark_wide(const wchar_t *text)
{
	use_wide(text, mark, HERE);
}

static void NVTX_API mark_event(const nvtxEventAttributes_t *event)
{
	use_message(event, mark, HERE);
}

static void NVTX_API mark_in_domain(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	use_message(event, mark, HERE);
}

static uint64_t keep_name(const char *name, void *frame_address)
{
	return (uint64_t)(uintptr_t)keep(name);
}

static nvtxStringHandle_t NVTX_API register_ascii(nvtxDomainHandle_t domain, const char *text)
{
	return (nvtxStringHandle_t)keep(text ? text : "");
}

static nvtxStringHandle_t NVTX_API register_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
	return (nvtxStringHandle_t)(uintptr_t)use_wide(text, keep_name, HERE);
}

/* The default streams keep the names that CUDA gives them. */
static void name_stream(const void *stream, const char *name, void *frame_address)
{
	if ((uintptr_t)stream > STREAM_PER_THREAD)
		note(CALL_nvtxNameCudaStream, name, (uintptr_t)stream, frame_address);
}

static void NVTX_API name_stream_ascii(nvtx_CUstream stream, const char *name)
{
	name_stream(stream, name ? name : "", HERE);
}

static void NVTX_API name_stream_wide(nvtx_CUstream stream, const wchar_t *name)
{
	char buffer[LONGEST];

	name_stream(stream, narrow(name, buffer), HERE);
}

struct slot {
	unsigned id;
	void *function;
};

static const struct slot core[] = {
	{ NVTX_CBID_CORE_MarkEx, (void *)mark_event },
	{ NVTX_CBID_CORE_MarkA, (void *)mark_ascii },
	{ NVTX_CBID_CORE_MarkW, (void *)mark_wide },
	{ NVTX_CBID_CORE_RangeStartEx, (void *)start_event },
	{ NVTX_CBID_CORE_RangeStartA, (void *)start_ascii },
	{ NVTX_CBID_CORE_RangeStartW, (void *)start_wide },
	{ NVTX_CBID_CORE_RangeEnd, (void *)end },
	{ NVTX_CBID_CORE_RangePushEx, (void *)push_event },
	{ NVTX_CBID_CORE_RangePushA, (void *)push_ascii },
	{ NVTX_CBID_CORE_RangePushW, (void *)push_wide },
	{ NVTX_CBID_CORE_RangePop, (void *)pop },
};

static const struct slot core2[] = {
	{ NVTX_CBID_CORE2_DomainMarkEx, (void *)mark_in_domain },
	{ NVTX_CBID_CORE2_DomainRangeStartEx, (void *)start_in_domain },
	{ NVTX_CBID_CORE2_DomainRangeEnd, (void *)end_in_domain },
	{ NVTX_CBID_CORE2_DomainRangePushEx, (void *)push_in_domain },
	{ NVTX_CBID_CORE2_DomainRangePop, (void *)pop_in_domain },
	{ NVTX_CBID_CORE2_DomainRegisterStringA, (void *)register_ascii },
	{ NVTX_CBID_CORE2_DomainRegisterStringW, (void *)register_wide },
};

/* nvtxNameCuStream() and nvtxNameCudaStream(): nvtx3/nvToolsExtCuda.h, nvToolsExtCudaRt.h. */
static const struct slot driver[] = {
	{ NVTX_CBID_CUDA_NameCuStreamA, (void *)name_stream_ascii },
	{ NVTX_CBID_CUDA_NameCuStreamW, (void *)name_stream_wide },
};

static const struct slot runtime[] = {
	{ NVTX_CBID_CUDART_NameCudaStreamA, (void *)name_stream_ascii },
	{ NVTX_CBID_CUDART_NameCudaStreamW, (void *)name_stream_wide },
};

static void fill(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
	const struct slot *slots, size_t count)
{
	NvtxFunctionTable table = NULL;
	unsigned size = 0;

	if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < count; i++)
		if (slots[i].id < size && table[slots[i].id])
			*table[slots[i].id] = (NvtxFunctionPointer)slots[i].function;
}

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	fill(callbacks, NVTX_CB_MODULE_CORE, core, sizeof(core) / sizeof(*core));
	fill(callbacks, NVTX_CB_MODULE_CORE2, core2, sizeof(core2) / sizeof(*core2));
	fill(callbacks, NVTX_CB_MODULE_CUDA, driver, sizeof(driver) / sizeof(*driver));
	fill(callbacks, NVTX_CB_MODULE_CUDART, runtime, sizeof(runtime) / sizeof(*runtime));
	return 1;
}
