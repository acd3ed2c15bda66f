#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence check --forbid": calls of the program's own code that policies forbid, of programs and of a
# script; whose code is its own, what suppressions allow, traces without operations, mistakes.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/python" && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/lib/libcufence.so" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
all=default-stream,sync,pageable-copy,free,device-wide
block() { printf '%s\n' "$@" ''; }

check() { # TEXT STATUS OPTION...: stdout in out, stderr in err
	local text=$1 wanted=$2
	shift 2
	"$cufence" check "$@" >out 2>err
	same "$text" "$wanted" $?
}
lines() { sed -E 's,^[^ ]*/,,; s/\.cu:[0-9]+/.cu/; s/^(    called by [^ ]*).*/\1/' out; }

refuses() { # TEXT MESSAGE OPTION...
	local text=$1 message=$2
	shift 2
	check "$text" 2 "$@"
	has "$text: why" "$message" "$(cat err)"
	same "$text: nothing else" "" "$(cat out)"
}
refuses "an unknown policy" "no policy 'syncs': it is default-stream, sync, " --forbid sync,syncs x.db
refuses "no policy" "no policy ''" --forbid '' x.db
refuses "of findings: severity" 'judges calls, not findings: leave out --fail-on' --forbid sync --fail-on high x.db
refuses "of findings: baseline" 'leave out --baseline' --forbid sync --baseline base x.db
refuses "of calls: own" '--own is for --forbid only' --own '*.so' x.db
refuses "of calls: captured" '--captured is for --forbid only' --captured x.db
refuses "own, an empty variable" '--own needs a pattern' --forbid sync --own '' x.db
refuses "a format" '--format is text or github' --forbid sync --format sarif x.db

# --- a compiled program, recorded with operations and without ---
program=$build/testapps/free_in_loop
if [ -x "$program" ]; then
	"$cufence" run --sim --quiet -o full.db -- "$program" >/dev/null 2>&1
	"$cufence" run --sim --quiet --mode host -o host.db -- "$program" >/dev/null 2>&1
	for mode in full host; do
		check "$mode: calls fail" 1 --forbid "$all" $mode.db
		same "$mode: each place, with its callers and how often" \
			'free_in_loop.cu: default-stream in main: cudaMemset, 1 time
free_in_loop.cu: sync, device-wide in main: cudaDeviceSynchronize, 1 time
free_in_loop.cu: free, device-wide in free_scratch: cudaFree, 30 times
    called by smooth_tiles
    called by main
free_in_loop.cu: sync, device-wide in smooth_tiles: cudaDeviceSynchronize, 1 time
    called by main
free_in_loop.cu: default-stream, sync, pageable-copy in print_result: cudaMemcpy, 1 time
    called by main
free_in_loop.cu: free, device-wide in main: cudaFree, 1 time' "$(lines)"
		has "$mode: counts" "^cufence check: $mode.db: 35 forbidden calls from 6 places; places allowed: 0;" "$(cat err)"
	done
	check "findings need operations" 2 host.db
	check "one policy" 1 --forbid free full.db
	same "nothing but frees" "2 31" "$(grep -c ': free in ' out) $(awk '/times?$/ { sum += $(NF - 1) } END { print sum }' out)"
	check "where nothing is its own" 0 --forbid "$all" --own '*/elsewhere.so' full.db
	has "all calls are nobody's" 'no forbidden call; places allowed: 0; calls without code of the program: 3[5-9]$' "$(cat err)"
	check "a relative pattern" 1 --forbid free --own none,free_in_loop full.db

	# --- what is allowed ---
	block 'rule: free' 'function: free_scr*' 'reason: scratch' >byfunction
	check "by function" 1 --forbid free --suppressions byfunction full.db
	same "the other one is left" 'free_in_loop.cu: free in main: cudaFree, 1 time' "$(lines)"
	has "it is counted" '1 place; places allowed: 1;' "$(cat err)"
	has "with its reason" '^    allowed     free: scratch$' "$(cat err)"
	check "of one policy only" 1 --forbid free,device-wide --suppressions byfunction full.db
	has "the other policy is left" ' device-wide in free_scratch: cudaFree, 30 times' "$(cat out)"
	block 'rule: free' 'file: free_in_loop.cu' 'reason: a test' >byfile
	check "by file" 0 --forbid free --suppressions byfile full.db
	same "nothing is left" "" "$(cat out)"
	block 'rule: free' 'file: other/*.cu' 'function: free_scratch' 'reason: both' >both
	check "by both, one of which is another" 1 --forbid free --suppressions both full.db
	has "unused" '^both:1: warning: unused suppression: .*free in free_scratch of other/\*\.cu$' "$(cat err)"
	check "not unused if nobody asked" 1 --forbid sync --suppressions both full.db
	same "no warning" "" "$(grep warning err)"
	check "nor for findings" 1 --suppressions both full.db
	same "no warning there" "" "$(grep warning err)"
	block 'rule: blocking-free' 'file: free_in_loop.cu' 'reason: known' >finding
	check "a finding by its file" 0 --suppressions finding --fail-on blocking-free full.db
	has "it is suppressed" '1 suppressed;' "$(cat err)"
	block 'rule: free' 'function: *' 'reason: x' 'until: 2020-01-01' >past
	check "past its day" 1 --forbid free --suppressions past full.db
	has "is said" 'the suppression of free in \* ended on 2020-01-01' "$(cat err)"
	block 'rule: free' 'reason: x' >nowhere
	check "without a place" 2 --forbid free --suppressions nowhere full.db

	check "annotations" 1 --forbid free --format github full.db
	has "of a line" '^::error file=testapps/free_in_loop.cu,line=[0-9]+,title=free::free_scratch: cudaFree, 30 times%0Acalled by smooth_tiles \(.*%0Acalled by main \(' "$(cat out)"
	check "redacted" 1 --forbid free --redact full.db
	same "no folder" "" "$(grep / out)"
	check "redacted, allowed by whole paths" 0 --forbid free --redact --suppressions byfile full.db
	"$cufence" query full.db "SELECT 1" >/dev/null
	ok "the database is as it was" $?
fi

# --- a script ---
python=$(command -v python3) || finish
"$python" -c 'import ctypes, sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 13))' || finish
mkdir -p site-packages
cat >site-packages/package.py <<'PACKAGE'
import threading


def wait(cuda, stream):
    cuda.cuStreamSynchronize(stream)


def wait_in_thread(cuda, stream):
    thread = threading.Thread(target=wait, args=(cuda, stream))
    thread.start()
    thread.join()
PACKAGE
"$cufence" run --sim --quiet -o script.db -- "$python" "$here/policies.py" "$tmp" 2>/dev/null
at() { grep -n "# $1\$" "$here/policies.py" | cut -d: -f1; } # MARK: its line
check "a script" 1 --forbid "$all" script.db
same "its own lines: no query, no capture, no free in stream order or of nothing" \
	"policies.py:$(at 'default stream'): default-stream in <module>: cuMemsetD8Async, 1 time
policies.py:$(at 'by a package'): sync in <module>: cuStreamSynchronize, 1 time
policies.py:$(at upload): sync, pageable-copy in upload: cuMemcpyHtoDAsync, 1 time
    called by <module>
policies.py:$(at free): free, device-wide in <module>: cuMemFree, 1 time" "$(lines)"
has "the package's thread is nobody's" 'calls without code of the program: 1$' "$(cat err)"
"$cufence" run --sim --quiet --mode host -o calls.db -- "$python" "$here/policies.py" "$tmp" 2>/dev/null
mv out with
check "without operations" 1 --forbid "$all" calls.db
same "the same" "$(cat with)" "$(cat out)"
block 'rule: free' 'function: <module>' 'reason: x' >calls
check "what allows calls, for findings" 0 --fail-on none --suppressions calls script.db
same "is not unused there" "" "$(grep warning err)"
check "captured calls" 1 --forbid pageable-copy --captured script.db
same "count as well" "policies.py:$(at upload): pageable-copy in upload: cuMemcpyHtoDAsync, 1 time
    called by capture
    called by <module>
policies.py:$(at upload): pageable-copy in upload: cuMemcpyHtoDAsync, 1 time
    called by <module>" "$(lines)"
check "the package" 1 --forbid sync --own 'site-packages/package.py' script.db
same "its own code" 'package.py:5: sync in wait: cuStreamSynchronize, 2 times' "$(lines | grep -v '^    ')"
check "the package breaks no other policy" 0 --forbid default-stream,pageable-copy,free,device-wide \
	--own 'site-packages/package.py' script.db
finish
