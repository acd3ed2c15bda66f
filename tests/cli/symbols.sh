#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The places of calls, from the information in the program's files: lines, inlined functions, debug
# files elsewhere, none.
. "$(dirname "$0")/lib.sh" "$@"
helper=$(cd "$(dirname "$0")/../helpers" && pwd)/inlined.c
cufence=$build/bin/cufence
apps=$build/testapps
needs "$cufence" "$apps/double_buffer_simstatic" "$build/tests/helpers/inlined" \
	"$build/sim/libcuda.so.1"
command -v objcopy >/dev/null && command -v strip >/dev/null || finish
cd "$tmp" || exit 1

query() { "$cufence" query cufence.db "$1"; }
trace() { # PROGRAM
	rm -rf cufence.db*
	"$cufence" run --sim --keep-trace -- "$1" >out 2>err
	ok "$1 runs" $?
}
places() { # CALL: where the program made it
	query "SELECT DISTINCT coalesce(s.function, '?') || ' ' || s.text FROM call c
		JOIN call_type t ON t.id = c.type JOIN site s ON s.id = c.site
		WHERE t.name = '$1' AND c.parent IS NULL ORDER BY c.id"
}

# A function that was inlined has a frame of its own, of which the innermost is the place.
trace "$build/tests/helpers/inlined"
line=$(grep -n 'cuda.allocate(' "$helper" | cut -d: -f1)
same "an inlined function" "take inlined.c:$line" "$(places cuMemAlloc_v2)"
same "and those it was inlined into" "take make_room work main" "$(query "SELECT
	group_concat(function, ' ') FROM (SELECT function FROM frame WHERE user = 1 AND line > 0
	AND site = (SELECT site FROM call JOIN call_type t ON t.id = type
		WHERE t.name = 'cuMemAlloc_v2') ORDER BY depth)")"

# A function that ends with a launch left by a jump into the kernel's host stub, which the kernel's
# own name on the host does as well.
if [ -x "$build/tests/helpers/last_act" ]; then
	trace "$build/tests/helpers/last_act"
	line=$(grep -n 'fill<7><<<' "${helper%/*}/last_act.cu" | cut -d: -f1)
	same "a launch as the last act of what is called by address" "launch last_act.cu:$line" \
		"$(places __cudaLaunchKernel)"
fi

# Lambdas are named after the function that they were written in; a toolkit's headers, wherever that
# is and whatever is in them, are no place of the program.
mkdir -p kit/include/thrust
cat >kit/include/cuda_runtime.h <<'END'
extern "C" int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
extern "C" int cuMemAlloc_v2(unsigned long long *, unsigned long), cuMemFree_v2(unsigned long long);
static inline void start() { void *c; cuInit(0); cuDevicePrimaryCtxRetain(&c, 0); cuCtxSetCurrent(c); }
END
cat >kit/include/thrust/work.h <<'END'
static unsigned long long p;
static inline void reduce(int n) { cuMemAlloc_v2(&p, 64 + n); }
END
cat >lambdas.cpp <<'END'
#include <cuda_runtime.h>
#include <thrust/work.h>
struct worker { void step(); };
void worker::step()
{
	auto inner = [](auto n) { auto within = [n] { cuMemAlloc_v2(&p, n); }; within(); };
	inner(64);
}
static void apply(void (*f)(int)) { f(2); }
int main()
{
	start();
	worker().step();
	reduce(1);
	apply([](int n) { cuMemFree_v2(p); });
}
END
if command -v "${CXX:-g++}" >/dev/null; then
	for flags in "-O0 -g" "-O2 -g" "-O0"; do
		${CXX:-g++} $flags -std=c++17 -Ikit/include lambdas.cpp -o lambdas "$build/sim/libcuda.so.1"
		LD_LIBRARY_PATH=$build/sim trace ./lambdas
		case $flags in
		*-g) same "$flags: a lambda in a lambda, a header" \
			"step::{lambda} lambdas.cpp:6 main lambdas.cpp:14" "$(places cuMemAlloc_v2 | xargs)"
			same "$flags: a lambda" "main::{lambda} lambdas.cpp:15" "$(places cuMemFree_v2)" ;;
		*) has "$flags: a lambda in a lambda" '^step::\{lambda\} lambdas\+' "$(places cuMemAlloc_v2)"
			has "$flags: a lambda" '^main::\{lambda\} lambdas\+' "$(places cuMemFree_v2)" ;;
		esac
	done
fi

# The lines may be in a file of their own, in the program's folder or in .debug.
cp "$apps/double_buffer" whole
trace ./whole
lines=$(places cudaFree)
has "with lines" '^destroy_buffer double_buffer.cu:[0-9]+$' "$lines"
objcopy --only-keep-debug whole app.debug && strip -o app whole
objcopy --add-gnu-debuglink=app.debug app
trace ./app
same "debuglink" "$lines" "$(places cudaFree)"
mkdir .debug && mv app.debug .debug/
trace ./app
same "debuglink into .debug" "$lines" "$(places cudaFree)"

# Or in a folder by build id, where a distribution keeps them.
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p "by id/.build-id/${id:0:2}" && mv .debug/app.debug "by id/.build-id/${id:0:2}/${id:2}.debug"
strip -o stripped whole
trace ./stripped
has "no debug file" '^\? stripped\+0x[0-9a-f]+$' "$(places cudaFree)"
export CUFENCE_DEBUGINFO_PATH="$tmp/by id"
trace ./stripped
same "by build id" "$lines" "$(places cudaFree)"
unset CUFENCE_DEBUGINFO_PATH

# Debug information of another build is not used; a stripped file gives module and offset.
objcopy --only-keep-debug "$apps/polling_query" .debug/app.debug
trace ./app
stripped=$(places cudaFree)
has "another program's debug file" '^\? app\+0x[0-9a-f]+$' "$stripped"
rm -r .debug
trace ./app
same "stripped" "$stripped" "$(places cudaFree)"
same "different places stay different" "$(wc -l <<<"$lines")" "$(wc -l <<<"$stripped")"
if command -v addr2line >/dev/null; then
	offset=$(sed -n '1s/.*+//p' <<<"$stripped")
	has "offsets are those of the file" "${lines%%$'\n'*}\$" \
		"destroy_buffer $(addr2line -e whole "$(printf '0x%x' $((offset - 1)))" | sed 's|.*/||')"
fi

# A program that changed after it was traced.
trace ./whole
cp "$apps/polling_query" whole
"$cufence" load cufence.db.traces-*/*.cft
ok "loads again" $?
has "a file that was replaced" '^\? whole\+0x[0-9a-f]+$' "$(places cudaFree)"

# A static runtime is recognized by its frames: calls are named after its functions.
trace "$apps/double_buffer_simstatic"
same "a static runtime" "$lines" "$(query "SELECT DISTINCT s.function || ' ' || s.text FROM call c
	JOIN call_type t ON t.id = c.type JOIN site s ON s.id = c.site
	WHERE t.name = 'cuMemFree_v2' AND s.api = 'cudaFree' ORDER BY c.id")"
finish
