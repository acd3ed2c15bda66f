#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recorder on a driver of CUDA 11.3, the first with cuGetProcAddress: the simulated device without what
# later ones export.  Runtimes of 12 and 13 do not run there, but programs that call the driver do.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$build/sim/libcuda.so.1" "$build/lib/libcufence.so"
nm -D "$build/lib/libcufence.so" | grep -q __asan_init && { echo "skipped: objects with a sanitizer"; finish; }
cd "$tmp" || exit 1
version=11030
mkdir sim out
cp "$build/sim/libcupti.so.13" sim/

perl -0ne 'while (/^(?:DRIVER|MORE)(_PT)?\(\s*(\w+),\s*\w+,\s*(\d+)/mg) { print "$2;\n$2_ptsz;\n$2_ptds;\n" if $3 > '$version' }' \
	"$root/trace/calls.def" "$root/sim/cuda_more.def" >newer
sed "s/^local:/local:\ncuGetProcAddress_v2;\n$(tr '\n' ' ' <newer)/" "$root/sim/cuda/libcuda.map" >older.map
cc -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,--version-script=older.map -o sim/libcuda.so.1 \
	"$build"/obj/sim/cuda/*/*.o "$build"/obj/{trace,fatbin,ptx}/*.o -lelf -llz4 -lzstd -ldl -lpthread 2>err
ok "an older driver: $(head -n 3 err)" $?
same "has no newer function" "" "$(nm -D --defined-only sim/libcuda.so.1 | awk '{ print $3 ";" }' | grep -xFf newer)"
has "many are newer" '^[0-9]{3}$' "$(grep -cv _pts newer)"

cat >program.c <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static void *library;

static void *by_name(const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		printf("no %s\n", name);
	return found;
}
#define CALL(name, ...) ((int (*)())by_name(#name))(__VA_ARGS__)

int main(void)
{
	enum { BYTES = 64 << 20 };
	void *context, *stream, *other, *event, *host, *synchronize = NULL;
	uint64_t buffer, scratch;
	int rc = 0;

	library = dlopen("libcuda.so.1", RTLD_NOW);
	rc |= CALL(cuInit, 0);
	rc |= CALL(cuCtxCreate_v2, &context, 0, 0);
	rc |= CALL(cuStreamCreate, &stream, 0);
	rc |= CALL(cuStreamCreate, &other, 1);
	rc |= CALL(cuEventCreate, &event, 2);
	rc |= CALL(cuMemAlloc_v2, &buffer, (size_t)BYTES);
	rc |= CALL(cuMemHostAlloc, &host, (size_t)BYTES, 0);
	rc |= CALL(cuGetProcAddress, "cuStreamSynchronize", &synchronize, 11030, (uint64_t)0);
	for (int i = 0; i < 10 && !rc; i++) {
		rc |= CALL(cuMemAlloc_v2, &scratch, (size_t)4096);
		rc |= CALL(cuMemcpyHtoDAsync_v2, buffer, host, (size_t)BYTES, stream);
		rc |= CALL(cuEventRecord, event, stream);
		rc |= CALL(cuStreamWaitEvent, other, event, 0);
		rc |= CALL(cuMemsetD32Async, buffer, 0, (size_t)1024, other);
		rc |= CALL(cuMemFree_v2, scratch);
		rc |= ((int (*)(void *))synchronize)(other);
	}
	printf("cuGetProcAddress_v2 %s\n", dlsym(library, "cuGetProcAddress_v2") ? "there" : "missing");
	return rc;
}
END
cc -w -std=gnu11 -o program program.c -ldl
ok "a program" $?
LD_LIBRARY_PATH=$tmp/sim ./program >alone
same "runs by itself" "0 cuGetProcAddress_v2 missing" "$? $(cat alone)"
LD_PRELOAD=$build/lib/libcufence.so LD_LIBRARY_PATH=$tmp/sim CUFENCE_OUT=$tmp/out ./program >traced 2>err
same "runs as it does alone" "0 $(cat alone) " "$? $(cat traced) $(cat err)"
"$cufence" load out/*.cft -o older.db 2>err
ok "loads" $?
query() { "$cufence" query older.db "$1"; }
same "all calls are recorded" "cuEventRecord 10|cuMemFree_v2 10|cuMemcpyHtoDAsync_v2 10|cuStreamSynchronize 10|cuStreamWaitEvent 10" \
	"$(query "SELECT name || ' ' || count(*) FROM call JOIN call_type t ON t.id = type WHERE name IN ('cuMemcpyHtoDAsync_v2',
	'cuMemFree_v2', 'cuEventRecord', 'cuStreamWaitEvent', 'cuStreamSynchronize') GROUP BY name ORDER BY name" | paste -sd'|')"
same "and operations" "memcpy 10|memset 10" "$(query "SELECT kind || ' ' || count(*) FROM operation GROUP BY kind ORDER BY kind" | paste -sd'|')"
same "nothing is missing" "" "$(query missing)"
same "frees that waited for the copies" "implicit	10" "$(query "SELECT kind, count(*) FROM wait GROUP BY kind")"
finish
