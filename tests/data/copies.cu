/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose memory is accessed by others than threads: bulk copies, tensor maps, matrix
 * instructions.  Their PTX and their machine code are to say the same (test_machine_code.c).
 */
#include <cstdint>
#include <cstdio>
#include <cuda.h>

__device__ static uint32_t shared_address(const void *pointer)
{
	return (uint32_t)__cvta_generic_to_shared(pointer);
}

__device__ static void begin_barrier(uint32_t barrier, int bytes)
{
	asm volatile(
		"mbarrier.init.shared.b64 [%0], 1;\n"
		"fence.proxy.async.shared::cta;\n"
		"mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
		"r"(bytes)
		: "memory");
}

__device__ static void wait_barrier(uint32_t barrier)
{
	asm volatile(
		"{ .reg .pred done;\n"
		"again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
		"@!done bra again; }" ::"r"(barrier)
		: "memory");
}

__device__ static void wait_copies()
{
	asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ static void load_tile(uint32_t tile, const CUtensorMap *map, int x, int y,
	uint32_t barrier)
{
	asm volatile(
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
		"[%0], [%1, {%2, %3}], [%4];" ::"r"(tile),
		"l"(map), "r"(x), "r"(y), "r"(barrier)
		: "memory");
}

extern "C" __global__ void tensor_load(const __grid_constant__ CUtensorMap map, float *out, int x,
	int y)
{
	__shared__ alignas(128) float tile[1024];
	__shared__ uint64_t barrier;

	if (threadIdx.x == 0) {
		begin_barrier(shared_address(&barrier), sizeof(tile));
		load_tile(shared_address(tile), &map, x, y, shared_address(&barrier));
	}
	__syncthreads();
	wait_barrier(shared_address(&barrier));
	out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void tensor_store(const __grid_constant__ CUtensorMap unused,
	const __grid_constant__ CUtensorMap map, const float *in, int x)
{
	__shared__ alignas(128) float tile[1024];

	tile[threadIdx.x] = in[threadIdx.x];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x)
		return;
	asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];" ::
			     "l"(&map),
		     "r"(x), "r"(shared_address(tile))
		     : "memory");
	wait_copies();
}

extern "C" __global__ void tensor_reduce(int x, const __grid_constant__ CUtensorMap map,
	const float *in)
{
	__shared__ alignas(128) float tile[1024];

	tile[threadIdx.x] = in[threadIdx.x];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x)
		return;
	asm volatile(
		"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group "
		"[%0, {%1}], [%2];" ::"l"(&map),
		"r"(x), "r"(shared_address(tile))
		: "memory");
	wait_copies();
}

struct maps {
	long number;
	CUtensorMap map[2];
	float *out;
};

/* One of two maps. */
extern "C" __global__ void tensor_chosen(const __grid_constant__ maps maps, int which)
{
	__shared__ alignas(128) float tile[1024];
	__shared__ uint64_t barrier;

	if (threadIdx.x == 0) {
		begin_barrier(shared_address(&barrier), sizeof(tile));
		load_tile(shared_address(tile), &maps.map[which], 0, 0, shared_address(&barrier));
	}
	__syncthreads();
	wait_barrier(shared_address(&barrier));
	maps.out[threadIdx.x] = tile[threadIdx.x];
}

/* A map in memory says where; the kernel does not. */
extern "C" __global__ void tensor_elsewhere(const CUtensorMap *map, float *out)
{
	__shared__ alignas(128) float tile[1024];
	__shared__ uint64_t barrier;

	if (threadIdx.x == 0) {
		begin_barrier(shared_address(&barrier), sizeof(tile));
		load_tile(shared_address(tile), map, 0, 0, shared_address(&barrier));
	}
	__syncthreads();
	wait_barrier(shared_address(&barrier));
	out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void bulk_copies(const float *in, float *out, float *sum, int bytes)
{
	__shared__ alignas(128) float tile[4096];
	__shared__ uint64_t barrier;

	if (threadIdx.x)
		return;
	begin_barrier(shared_address(&barrier), 2048);
	asm volatile(
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		"[%0], [%1], 1024, [%2];" ::"r"(shared_address(tile)),
		"l"(in + blockIdx.x * 256), "r"(shared_address(&barrier))
		: "memory");
	asm volatile(
		"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
		"[%0], [%1], 1024, [%2];" ::"r"(shared_address(tile) + 4096),
		"r"(shared_address(tile)), "r"(shared_address(&barrier))
		: "memory");
	wait_barrier(shared_address(&barrier));
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
			     out + blockIdx.x * 256),
		     "r"(shared_address(tile)), "r"(bytes)
		     : "memory");
	asm volatile(
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 1024;" ::
			"l"(sum + blockIdx.x * 256),
		"r"(shared_address(tile))
		: "memory");
	asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(in));
	wait_copies();
}

/* The hardware reads 64 bytes of a map: libraries pass no more. */
struct alignas(64) short_map {
	char bytes[64];
};

extern "C" __global__ void tensor_short(const float *in, const __grid_constant__ short_map map)
{
	__shared__ alignas(128) float tile[1024];

	tile[threadIdx.x] = in[threadIdx.x];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x)
		return;
	asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];" ::
			     "l"(&map),
		     "r"(0), "r"(shared_address(tile))
		     : "memory");
	wait_copies();
}

/* As kernels of many tensors have them. */
struct pointers {
	float *pointer[400];
};

extern "C" __global__ void table(const __grid_constant__ pointers pointers)
{
	*pointers.pointer[blockIdx.x] = 1;
}

/* Addresses of functions are loaded at an index that outlives a call. */
extern "C" __global__ void reports(int *out, const int *in)
{
	printf("one %d\n", in[0]);
	printf("two %d\n", in[1]);
	printf("three %d\n", in[2]);
	printf("four %d\n", in[3]);
	out[threadIdx.x] = in[4];
}

__constant__ float weights[16];

extern "C" __global__ void constants(float *out, float *other)
{
	out[threadIdx.x] = weights[3] * threadIdx.x;
	other[threadIdx.x] = weights[threadIdx.x & 15];
}

/* A selection of bytes extends the sign; one that mixes them is a number like any. */
extern "C" __global__ void narrow(float *out, float *mixed)
{
	int low, bytes;

	asm("prmt.b32 %0, %1, 0, 0x9910;" : "=r"(low) : "r"(threadIdx.x));
	asm("prmt.b32 %0, %1, 0, 0x8182;" : "=r"(bytes) : "r"(threadIdx.x));
	out[low] = 1;
	mixed[bytes] = 1;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* 128 registers at once. */
__device__ static void multiply(float (&d)[128], uint64_t a, uint64_t b)
{
	asm volatile(
		"wgmma.fence.sync.aligned;\n"
		"wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
		"%0, %1, %2, %3, %4, %5, %6, %7, "
		"%8, %9, %10, %11, %12, %13, %14, %15, "
		"%16, %17, %18, %19, %20, %21, %22, %23, "
		"%24, %25, %26, %27, %28, %29, %30, %31, "
		"%32, %33, %34, %35, %36, %37, %38, %39, "
		"%40, %41, %42, %43, %44, %45, %46, %47, "
		"%48, %49, %50, %51, %52, %53, %54, %55, "
		"%56, %57, %58, %59, %60, %61, %62, %63, "
		"%64, %65, %66, %67, %68, %69, %70, %71, "
		"%72, %73, %74, %75, %76, %77, %78, %79, "
		"%80, %81, %82, %83, %84, %85, %86, %87, "
		"%88, %89, %90, %91, %92, %93, %94, %95, "
		"%96, %97, %98, %99, %100, %101, %102, %103, "
		"%104, %105, %106, %107, %108, %109, %110, %111, "
		"%112, %113, %114, %115, %116, %117, %118, %119, "
		"%120, %121, %122, %123, %124, %125, %126, %127}, "
		"%128, %129, 1, 1, 1, 0, 0;\n"
		"wgmma.commit_group.sync.aligned;\n"
		"wgmma.wait_group.sync.aligned 0;"
		: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
		"+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
		"+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
		"+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
		"+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
		"+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
		"+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
		"+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
		"+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
		"+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
		"+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]),
		"+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
		"+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]),
		"+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
		"+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]),
		"+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
		"+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]),
		"+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]),
		"+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]),
		"+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
		"+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),
		"+f"(d[126]), "+f"(d[127])
		: "l"(a), "l"(b)
		: "memory");
}

extern "C" __global__ void __launch_bounds__(128) matrix(const float *in, float *out, int turns)
{
	__shared__ alignas(128) float tile[8192];
	float d[128];

	for (int i = threadIdx.x; i < 8192; i += 128)
		tile[i] = in[i];
	for (int i = 0; i < 128; i++)
		d[i] = 0;
	__syncthreads();
	for (int i = 0; i < turns; i++)
		multiply(d, shared_address(tile) >> 4, shared_address(tile + 4096) >> 4);
	for (int i = 0; i < 128; i++)
		out[(blockIdx.x * 128 + i) * 128 + threadIdx.x] = d[i];
}
#endif
