#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The place of a kernel's launch is the line with <<<>>>, however the host calls it and the compiler
# inlines it: NVIDIA's stubs between the two differ with the kernel's linkage and the optimization.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
needs "$cufence" "$build/lib/libcufence.so" "$build/sim/libcuda.so.1"
[ -x "$nvcc" ] || { echo "no nvcc"; finish; }
cd "$tmp" || exit 1
cat >kinds.cu <<'EOF'
namespace { __global__ void anonymous_kernel(float *x) { x[0] = 1; } }
static __global__ void static_kernel(float *x) { x[0] = 1; }
__global__ void plain_kernel(float *x) { x[0] = 1; }
template <class T> __global__ void template_kernel(T *x) { x[0] = 1; }
namespace { template <int N> __global__ void hidden_template(float *x) { x[0] = N; } }
struct box { float a[40]; };
static __global__ void box_kernel(box b, float *x) { x[0] = b.a[3]; }
namespace inner { __global__ void scoped_kernel(int n, float *x) { x[n] = 1; } }
template <class T> static void launch_for(T *x)
{
	template_kernel<T><<<1, 1>>>(x);
}
int main()
{
	float *p;
	cudaStream_t s;

	cudaMalloc(&p, 64);
	cudaStreamCreate(&s);
	for (int i = 0; i < 3; i++) {
		anonymous_kernel<<<1, 1>>>(p);
		static_kernel<<<1, 1>>>(p);
		plain_kernel<<<1, 1, 0, s>>>(p);
		hidden_template<7><<<1, 1>>>(p);
		box_kernel<<<1, 1>>>(box(), p);
		inner::scoped_kernel<<<1, 1>>>(i, p);
		launch_for((double *)p);
	}
	return cudaDeviceSynchronize();
}
EOF
wanted() { # WITH LINES: kernel and place of each launch, as the source has them
	sed -n '/<<</!b; s/<.*//; s/.*[:\t]//; p' kinds.cu | while read -r kernel; do
		case $kernel$1 in
		template_kernelno) echo "$kernel ?" ;; # launch_for() may be inlined: then main
		*no) echo "$kernel main" ;;
		*) echo "$kernel kinds.cu:$(grep -n "$kernel.*<<<" kinds.cu | cut -d: -f1)" ;;
		esac
	done | sort
}

found() { # WITH LINES
	local place="s.text"
	[ "$1" = yes ] || place="CASE WHEN k.name = 'template_kernel' AND s.function IN ('main', 'launch_for')
		THEN '?' ELSE s.function END"
	"$cufence" query places.db "SELECT DISTINCT k.name || ' ' || $place FROM operation o
		JOIN kernel k ON k.id = o.kernel JOIN call c ON c.id = o.call JOIN site s ON s.id = c.site" | sort
}

check() { # WITH LINES, FLAGS...
	local lines=$1
	shift
	"$nvcc" -cudart shared "$@" kinds.cu -o kinds >log 2>&1 || cat log
	rm -f places.db*
	LD_LIBRARY_PATH=$build/sim "$cufence" run --sim -o places.db -- ./kinds >out 2>err
	ok "$*: runs" $?
	same "$*: places" "$(wanted "$lines")" "$(found "$lines")"
}

same "kernels in the test" 7 "$(wanted yes | wc -l)"
check no -O0
check yes -O0 -g
check no -O2
check no -O2 -lineinfo # of device code only
check yes -O2 -g
finish
