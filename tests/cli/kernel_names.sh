#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Output for people distinguishes kernels that are instances of one template by their arguments; the
# database and its views for Nsight's queries have their whole names.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

load() { # NAME OTHER...: the kernel of a program that waits for it, and others that it knows
	local name=$1 handle=1
	shift
	for other in "$@"; do
		echo "function handle=0x$((handle++)) parameters=0+8 name=\"$other\""
	done >others
	golden_text copy_in_pipeline | sed "s/name=\"_ZN7cufence5scale[^\"]*\"/name=\"$name\"/; /^function/ { r others
		}" >names.txt
	"$cufence" undump names.txt -o names.cft && "$cufence" load names.cft -o names.db
	ok "load with $name" $?
}
waits_for() { "$cufence" report names.db | sed -n "s/.* waited .* for kernel '\(.*\)' on stream.*/\1/p"; }
labels() { "$cufence" query names.db "SELECT label FROM kernel_name ORDER BY label"; }

load _Z5scaleIfEvPT_
same "an instance alone" scale "$(waits_for)"
same "its whole name" 'void scale<float>(float*)' "$("$cufence" query names.db \
	"SELECT DISTINCT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName")"
same "its short name" 'scale' "$("$cufence" query names.db \
	"SELECT DISTINCT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName")"
known=$("$cufence" query names.db fingerprints)

load _Z5scaleIfEvPT_ _Z5scaleIdEvPT_
same "one of two" "scale<float>" "$(waits_for)"
same "fingerprints are as before" "$known" "$("$cufence" query names.db fingerprints)"

many=N4someI4manyIiiEEE5names6nested2in9functions
load "_Z5scaleI${many}IiELi3E6secondLb1EEvPT_" "_Z5scaleI${many}IiELi3E5firstLb1EEvPT_"
same "long ones, from where they differ" "scale<..., first, true>
scale<..., second, true>" "$(labels)"

# PyTorch's, with all that three kernels of a run differ in.
add=NS0_15CUDAFunctor_addIfEE
add_some=_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implI${add}EEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_
add_four=_ZN2at6native29vectorized_elementwise_kernelILi4E${add}St5arrayIPcLm3EEEEviT0_T1_
add_eight=_ZN2at6native29vectorized_elementwise_kernelILi8E${add}St5arrayIPcLm3EEEEviT0_T1_
gemm=sm80_xmma_gemm_f32f32_f32f32_f32
load "$add_four"
same "what a functor's kernel computes" "add (elementwise, float)" "$(waits_for)"
ok "its whole name on request" "$("$cufence" report --full-names names.db |
	grep -qF "for kernel 'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
	echo $?)"
ok "and at each place" "$("$cufence" report --full-names names.db |
	grep -q 'for .*launch of void at::native::vectorized_elementwise_kernel<4'
	echo $?)"
"$cufence" report --format json names.db >names.json
same "JSON has both" "add (elementwise, float)|void at::native::vectorized" "$(sqlite3 :memory: "SELECT
	value ->> 'name' || '|' || substr(value ->> 'whole', 1, 27)
	FROM json_each(readfile('names.json'), '\$.kernels') WHERE value ->> 'name' LIKE 'add%'")"
load "$add_some" "$add_four" "$add_eight" ${gemm}_nn_n_tilesize64x64x8_stage3 ${gemm}_nt_n_tilesize64x64x8_stage3 \
	${gemm}_nn_n_tilesize32x32x8_stage3 triton_poi_fused_add_mul_0
same "kernels that compute the same, by what differs" "add (elementwise, float)
add (elementwise, float, vectorized, 4)
add (elementwise, float, vectorized, 8)
gemm (f32, 32x32x8)
gemm (f32, 64x64x8, nn)
gemm (f32, 64x64x8, nt)
triton_poi_fused_add_mul_0" "$(labels)"
load "${gemm}_nn_n_tilesize64x64x8_a_b" "${gemm}_nn_n_tilesize64x64x8_b_a"
same "else by a number" "gemm (f32, 64x64x8)
gemm (f32, 64x64x8) #2" "$(labels)"

# The operator of PyTorch is the outermost one of the libraries' functions on the stack.
operator() { # FUNCTION...: the innermost first, of the wait and the launch that it waited for
	"$cufence" undump names.txt -o names.cft && "$cufence" load names.cft -o names.db
	sqlite3 names.db "UPDATE module SET path = '/lib/libtorch_cpu.so' WHERE path LIKE '%/libm.so%'"
	for name; do
		sqlite3 names.db "INSERT INTO frame (site, depth, address, module, function, user)
			SELECT s.id, (SELECT max(depth) + 1 FROM frame WHERE site = s.id), m.start, m.id, '$name', 0
			FROM site s JOIN module m ON m.path LIKE '%libtorch%'"
	done
	"$cufence" report names.db | sed -n 's/^ *\(at\|for\) .*, \([a-zA-Z:._0-9]*\)$/\1 \2/p'
}
same "an operator's call" "at aten::max
for aten::max" "$(operator wrapper_CUDA_amax aten::max THPVariable_max)"
same "JSON has it" aten::max "$("$cufence" report --format json names.db >names.json
	sqlite3 :memory: "SELECT readfile('names.json') ->> '\$.findings[0].at.operator'")"
same "its implementation" "at aten::_local_scalar_dense
for aten::_local_scalar_dense" "$(operator wrapper_CUDA___local_scalar_dense)"
same "and its overload" "at aten::add_.Tensor
for aten::add_.Tensor" "$(operator wrapper_CUDA_add__Tensor)"
same "a node of autograd" "at MulBackward0
for MulBackward0" "$(operator wrapper_CUDA_mul_Tensor MulBackward0_apply_functional)"
same "no operator" "" "$(operator THPVariable_max Backward backward main)"

# Variables have the names that the program gives them.
golden_text missing_fence_raw >race.txt
"$cufence" undump race.txt -o race.cft && "$cufence" load race.cft -o race.db
ok "load a race" $?
variable() { # MANGLED: as the report has it
	sqlite3 race.db "DELETE FROM variable; INSERT INTO variable SELECT allocation, 1, 1, '$1'
		FROM hazard GROUP BY allocation"
	"$cufence" report race.db | sed -n "s/.* of variable '\(.*\)'$/\1/p" | sort -u
}
same "a plain variable" counter "$(variable counter)"
same "a variable of a namespace" table::value "$(variable _ZN5table5valueE)"
same "a variable of a file's own" own \
	"$(variable _ZN40_INTERNAL_3f2a1c8e_7_vars_cu_8e1a0a5b_123ownE)"
finish
