#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "report --patch": the diff applies, and the program that is built from it no longer has the findings.  What is
# not mechanical or may be needed stays, and no source that has changed is patched.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
needs "$cufence"
command -v git >/dev/null || { echo "skipped: no git"; finish; }
cd "$tmp" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

load() { # NAME: a trace as text, from standard input
	"$cufence" undump - -o "$1.cft" && "$cufence" load "$1.cft" -o "$1.db" 2>err
	ok "$1: is loaded" $?
}

numbered() { # LINE TEXT...: a file that has these lines, each between two statements
	awk -v wanted="$*" 'BEGIN {
		count = split(wanted, part, "|")
		for (i = 1; i < count; i += 2) line[part[i] + 0] = part[i + 1]
		for (i = 1; i <= 70; i++) print i in line ? line[i] : "x = " i ";"
	}'
}

# --- recorded on a GPU: the sources are made to fit ---

mkdir -p repository/testapps && git -C repository init -q
golden_text repeated_sync | load syncs
source=repository/testapps/repeated_sync.cu
numbered '22|CHECK(cudaStreamSynchronize(stream));|27|	CHECK(cudaDeviceSynchronize()); // why|' >$source
(cd repository && "$cufence" report --patch ../syncs.db >../patch 2>../err)
same "a source newer than the run is refused" \
	"2 cufence: 'testapps/repeated_sync.cu' has changed since the run: run the program again for a patch" \
	"$? $(grep changed err)"
same "and nothing is patched" "" "$(cat patch)"
touch -d @0 $source
(cd repository && "$cufence" report --patch ../syncs.db >../patch 2>../err)
same "an older one is not" "0 cufence: no patch for finding 1 at repeated_sync.cu:27: the line holds more than the call" \
	"$? $(cat err)"
same "only the other line goes" "--- a/testapps/repeated_sync.cu
+++ b/testapps/repeated_sync.cu
@@ -19,7 +19,6 @@
 x = 19;
 x = 20;
 x = 21;
-CHECK(cudaStreamSynchronize(stream));
 x = 23;
 x = 24;
 x = 25;" "$(cat patch)"
cp $source before
git -C repository apply ../patch && diff before $source >changes
same "git applies it" "22d21" "$(head -n 1 changes)"
numbered '22|CHECK(cudaStreamSynchronize(stream));|27|cudaDeviceSynchronize();' | sed 's/$/\r/' >$source
touch -d @0 $source
(cd repository/testapps && "$cufence" report --format patch ../../syncs.db 2>../../err)
same "a source is looked for from the current folder" "1" "$(grep -c 'repeated_sync.cu:22: its source cannot be read' err)"
(cd repository && "$cufence" report -o ../fix.patch ../syncs.db && git apply ../fix.patch)
same "a file's ending is enough; line ends are kept" "0 68 68" "$? $(wc -l <$source) $(grep -c $'\r' $source)"
mkdir site-packages && numbered '22|CHECK(cudaStreamSynchronize(stream));' >site-packages/a.cu
golden_text repeated_sync | sed "s|testapps/repeated_sync.cu|$tmp/site-packages/a.cu|" | load package
"$cufence" report --patch package.db >patch 2>err
same "a package is not patched" "0 2 " "$? $(grep -c "it is a package's" err) $(cat patch)"
golden_text repeated_sync | sed "s|testapps/repeated_sync.cu|$tmp/$source|" | load outside
mkdir empty && (cd empty && "$cufence" report --patch ../outside.db >../patch 2>../err)
same "nor what lies outside of the current folder" "2 " "$(grep -c 'not below the current folder' err) $(cat patch)"
"$cufence" report --patch --format json syncs.db 2>err
same "a patch is a format" "2 cufence: --patch is a format: leave out --format" "$? $(cat err)"

# A script that copies from memory that is not pinned, to the device and to the host.
golden_text pageable_async_upload | sed 's|testapps/pageable_async_upload.cu|train.py|' | load upload
numbered '33|x = batch.to(device, non_blocking=True)' >train.py
touch -d @0 train.py
same "memory is pinned" "+x = batch.pin_memory().to(device, non_blocking=True)" \
	"$("$cufence" report --patch upload.db 2>err | grep '^+x')"
golden_text pageable_async_copy | sed 's|testapps/pageable_async_copy.cu|fetch.py|' | load fetch
numbered '59|x = batch.to(host, non_blocking=True)' >fetch.py
touch -d @0 fetch.py
same "but not for a copy to the host" "1" \
	"$("$cufence" report --patch fetch.db 2>&1 | grep -c 'other work than copies from pageable memory')"
golden_text free_in_loop | load frees
same "other fixes are no mechanical change" "1" "$("$cufence" report --patch frees.db 2>&1 | grep -c 'no mechanical')"

# --- built, run, patched, built and run again ---

[ -x "$nvcc" ] && [ -e "$build/sim/libcuda.so.1" ] && [ -e "$build/lib/libcufence.so" ] || { echo "skipped: no nvcc or simulator"; finish; }
cat >repository/app.cu <<'END'
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) \
	do { \
		if (call) \
			exit(1); \
	} while (0)
__global__ void add(float *x) { x[threadIdx.x] += 1; }
static float *data;
static cudaStream_t one, other;
static void in_turn()
{
	for (int i = 0; i < 300; i++) {
		add<<<1, 32, 0, one>>>(data);
		CHECK(cudaStreamSynchronize(one));
		CHECK(cudaDeviceSynchronize());
		add<<<1, 32, 0, other>>>(data);
		CHECK(cudaStreamSynchronize(other));
	}
}
static void step()
{
	add<<<1, 32, 0, one>>>(data);
	CHECK(cudaStreamSynchronize(one));
}
int main()
{
	float host[32];
	CHECK(cudaMalloc(&data, 128));
	CHECK(cudaMemset(data, 0, 128));
	CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaDeviceSynchronize());
	in_turn();
	for (int i = 0; i < 300; i++) {
		step();
		CHECK(cudaStreamSynchronize(one));
	}
	CHECK(cudaMemcpy(host, data, 128, cudaMemcpyDeviceToHost));
	printf("%f\n", host[0]);
	return 0;
}
END
cat >repository/streams.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(float *x) { x[threadIdx.x] += 1; }
int main()
{
	float host[32], *left, *right, *particles;
	cudaStream_t one, other;
	cudaMalloc(&left, 128);
	cudaMalloc(&right, 128);
	cudaMalloc(&particles, 128);
	cudaStreamCreate(&one);
	cudaStreamCreate(&other);
	for (int i = 0; i < 20; i++) {
		add<<<1, 32, 0, one>>>(left);
		add<<<1, 32, 0, other>>>(right);
		add<<<1, 32>>>(particles);
	}
	cudaDeviceSynchronize();
	cudaMemcpy(host, left, 128, cudaMemcpyDeviceToHost);
	printf("%f\n", host[0]);
	return 0;
}
END
cd repository && git add . || exit 1
made() { # PROGRAM NAME: built and run, with kernels that take long
	"$nvcc" -O1 -g -cudart shared -arch=sm_75 "$1.cu" -o "$1" 2>err &&
		CUFENCE_SIM_KERNEL_US=${us:-10} "$cufence" run --sim --quiet -o "$2.db" -- "./$1" >out 2>err
	ok "$2: runs" $?
}
needless() { # NAME: functions that wait needlessly
	"$cufence" query "$1.db" "SELECT group_concat(DISTINCT s.function) FROM finding f
		JOIN finding_place p ON p.finding = f.id JOIN site s ON s.id = p.site
		WHERE f.rule IN ('needless-wait', 'redundant-sync')" | tr , '\n' | sed 's/(.*//' | sort | xargs
}
made app first
same "there are needless waits" "in_turn main step" "$(needless first)"
"$cufence" report --patch first.db >../patch 2>../err
ok "a patch is made" $?
same "one of two waits that cover the same work stays" "-CHECK(cudaDeviceSynchronize());
-CHECK(cudaStreamSynchronize(one));" "$(sed -n '/^-	/{s/	//g; p}' ../patch)"
git apply ../patch
ok "git applies it" $?
same "each line where it was" "2" "$(git diff --numstat app.cu | cut -f 2)"
made app second
same "the findings of these lines are gone" "step" "$(needless second)"
"$cufence" report --patch second.db >../patch 2>../err
same "nothing is left to patch: the last wait of the loop is needed" " 1 of its 300 waits may be needed" \
	"$(cat ../patch) $(sed 's/.*: //' ../err)"

# Streams do not block if nothing but the legacy default stream's own work is kept waiting.
legacy() { "$cufence" query "$1.db" "SELECT count(*) FROM finding WHERE rule = 'legacy-stream-serialization'"; }
us=500
made streams blocking
same "the legacy default stream delays others" "1" "$(legacy blocking)"
"$cufence" report --patch blocking.db 2>../err | git apply
same "its streams are made non-blocking" "	cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);" "$(grep StreamCreate streams.cu)"
made streams free
same "and nothing is delayed" "0" "$(legacy free)"
git checkout -q streams.cu && sed -i '/DeviceSync/d' streams.cu
made streams needed
"$cufence" report --patch needed.db >../patch 2>../err
same "a stream that the last copy must come after still blocks" "streams.cu:11: operations would no longer be ordered" \
	"$(sed 's/.* at //' ../err)"
same "the other one does not" "+	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);" "$(grep '^+	' ../patch)"
finish
