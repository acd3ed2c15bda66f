/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "short_name.h"

#define AT "at::native::"
#define PARAMETERS "(at::TensorIteratorBase&)"

/* wanted NULL: the name stays. */
struct row {
	const char *scope, *name, *arguments, *wanted;
};

/* Kernels of PyTorch, CuPy and JAX on an H200, some cut; and three by their documentation. */
static const struct row recorded[] = {
	{ "void " AT, "vectorized_elementwise_kernel",
		"4, " AT "CUDAFunctor_add<float>, std::array<char*, 3ul>",
		"add (elementwise, float)" },
	{ "void " AT, "vectorized_elementwise_kernel",
		"8, " AT "FillFunctor<c10::BFloat16>, std::array<char*, 1ul>",
		"fill (elementwise, bfloat16)" },
	{ "void " AT, "vectorized_elementwise_kernel",
		"2, " AT "FillFunctor<unsigned long>, std::array<char*, 1ul>",
		"fill (elementwise, unsigned long)" },
	{ "void " AT, "vectorized_elementwise_kernel",
		"4, " AT "BinaryFunctor<float, float, float, " AT
		"binary_internal::MulFunctor<float> >, std::array<char*, 3ul>",
		"mul (elementwise, float)" },
	{ "void " AT, "vectorized_elementwise_kernel",
		"4, " AT "(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, "
		"c10::Scalar, c10::Scalar, " AT "detail::ClampLimits)::{lambda()#1}::operator()()"
		"::{lambda()#7}::operator()()::{lambda(float)#1}, std::array<char*, 2ul>",
		"clamp_scalar (elementwise, float)" },
	{ "void " AT, "vectorized_elementwise_kernel",
		"8, " AT "BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, " AT
		"(anonymous namespace)::threshold_kernel_impl<c10::BFloat16>" PARAMETERS
		"::{lambda(c10::BFloat16, c10::BFloat16)#1}>, std::array<char*, 3ul>",
		"threshold (elementwise, bfloat16)" },
	{ "void " AT, "vectorized_elementwise_kernel",
		"4, " AT "GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, " AT
		"GeluType)::{lambda()#2}::operator()()::{lambda()#2}::operator()()"
		"::{lambda(float, float)#1}, std::array<char*, 3ul>",
		"gelu_backward (elementwise, float)" },
	{ "void " AT, "elementwise_kernel",
		"128, 2, " AT "gpu_kernel_impl_nocast<" AT "direct_copy_kernel_cuda" PARAMETERS
		"::{lambda()#3}::operator()()::{lambda()#4}::operator()()::{lambda(long)#1}>"
		"(at::TensorIteratorBase&, " AT "direct_copy_kernel_cuda" PARAMETERS
		"::{lambda()#3}::operator()()::{lambda()#4}::operator()()::{lambda(long)#1} const&)"
		"::{lambda(int)#1}",
		"copy (elementwise, long)" },
	{ "void " AT, "reduce_kernel",
		"512, 1, " AT "ReduceOp<long, " AT "func_wrapper_t<long, " AT
		"MaxNanFunctor<long> >, unsigned int, long, 4, 4>",
		"max_nan (reduce, long)" },
	{ "void " AT, "reduce_kernel",
		"128, 4, " AT "ReduceOp<c10::BFloat16, " AT "func_wrapper_t<c10::BFloat16, " AT
		"sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)"
		"::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 8>",
		"sum (reduce, bfloat16)" },
	{ "void " AT, "reduce_kernel",
		"512, 1, " AT "ReduceOp<float, " AT
		"MeanOps<float, float, float, float>, unsigned int, float, 4, 4>",
		"mean (reduce, float)" },
	{ "void " AT "(anonymous namespace)::", "multi_tensor_apply_kernel",
		AT "(anonymous namespace)::TensorListMetadata<2>, " AT
		   "(anonymous namespace)::UnaryOpFunctor<float, 2, 1, 1>, " AT "Sqrt<float>",
		"sqrt (foreach, float)" },
	{ "void (anonymous namespace)::", "elementwise_kernel_with_index",
		"int, " AT "arange_cuda_out(c10::Scalar const&, at::Tensor&)::{lambda()#1}"
		"::operator()()::{lambda()#4}::operator()()::{lambda(long)#1}",
		"arange (elementwise, long)" },
	{ "void cub::CUB_300102_SM_750::detail::reduce::", "DeviceReduceSingleTileKernel",
		"cub::CUB_300102_SM_750::detail::reduce::policy_hub<float, unsigned int, "
		"cuda::std::__4::plus<void> >::Policy1000, float*, float*, int, "
		"cuda::std::__4::plus<void>, float, float, cuda::std::__4::identity",
		"cub reduce single tile (plus, float)" },
	{ "void at_cuda_detail::cub::detail::scan::", "DeviceScanInitKernel",
		"at_cuda_detail::cub::ScanTileState<long, true>", "cub scan init (long)" },
	{ "void thrust::THRUST_300001_SM_900_NS::cuda_cub::core::", "_kernel_agent",
		"thrust::THRUST_300001_SM_900_NS::cuda_cub::__parallel_for::ParallelForAgent<"
		"thrust::THRUST_300001_SM_900_NS::cuda_cub::__uninitialized_fill::functor<"
		"thrust::device_ptr<float>, float>, unsigned long>",
		"thrust uninitialized_fill (float)" },
	{ "void cub::CUB_300001_SM_750::detail::for_each::", "static_kernel",
		"cub::CUB_300001_SM_750::detail::for_each::policy_hub_t::policy_500_t, long, "
		"thrust::THRUST_300001_SM_750_NS::cuda_cub::__fill::functor<"
		"thrust::THRUST_300001_SM_750_NS::device_ptr<float>, float>",
		"thrust fill (float)" },
	{ "void cub::CUB_300001_SM_750::detail::for_each::", "static_kernel",
		"cub::CUB_300001_SM_750::detail::for_each::policy_hub_t::policy_500_t, long, "
		"cub::CUB_300001_SM_750::detail::for_each::op_wrapper_t<long, Clamp, "
		"thrust::THRUST_300001_SM_750_NS::device_ptr<float> >",
		"for_each::static_kernel" },
	{ "void cutlass::", "Kernel2", "cutlass_80_tensorop_s1688gemm_64x128_32x3_nt_align4",
		"gemm (tf32, 64x128x32)" },
	{ "void cutlass::", "Kernel2", "cutlass_80_simt_sgemm_128x256_8x4_nt_align1",
		"gemm (f32, 128x256x8)" },
	{ "void cutlass__5x_cudnn::", "Kernel",
		"cutlass_tensorop_s1688dgrad_optimized_tf32_256x64_16x4_nhwc_align4",
		"conv dgrad (tf32, 256x64x16)" },
	{ "", "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma", "",
		"gemm (f32, 32x32x8)" },
	{ "", "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_warpgroupsize1x1x1", "",
		"gemm (tf32, 128x128x32)" },
	{ "", "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", "",
		"gemm (f16, 128x128x64)" },
	{ "",
		"sm80_xmma_wgrad_implicit_gemm_indexed_wo_smem_tf32f32_tf32f32_f32_nhwckrsc_nhwc_"
		"tilesize16x64x64_stage1_warpsize1x4x1_g1_tensor16x8x8_aligna8_alignc8",
		"", "conv wgrad (tf32, 16x64x64)" },
	{ "", "nvjet_sm90_tst_64x24_64x16_2x4_h_bz_bias_TNT", "", "gemm (bf16, 64x24x64)" },
	{ "", "ampere_sgemm_128x64_nn", "", "gemm (f32, 128x64)" },
	{ "void internal::gemvx::", "kernel", "int, int, float, 8", "gemvx::kernel" },
	{ "void cublasLt::epilogue::impl::", "globalKernel", "8, 32, float",
		"epilogue::globalKernel" },
};

static const struct row stays[] = {
	{ "", "triton_poi_fused_add_mul_0", "", NULL },
	{ "", "loop_multiply_fusion_7", "", NULL },
	{ "", "cupy_sqrt__float32_float32", "", NULL },
	{ "void (anonymous namespace)::", "softmax_warp_forward", "float, float, float, 11, false",
		NULL },
	{ "void ", "implicit_convolve_sgemm", "float, float, 1024, 5, 5, 3, 3, 3, 1", NULL },
	{ "void " AT, "bitonicSortKVInPlace", "2, -1, 16, 16, long, long, " AT "LTOp<long, true>",
		NULL },
	/* A program's own. */
	{ "", "my_gemm_64x64", "", NULL },
	{ "void cufence::", "scale", "float", NULL },
	{ "void ", "reduce_kernel", "float, 256", NULL },
	{ "", "kernel", "", NULL },
	{ "void (anonymous namespace)::", "kernel", "int", NULL },
	/* No names of a compiler. */
	{ "void ", "elementwise_kernel", "<<(", NULL },
	{ "void ", "elementwise_kernel", " , a", NULL },
	{ "void ", "reduce_kernel", "X<", NULL },
	{ "::", "kernel", "::{lambda(", NULL },
	{ "cutlass", "Kernel", "sm90_gemm_x_1x_x1_", NULL },
};

static void expect(const struct row *row, size_t count)
{
	for (; count; count--, row++) {
		struct long_name kernel = { row->scope, row->name, row->arguments };
		char text[SHORT_NAME_MAX];

		assert_int_equal(short_name(&kernel, text), row->wanted != NULL);
		if (row->wanted)
			assert_string_equal(text, row->wanted);
	}
}

TEST(kernels_of_libraries_are_named_by_what_they_compute)
{
	expect(recorded, sizeof(recorded) / sizeof(*recorded));
}

TEST(other_names_stay)
{
	expect(stays, sizeof(stays) / sizeof(*stays));
}

/* Long words are cut. */
TEST(a_name_fits)
{
	char arguments[600] = "", text[SHORT_NAME_MAX];
	struct long_name kernel = { "x::cub::", "DeviceReduceKernel", arguments };

	memset(arguments, 'a', 400);
	strcat(arguments,
		"Functor<unsigned aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>");
	assert_true(short_name(&kernel, text));
	assert_true(strlen(text) < SHORT_NAME_MAX);
	kernel.name = "reduce_kernel";
	assert_true(short_name(&kernel, text));
	assert_true(strlen(text) < SHORT_NAME_MAX);
}
