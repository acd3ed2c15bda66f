/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies.  Whether a copy makes the host wait depends on direction, size and kind of memory, as
 * measured on an H200 (doc/MEASUREMENTS.md, `cufence probe`).
 */
#include "cuda_copy.h"

#include <cupti_activity.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Asynchronous pageable host-to-device copies up to this size are staged without waiting. */
#define STAGED_MAX (2u << 20) /* measured: 2 MiB is staged, 8 MiB is not */

/* Gap between the halves of a copy staged through the host, ns: 5 to 14 us on two H200s. */
#define HALVES_GAP 9000

/* CUPTI id of the driver's internal stream in a context. */
#define DRIVER_STREAM 8

struct side {
	uintptr_t start;
	size_t pitch, slice; /* bytes */
	const struct memory *memory;
	enum memory_place place;
	struct device *device; /* NULL: host memory */
};

struct copy {
	struct side dst, src;
	size_t width, height, depth, bytes;
	bool async;
};

/* One side as described by its structure. */
struct description {
	CUmemorytype type;
	uintptr_t host, device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static struct description describe_dst(const CUDA_MEMCPY3D *p)
{
	return (struct description){ p->dstMemoryType, (uintptr_t)p->dstHost, p->dstDevice,
		p->dstArray, p->dstXInBytes, p->dstY, p->dstZ, p->dstPitch, p->dstHeight };
}

static struct description describe_src(const CUDA_MEMCPY3D *p)
{
	return (struct description){ p->srcMemoryType, (uintptr_t)p->srcHost, p->srcDevice,
		p->srcArray, p->srcXInBytes, p->srcY, p->srcZ, p->srcPitch, p->srcHeight };
}

static bool resolve_array(struct side *side, struct description *d)
{
	const struct array *array = (const struct array *)d->array;

	if (!object_check(array, OBJECT_ARRAY))
		return false;
	d->device = array->start;
	d->pitch = array->pitch;
	d->height = array->rows;
	return true;
}

/*
 * Does the memory have the type that the call names? Device code can access pinned and managed
 * memory too.
 */
static bool kind_valid(CUmemorytype type, const struct memory *memory)
{
	if (type == CU_MEMORYTYPE_DEVICE)
		return memory;
	return type != CU_MEMORYTYPE_HOST || !memory || memory->place != PLACE_DEVICE;
}

static CUresult resolve(struct side *side, struct description d, const struct copy *copy)
{
	if (d.type == CU_MEMORYTYPE_ARRAY && !resolve_array(side, &d))
		return CUDA_ERROR_INVALID_HANDLE;
	if (d.type < CU_MEMORYTYPE_HOST || d.type > CU_MEMORYTYPE_UNIFIED)
		return CUDA_ERROR_INVALID_VALUE;
	side->pitch = d.pitch ? d.pitch : d.x + copy->width;
	side->slice = side->pitch * (d.height ? d.height : d.y + copy->height);
	side->start = (d.type == CU_MEMORYTYPE_HOST ? d.host : d.device) + d.x + d.y * side->pitch +
		d.z * side->slice;
	side->memory = memory_find(side->start);
	side->place = side->memory ? side->memory->place : PLACE_PAGEABLE;
	side->device = side->memory ? side->memory->device : NULL;
	if (!copy->bytes)
		return CUDA_SUCCESS;
	if (!kind_valid(d.type, side->memory) || side->pitch < d.x + copy->width)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_fits(side->memory, side->start,
		    (copy->depth - 1) * side->slice + (copy->height - 1) * side->pitch +
			    copy->width))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult copy_resolve(struct copy *copy, const CUDA_MEMCPY3D *shape, bool async)
{
	CUresult result;

	copy->width = shape->WidthInBytes;
	copy->height = shape->Height;
	copy->depth = shape->Depth;
	copy->bytes = copy->width * copy->height * copy->depth;
	copy->async = async;
	result = resolve(&copy->dst, describe_dst(shape), copy);
	return result ? result : resolve(&copy->src, describe_src(shape), copy);
}

static bool on_device(const struct copy *copy)
{
	return copy->src.device && copy->dst.device;
}

static bool between_devices(const struct copy *copy)
{
	return on_device(copy) && copy->src.device != copy->dst.device;
}

static bool device_reaches(const struct device *device, const struct device *other)
{
	for (struct context *c = device->contexts; c; c = c->next) {
		if (!c->destroyed && context_reaches(c, other))
			return true;
	}
	return false;
}

/*
 * Copies between devices without peer access are staged; access in one direction is assumed to be
 * enough.
 */
static bool through_host(const struct copy *copy)
{
	return between_devices(copy) && !device_reaches(copy->src.device, copy->dst.device) &&
		!device_reaches(copy->dst.device, copy->src.device);
}

static bool pageable(const struct copy *copy)
{
	return copy->src.place == PLACE_PAGEABLE || copy->dst.place == PLACE_PAGEABLE;
}

/*
 * Duration in ns; bytes per ns: pinned 50, pageable to device 11, to host 18, within the device
 * 1000.
 */
static uint64_t copy_duration(const struct copy *copy)
{
	if (on_device(copy))
		return 1500 + copy->bytes / (copy->src.device == copy->dst.device ? 1000 : 300);
	if (!copy->src.device && !copy->dst.device)
		return 1500 + copy->bytes / 9;
	if (!pageable(copy))
		return 1500 + copy->bytes / 50;
	if (copy->src.device)
		return 3000 + copy->bytes / 18;
	if (copy->async && copy->bytes <= STAGED_MAX)
		return 1500 + copy->bytes / 50;
	/*
	 * On an H200 a copy of 1100 KiB ended 20 us after its call returned; one of 64 KiB before
	 * any later operation could start.
	 */
	return 1500 + copy->bytes / 11 + (copy->bytes > 64 << 10 ? 16000 : 0);
}

static struct copy_engine *copy_engine(const struct copy *copy, struct device *device)
{
	if (on_device(copy))
		return NULL;
	if (copy->dst.device)
		return &device->to_device;
	return copy->src.device ? &device->to_host : &device->host;
}

/* Writes to protected pages that are shared: at a second address, since the kernel refuses to. */
static bool write_shared(char *dst, const char *src, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), ahead = (uintptr_t)dst % page;
	char *again = mremap(dst - ahead, 0, ahead + bytes, MREMAP_MAYMOVE);
	bool done;

	if (again == MAP_FAILED)
		return false;
	done = mprotect(again, ahead + bytes, PROT_READ | PROT_WRITE) == 0;
	if (done)
		memcpy(again + ahead, src, bytes);
	munmap(again, ahead + bytes);
	return done;
}

/* The guard protects pages while a copy is pending. */
static void move_unseen(char *dst, const char *src, size_t bytes)
{
	int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	char buffer[16384];

	for (size_t at = 0, part; memory >= 0 && at < bytes; at += part) {
		part = bytes - at < sizeof(buffer) ? bytes - at : sizeof(buffer);
		if (pread(memory, buffer, part, (off_t)(uintptr_t)(src + at)) != (ssize_t)part ||
			(pwrite(memory, buffer, part, (off_t)(uintptr_t)(dst + at)) !=
					(ssize_t)part &&
				!write_shared(dst + at, buffer, part)))
			abort();
	}
	if (memory < 0)
		memmove(dst, src, bytes);
	else
		close(memory);
}

void copy_move(char *dst, const char *src, size_t bytes)
{
	if (getenv("CUFENCE_GUARD_HOST"))
		move_unseen(dst, src, bytes);
	else
		memmove(dst, src, bytes);
}

static void copy_effect(struct op *op)
{
	const struct box *box = &op->box;

	for (size_t z = 0; z < box->depth; z++) {
		for (size_t y = 0; y < box->height; y++)
			copy_move(box->dst + z * box->dst_slice + y * box->dst_pitch,
				box->src + z * box->src_slice + y * box->src_pitch, box->width);
	}
}

/* First half of a staged copy: leaves the data in host memory for the second half. */
static void copy_from_device(struct op *op)
{
	struct box *box = &op->box;
	struct box whole = *box;

	op->staging = must_realloc(NULL, box->width * box->height * box->depth);
	box->dst = op->staging;
	box->dst_pitch = box->width;
	box->dst_slice = box->width * box->height;
	copy_effect(op);
	*box = whole;
	box->src = op->staging;
	box->src_pitch = box->width;
	box->src_slice = box->width * box->height;
}

/* H: host, D: device memory, A: array. */
static uint8_t copy_kind(const struct copy *copy)
{
	static const uint8_t kinds[3][3] = {
		/* [from][to] */
		{ CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
			CUPTI_ACTIVITY_MEMCPY_KIND_HTOA },
		{ CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
			CUPTI_ACTIVITY_MEMCPY_KIND_DTOA },
		{ CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
			CUPTI_ACTIVITY_MEMCPY_KIND_ATOA },
	};
	int from = copy->src.place == PLACE_ARRAY ? 2 : copy->src.device ? 1 : 0;
	int to = copy->dst.place == PLACE_ARRAY ? 2 : copy->dst.device ? 1 : 0;

	return kinds[from][to];
}

static void copy_record(struct op *op, const struct copy *copy, const struct stream *stream)
{
	struct sim_record *record = &op->record;

	record_origin(op, stream);
	record->kind = SIM_COPY;
	record->bytes = copy->bytes;
	record->copy_kind = copy_kind(copy);
	record->src_kind = (uint8_t)copy->src.place;
	record->dst_kind = (uint8_t)copy->dst.place;
	record->async = copy->async;
	if (between_devices(copy) && !through_host(copy)) {
		record->kind = SIM_PEER;
		record->copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
		record->src_device = (uint32_t)copy->src.device->ordinal;
		record->dst_device = (uint32_t)copy->dst.device->ordinal;
	}
}

/* The half on another device than the stream's runs in an internal stream of the driver. */
static void half_record(struct sim_record *record, const struct device *device, uint8_t copy_kind)
{
	record->copy_kind = copy_kind;
	if (record->device == (uint32_t)device->ordinal)
		return;
	record->device = (uint32_t)device->ordinal;
	record->context = device->primary ? device->primary->id : device->contexts->id;
	record->stream = DRIVER_STREAM;
}

/* Two records, to and from the host, both with device memory on both sides. */
static void split(struct op *op, const struct copy *copy)
{
	uint64_t duration = 1500 + copy->bytes / 50;

	op->half = must_realloc(NULL, sizeof(*op->half));
	*op->half = (struct second_half){ HALVES_GAP, duration, copy_effect, op->record };
	half_record(&op->half->record, copy->dst.device, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	half_record(&op->record, copy->src.device, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	op->duration = duration;
	op->effect = copy_from_device;
}

CUresult copy_check(const struct work *work, struct context *context)
{
	struct copy copy;

	return copy_resolve(&copy, &work->params.memcpy.copyParams, work->async);
}

struct op *copy_op(const struct work *work, struct stream *stream)
{
	struct copy copy;
	struct op *op;

	copy_resolve(&copy, &work->params.memcpy.copyParams, work->async);
	if (!copy.bytes)
		return op_new(OP_MARKER, stream, 0);
	op = op_new(OP_COPY, stream, copy_duration(&copy));
	op->engine = copy_engine(&copy, stream->context->device);
	op->box = (struct box){
		(char *)copy.dst.start,
		(const char *)copy.src.start,
		copy.dst.pitch,
		copy.dst.slice,
		copy.src.pitch,
		copy.src.slice,
		copy.width,
		copy.height,
		copy.depth,
	};
	op->effect = copy_effect;
	copy_record(op, &copy, stream);
	if (between_devices(&copy)) {
		op->from = copy.src.device;
		op->to = copy.dst.device;
	}
	if (through_host(&copy))
		split(op, &copy);
	return op;
}

/* Host part of a staged copy: reads the source now and returns before the DMA is done. */
static void stage(struct op *op, const struct copy *copy)
{
	struct box *box = &op->box;
	char *row;

	thread_self()->overhead +=
		copy->bytes / (copy->async && copy->bytes <= STAGED_MAX ? 18 : 11);
	if (op->state == OP_DONE)
		return;
	op->staging = row = must_realloc(NULL, copy->bytes);
	for (size_t z = 0; z < box->depth; z++) {
		for (size_t y = 0; y < box->height; y++, row += box->width)
			memcpy(row, box->src + z * box->src_slice + y * box->src_pitch, box->width);
	}
	box->src = op->staging;
	box->src_pitch = box->width;
	box->src_slice = box->width * box->height;
}

/* On the legacy stream, launches of other threads are blocked too, for any kind of memory. */
static void wait_in_call(struct op *op, const struct copy *copy, bool (*wait)(struct op *))
{
	struct device *device = copy->dst.device ? copy->dst.device : copy->src.device;

	if (!copy->async && device && op->stream->legacy)
		device_wait(device, op, wait);
	else
		wait(op);
}

static void copy_wait(struct op *op, const struct copy *copy)
{
	if (on_device(copy) || (copy->async && !pageable(copy)))
		return;
	if (!copy->dst.device || !pageable(copy)) {
		wait_in_call(op, copy, op_wait);
		return;
	}
	if (!copy->async || copy->bytes > STAGED_MAX)
		wait_in_call(op, copy, op_wait_ready);
	stage(op, copy);
}

CUDA_MEMCPY3D copy_linear(uintptr_t dst, CUmemorytype to, uintptr_t src, CUmemorytype from,
	size_t bytes)
{
	return (CUDA_MEMCPY3D){
		.dstMemoryType = to,
		.dstHost = (void *)dst,
		.dstDevice = dst,
		.srcMemoryType = from,
		.srcHost = (const void *)src,
		.srcDevice = src,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};
}

CUresult copy_call(const CUDA_MEMCPY3D *shape, CUstream handle, bool async)
{
	struct work work = { .async = async,
		.params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY,
			.memcpy = { .copyParams = *shape } } };
	struct copy copy;
	struct op *op;
	CUresult result = copy_resolve(&copy, shape, async);

	if (result)
		return context_current() ? result : CUDA_ERROR_INVALID_CONTEXT;
	if (!copy.bytes)
		return stream_get(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	result = work_submit(&work, handle, &op);
	if (op)
		copy_wait(op, &copy);
	op_put(op);
	return result;
}
