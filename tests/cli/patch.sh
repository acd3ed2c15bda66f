#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "report --patch": the diff applies, and the program that is built from it no longer has the findings.  What is
# not mechanical or may be needed stays, and no source that has changed is patched.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/python" && pwd)
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
# The wait that is left only keeps streams in order: its fix is an event.
same "nothing is left to patch: the last wait of the loop is needed" " 1 of its 300 waits may be needed" \
	"$(cat ../patch) $(sed 's/.*: //' ../err | grep -v 'no mechanical change')"

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

# What a fix adds: a fence, a stream, a threshold.
cat >check.h <<'END'
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) \
	do { \
		if (call) \
			exit(1); \
	} while (0)
END
cat >race.cu <<'END'
#include "check.h"
__global__ void fill(float *x) { x[threadIdx.x] = 1; }
__global__ void add(const float *x, float *sum) { sum[threadIdx.x] += x[threadIdx.x]; }
static float *slots, *sums;
static cudaStream_t producer, consumer;
static void turn(cudaEvent_t filled, int i)
{
	fill<<<1, 32, 0, producer>>>(slots + i * 32);
	CHECK(cudaEventRecord(filled, producer));
	add<<<1, 32, 0, consumer>>>(slots + i * 32, sums + i * 32);
}
int main()
{
	float host[32];
	cudaEvent_t filled;
	CHECK(cudaMalloc(&slots, 1280));
	CHECK(cudaMalloc(&sums, 1280));
	CHECK(cudaMemset(sums, 0, 1280));
	CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 10; i++)
		turn(filled, i);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, sums, 128, cudaMemcpyDeviceToHost));
	printf("%f\n", host[0]);
	return 0;
}
END
cat >given.cu <<'END'
#include "check.h"
__global__ void add(float *x) { x[threadIdx.x] += 1; }
int main()
{
	float host[32], *left, *right;
	cudaStream_t one, other;
	cudaMalloc(&left, 128);
	cudaMalloc(&right, 128);
	cudaStreamCreate(&one);
	cudaStreamCreate(&other);
	for (int i = 0; i < 20; i++) {
		add<<<1, 32, 0, one>>>(left);
		add<<<1, 32, 0, other>>>(right);
		add<<<1, 32, 0, other>>>(right);
		add<<<1, 32>>>(left);
	}
	cudaDeviceSynchronize();
	cudaMemcpy(host, left, 128, cudaMemcpyDeviceToHost);
	printf("%f\n", host[0]);
	return 0;
}
END
cat >pool.cu <<'END'
#include "check.h"
__global__ void fill(float *x) { x[threadIdx.x] = 1; }
int main()
{
	float host = 0, *workspace;
	cudaMemPool_t pool;
	unsigned long long used;
	cudaStream_t stream;
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	for (int i = 0; i < 20; i++) {
		CHECK(cudaMallocAsync(&workspace, 256 << 20, stream));
		fill<<<1, 32, 0, stream>>>(workspace);
		CHECK(cudaMemcpyAsync(&host, workspace, 4, cudaMemcpyDeviceToHost, stream));
		CHECK(cudaFreeAsync(workspace, stream));
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	printf("%f %llu\n", host, used);
	return 0;
}
END
git add .
findings() { "$cufence" query "$1.db" "SELECT count(*) FROM finding WHERE rule = '$2'"; } # NAME RULE
goes() { # WHAT RULE LINES COMMAND...: of a program that has been run; the command runs it again
	same "$1: is found" 1 "$(findings before "$2")"
	cp out was
	"$cufence" report --patch before.db >../patch 2>../err
	same "$1: is patched" "$3" "$(sed -n '/^+[^+]/{s/^+[	 ]*//; p}' ../patch)"
	git apply ../patch
	ok "$1: git applies it" $?
	"${@:4}"
	same "$1: is gone, and what the program prints is as before" "0 $(cat was)" "$(findings after "$2") $(cat out)"
}
made race before
goes "a race" missing-fence "CHECK(cudaStreamWaitEvent(consumer, filled, 0));" made race after
git checkout -q race.cu && sed -i 's/$/\r/' race.cu && touch -d @0 race.cu
"$cufence" report --patch before.db 2>../err | git apply
same "a new line ends as the others" "1 0" "$(grep -c StreamWait race.cu) $(grep -vc $'\r' race.cu)"
git checkout -q race.cu && sed -i '/cudaEventRecord/{h; d}; /^	add/{x; G}' race.cu
sed -i 's/^	fill/	CHECK(cudaStreamWaitEvent(consumer, filled, 0));\n&/' race.cu
made race early
same "a wait that comes too early is not one that is missing" "its fix is no mechanical change" \
	"$("$cufence" report --patch early.db 2>&1 | sed 's/.*: //')"
made given before
goes "work without a stream" legacy-stream-serialization "add<<<1, 32, 0, one>>>(left);" made given after
git checkout -q given.cu
sed -i 's/__global__.*/&\n__global__ void two(float *x, float *y) { x[threadIdx.x] += 1; y[threadIdx.x] += 1; }/
	s/add\(<<<1, 32, 0, one>>>\)(left)/two\1(left, right)/; /other>>>/{h; d}; /32>>>/{p; x; G}' given.cu
made given needed
same "work that keeps others in order" 1 "$(findings needed legacy-stream-serialization)"
same "stays" "operations would no longer be ordered" "$("$cufence" report --patch needed.db 2>&1 | sed 's/.*: //' | sort -u)"
made pool before
goes "a pool's memory" pool-trim "unsigned long long release_threshold = ~0ull;
CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &release_threshold));" made pool after

# --- scripts, with a stand-in for PyTorch ---
python=$(command -v python3) || finish
"$python" -c 'import ctypes, sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 13))' || finish
mkdir -p ../site-packages/torch && cp "$here/streams_of_torch.py" ../site-packages/torch/__init__.py
cat >train.py <<'END'
import torch


def step(side, batch, out):
    with torch.cuda.stream(side):
        batch.fill_(1)

    out.copy_(batch)


def turns(other, batch, out):
    for turn in range(20):
        side = torch.cuda.Stream() if turn == 0 else side
        with torch.cuda.stream(side):
            batch.fill_(1)
        with torch.cuda.stream(other):
            out.copy_(
                batch
            )
        torch.cuda.synchronize()


batch, out = torch.Tensor(), torch.Tensor()
side, other = torch.cuda.Stream(), torch.cuda.Stream()
for turn in range(20):
    step(side, batch, out)
    torch.cuda.synchronize()
turns(other, batch, out)
END
cat >reuse.py <<'END'
import torch


def turn(side, out):
    batch = torch.Tensor(block)
    batch.fill_(1)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out.copy_(batch)
    fresh = torch.Tensor(block)
    fresh.fill_(0)
    torch.cuda.synchronize()


block, out = torch.Tensor(), torch.Tensor()
main, side = torch.cuda.Stream(), torch.cuda.Stream()
with torch.cuda.stream(main):
    for i in range(20):
        turn(side, out)
END
git add .
script() { # PROGRAM NAME
	PYTHONPATH=../site-packages "$cufence" run --sim --quiet -o "$2.db" -- "$python" -B "$1.py" >out 2>err
	ok "$1.py $2: runs" $?
}
script train before
goes "a race of a script" missing-fence "torch.cuda.current_stream().wait_stream(side)
other.wait_stream(side)" script train after
git checkout -q train.py
script train before
same "without its fence the race is back" 1 "$(findings before missing-fence)"
"$python" -c 'import sqlite3; sqlite3.connect("before.db", isolation_level=None).execute(
	"UPDATE hazard SET confidence = ?", ["likely"])'
same "a race that is not certain stays" "" "$("$cufence" report --patch before.db 2>../err)"
sed -i 's/ = torch.cuda.Stream() if .*/ = (s, other)[turn % 2]/; s/with torch.cuda.stream(other)/if turn >= 0/
	s/def turns(other,/def turns(s, other,/; s/^turns(/turns(side, /; /^for turn/,/^    torch/d' train.py
script train turns
same "a stream of another turn is not named" "the other line uses several streams" \
	"$("$cufence" report --patch turns.db 2>&1 | sed 's/.*: //' | grep -v 'no mechanical change' | sort -u)"
script reuse before
same "memory that a stream still uses" "+        batch.record_stream(side)" \
	"$("$cufence" report --patch before.db 2>../err | grep "^+ ")"
finish
