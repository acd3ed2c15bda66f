#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whatever goes wrong, the program behaves as without the recorder, and the trace says which parts are
# missing: programs that crash, full disks, failed allocations, errors of CUPTI.
# ON_GPU=1 takes this machine's CUDA instead of the simulated one.
. "$(dirname "$0")/lib.sh" "$@"
helpers=$build/tests/helpers
helper=$helpers/faults
cufence=$build/bin/cufence
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
libraries=$build/sim
[ -z "${ON_GPU:-}" ] || libraries=${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH=$libraries
recorder=$build/lib/libcufence.so
sanitizer=
nm -D "$recorder" | grep -q __asan_init && sanitizer=$(${CC:-gcc} -print-file-name=libasan.so)
preload="$sanitizer $recorder"
# How much of a trace survives a kill at any moment is no question for sanitizers.
kills=${KILLS:-200}
[ -z "$sanitizer" ] || kills=${KILLS:-40}

bare() { # ARGUMENTS...: output and status of the helper without the recorder
	LD_PRELOAD=$sanitizer timeout 20 "$helper" "$@" 2>/dev/null
	echo "status $?"
}

traced() { # FOLDER ARGUMENTS...: the same with it; its messages are in FOLDER.err
	local folder=$1
	shift
	mkdir -p "$folder"
	CUFENCE_OUT=$folder LD_PRELOAD="${first:-} $preload" timeout 20 "$helper" "$@" 2>"$folder.err"
	echo "status $?"
}

messages() { # FOLDER: how many lines the recorder wrote to stderr
	grep -c '^cufence' "$1.err"
}

reads() { # FOLDER: whether every trace in it does
	local file
	for file in "$1"/*.cft; do
		"$cufence" dump "$file" >/dev/null || return 1
	done
}

report() { # FOLDER: what the report says of its traces, then the status of check
	"$cufence" load "$1"/*.cft -o "$1.db" 2>&1 && "$cufence" report "$1.db" 2>&1
	"$cufence" check --fail-on none "$1.db" >/dev/null 2>&1
	echo "check $?"
}

incomplete() { # NAME FOLDER PATTERN: the report says so and why, and check fails
	local said
	said=$(report "$2")
	has "$1: the report says what is missing" "incomplete: .*$3" "$said"
	has "$1: check fails" '^check 2$' "$said"
}

# --- ends ---
for mode in abort quick_exit thread_exit main_exit destructors; do
	same "$mode: output and status" "$(bare $mode 2>/dev/null)" "$(traced "$tmp/$mode" $mode 2>/dev/null)"
	reads "$tmp/$mode"
	ok "$mode: the trace reads" $?
	same "$mode: nothing said" 0 "$(messages "$tmp/$mode")"
done 2>/dev/null
incomplete abort "$tmp/abort" 'exited abnormally'
for mode in quick_exit thread_exit main_exit destructors; do
	has "$mode: complete" '^check 0$' "$(report "$tmp/$mode")"
done
# The driver leaves by a handler of its own: what is registered before it comes too late for CUDA.
same "destructors: how far they come" "0 0 4 4" \
	"$(bare destructors 2>/dev/null | sed -n 's/^[mhd].*: \([0-9]*\), bad.*/\1/p' | paste -sd' ')"
has "destructors: their operations too" '^device_operations 20$' \
	"device_operations $("$cufence" dump "$tmp"/destructors/*.cft | grep -c '^device kind=3 ')"

# --- no device memory left: all is recorded, or the report says what is missing ---
same "device memory full: output and status" "$(bare full_memory 100)" "$(traced "$tmp/full" full_memory 100)"
same "device memory full: nothing said" 0 "$(messages "$tmp/full")"
if [ "$("$cufence" dump "$tmp"/full/*.cft | grep -c '^device kind=3 ')" -eq 100 ]; then
	has "device memory full: complete" '^check 0$' "$(report "$tmp/full")"
else
	incomplete "device memory full" "$tmp/full" 'device'
fi

# --- the trace's descriptor is closed, and the number another file's ---
# NVIDIA's driver goes on with the numbers of its own, whosever they are by then.
if [ -z "${ON_GPU:-}" ]; then
	(cd "$tmp" && traced closed close_all 5000 >closed.out)
	same "descriptors closed: output and status" "$(bare close_all 5000)" "$(cat "$tmp/closed.out")"
	has "descriptors closed: no file of the program's was written" '^0 of 20 files' \
		"$(cat "$tmp/closed.out")"
	has "descriptors closed: complete" '^check 0$' "$(report "$tmp/closed")"
fi

# --- somebody cuts the trace while it is written: SIGBUS stays the program's ---
if [ -z "$sanitizer" ]; then
	helper=$helpers/bus_error
	declare -A uncut # without the recorder there is nothing to cut
	for CUT_BYTES in 0 5000 half; do
		for mode in work threads before after reset sent fault vfork fork; do
			name=cut_${CUT_BYTES}_$mode
			export CUT_BYTES CUT_FOLDER=$tmp/$name
			mkdir "$tmp/$name"
			[ -n "${uncut[$mode]:-}" ] || uncut[$mode]=$(bare $mode 2>&1)
			same "$name: output and status" "${uncut[$mode]}" "$(traced "$tmp/$name" $mode 2>&1)"
			same "$name: nothing said" 0 "$(messages "$tmp/$name")"
			# A killed process prints no message.
			has "$name: the trace says so" ' (closed=0|.* cut=1)' \
				"$("$cufence" dump "$tmp/$name"/*.cft 2>/dev/null | head -n 1)"
		done
		incomplete "cut to $CUT_BYTES" "$tmp/cut_${CUT_BYTES}_work" 'was cut while it was written'
		incomplete "cut to $CUT_BYTES, threads" "$tmp/cut_${CUT_BYTES}_threads" 'was cut while it was written'
		incomplete "cut to $CUT_BYTES, killed" "$tmp/cut_${CUT_BYTES}_sent" '(cut|exited abnormally)'
	done
	helper=$helpers/faults
fi

# --- a thread with a stack of 16 KiB ---
if [ -z "$sanitizer" ]; then
	same "small stack: output and status" "$(bare small_stack 10)" "$(traced "$tmp/small" small_stack 10)"
	has "small stack: there was a thread" '^thread: 0$' "$(bare small_stack 10)"
	helper=$helpers/stack_use
	same "small stack: the first call" "$(bare least)" "$(traced "$tmp/least" least)"
	# A real driver needs more than 16 KiB by itself.
	[ -n "${ON_GPU:-}" ] || has "small stack: it was made" '^status 0$' "$(bare least)"
	helper=$helpers/faults
fi

# --- another thread loads a library, which never ends: CUDA does not wait for it ---
export SLOW_LIBRARY=$helpers/libslow.so
same "loader's lock: output and status" "$(bare while_loading 10)" "$(traced "$tmp/loading" while_loading 10)"
has "loader's lock: CUDA went on" '^status 6$' "$(bare while_loading 10)"

# --- a hang: the report names the call and the place, of a killed process too ---
mkdir "$tmp/hang"
CUFENCE_OUT=$tmp/hang LD_PRELOAD=$preload "$helper" hang >"$tmp/hang.out" 2>&1 &
hung=$!
# The calls before have returned, so that their enter records are gone: the one left is the wait's.
for _ in $(seq 1200); do
	grep -q '^hang: 0' "$tmp/hang.out" && "$cufence" dump "$tmp"/hang/*.cft | grep -q '^enter ' && break
	sleep 0.05
done
kill -KILL $hung
wait $hung 2>/dev/null
incomplete hang "$tmp/hang" 'exited abnormally'
has "hang: named" 'hung +cuStreamSynchronize had not returned.*wait_for_ever.*faults.c:' "$(report "$tmp/hang")"

# --- disk full, limits, folders ---
want=$(bare work 10000)
trace_limited() { # KIB: with a limit on the size of files
	(
		ulimit -f "$1"
		traced "$tmp/limit$1" work 10000
	)
}
same "file limit at the start: output and status" "$want" "$(trace_limited 64)"
same "file limit at the start: said once" 1 "$(messages "$tmp/limit64")"
same "file limit at the start: nothing left" "" "$(ls "$tmp/limit64")"
same "file limit in the middle: output and status" "$want" "$(trace_limited 1000)"
same "file limit in the middle: nothing said" 0 "$(messages "$tmp/limit1000")"
incomplete "file limit in the middle" "$tmp/limit1000" 'records were not written'

on_small_disk() { # KIB: on a full file system; FOLDER is a link there
	mkdir -p "$tmp/disk$1" "$tmp/kept$1"
	export helper preload sanitizer tmp
	unshare -rm bash -c 'mount -t tmpfs -o size='"$1"'k none "$tmp/disk'"$1"'" || exit
		CUFENCE_OUT=$tmp/disk'"$1"' LD_PRELOAD=$preload "$helper" work 10000 2>"$tmp/kept'"$1"'.err"
		echo "status $?"
		cp "$tmp/disk'"$1"'"/* "$tmp/kept'"$1"'" 2>/dev/null'
}
if unshare -rm mount -t tmpfs none /mnt 2>/dev/null; then
	same "full disk at the start: output and status" "$want" "$(on_small_disk 32)"
	same "full disk at the start: said once" 1 "$(messages "$tmp/kept32")"
	same "full disk at the start: nothing left" "" "$(ls "$tmp/kept32")"
	same "full disk in the middle: output and status" "$want" "$(on_small_disk 900)"
	same "full disk in the middle: nothing said" 0 "$(messages "$tmp/kept900")"
	incomplete "full disk in the middle" "$tmp/kept900" 'records were not written'
fi

for folder in /proc /dev/full "$tmp/nothing/there" "$(printf '%04090d' 0 | tr 0 x)"; do
	out=$(CUFENCE_OUT=$folder LD_PRELOAD=$preload "$helper" work 10000 2>"$tmp/folder.err")
	same "unwritable ${folder:0:20}: output" "${want%$'\n'status 0}" "$out"
	same "unwritable ${folder:0:20}: said once" 1 "$(messages "$tmp/folder")"
done
export LOST_FOLDER=$tmp/lost
same "folder removed: output and status" "$(bare lose_folder 5000)" "$(traced "$tmp/lost" lose_folder 5000)"
same "folder removed: nothing said" 0 "$(messages "$tmp/lost")"

# --- a process that never touches CUDA ---
mkdir "$tmp/idle"
CUFENCE_OUT=$tmp/idle LD_PRELOAD=$preload LD_DEBUG=files LD_DEBUG_OUTPUT=$tmp/files "$helper" nothing
same "no CUDA: no file" "" "$(ls "$tmp/idle")"
same "no CUDA: neither CUPTI nor CUDA is loaded" 0 "$(cat "$tmp"/files.* | grep -c 'file=lib\(cupti\|cuda\)')"
if [ -z "$sanitizer" ]; then
	cost=$("$helpers/runtimes" 101 "$recorder" "$helper" nothing)
	# Where processes start slowly: as much as a library takes that every program in C++ loads.
	usual=$("$helpers/runtimes" 101 "$(g++ -print-file-name=libstdc++.so.6)" "$helper" nothing)
	[ "$cost" -lt 2000 ] || [ "$cost" -lt $((usual * 3 / 2)) ]
	ok "no CUDA: costs $cost us of processor time, under 2000; libstdc++ $usual" $?
fi

# --- memory: from every size of address space, with every request refused in turn ---
limit_memory() { # FIRST: every second number of pages from there; prints what went wrong
	local pages folder
	for pages in $(seq "$1" 2 100) $((40000 + $1)); do
		folder=$tmp/as$pages
		[ "$want" = "$(traced "$folder" limit "$pages")" ] || echo "$pages pages: other output"
		if [ -n "$(ls "$folder")" ]; then
			reads "$folder" && [ "$(messages "$folder")" -eq 0 ] || echo "$pages pages: bad trace"
		else
			[ "$(messages "$folder")" -eq 1 ] || echo "$pages pages: no trace, no message"
		fi
	done
}

refuse() { # VARIABLE NUMBER...: prints what went wrong
	local n folder
	for n in "${@:2}"; do
		folder=$tmp/$1$n
		[ "$want" = "$(export "$1=$n"; traced "$folder" work 10000)" ] || echo "$1 $n: other output"
		[ "$(messages "$folder")" -le 1 ] || echo "$1 $n: $(cat "$folder.err")"
		if [ -n "$(ls "$folder")" ]; then
			"$helpers/readable" "$folder"/*.cft || echo "$1 $n: does not read"
		elif [ "$(messages "$folder")" -ne 1 ]; then
			echo "$1 $n: no trace and no message"
		fi
	done
}

mkdir "$tmp/null"
ln -s "$helpers/libnullcuda.so" "$tmp/null/libcuda.so.1"
export LD_LIBRARY_PATH=$tmp/null CUFENCE_CUPTI=off

# --- stack: what the recorder takes of it, over a driver that takes none ---
if [ -z "$sanitizer" ]; then
	uses=$(CUFENCE_OUT=$tmp LD_PRELOAD=$preload "$helpers/stack_use")
	for limit in first:6500 thread:1800 handler:1800; do
		[ "$(sed -n "s/^${limit%:*} //p" <<<"$uses")" -lt "${limit#*:}" ]
		ok "stack: ${limit%:*} under ${limit#*:} bytes of $(paste -sd' ' <<<"$uses")" $?
	done
fi

if [ -z "$sanitizer" ]; then # which reserves terabytes
	want=$(bare work)
	limit_memory 1 >"$tmp/limits1" &
	limit_memory 0 >"$tmp/limits0"
	wait $!
	same "address space: as without the recorder, and a trace or one message" "" "$(cat "$tmp"/limits[01])"
	off=$(find "$tmp"/as* -maxdepth 0 -type d -empty | wc -l)
	[ "$off" -gt 10 ] && [ "$off" -lt 100 ]
	ok "address space: $off limits are too low to record" $?
	has "address space: enough of it" 'closed=1' "$("$cufence" dump "$tmp"/as40000/*.cft | head -n 1)"
fi

first=$helpers/libfail.so
want=$(bare work 10000)
same "no request refused: output and status" "$want" "$(FAIL_REPORT=$tmp/requests traced "$tmp/all" work 10000)"
requests=$(cat "$tmp/requests")
[ "$requests" -ge 100 ]
ok "the recorder made $requests requests, 100 at least" $?
# A trace takes 22 requests to begin, the others are alike, for one window after the other.
nth=($(seq 1 100))
[ -z "$sanitizer" ] || nth=($(seq 1 30) $(seq 33 7 100))
refuse FAIL_NTH "${nth[@]}" >"$tmp/nth" &
refuse FAIL_FROM $(seq 1 10 100) >"$tmp/from"
wait $!
same "each request refused once" "" "$(cat "$tmp/nth")"
same "all requests refused from one on" "" "$(cat "$tmp/from")"
incomplete "no memory in the middle" "$tmp/FAIL_FROM61" 'records were not written'

# --- the trace takes a second to create: another thread does not wait as long, and the report says so ---
mkdir "$tmp/slow"
same "slow start: output" 200 "$(FAIL_SLOW=1 CUFENCE_OUT=$tmp/slow LD_PRELOAD="$first $preload" \
	timeout 20 "$helpers/slow_start")"
"$cufence" dump "$tmp"/slow/*.cft >"$tmp/slow.dump"
here=$(grep -c '^call cuMemFree_v2 ' "$tmp/slow.dump")
missing=$(sed -n '1s/.* dropped_records=\([0-9]*\).*/\1/p' "$tmp/slow.dump")
[ "$missing" -ge $((200 - here)) ]
ok "slow start: $here of 200 calls are there, $missing are said to be missing" $?

# --- killed at any moment ---
export KILLS_PRELOAD=$preload
mkdir "$tmp/kills"
killed=$("$helpers/kills" "$kills" 125000 "$tmp/kills" "$helpers/flood")
has "killed while writing: $killed" 'no loss$' "$killed"
[ "$(printf '%s\n' "$killed" | sed -n 's/.* \([0-9]*\) killed while.*/\1/p')" -ge $((kills * 3 / 4)) ]
ok "killed while writing: three quarters of the moments" $?
LD_PRELOAD=$preload CUFENCE_OUT=$tmp/kills timeout -s KILL 0.1 "$helpers/flood" 4 250000 "$tmp/kills/account"
reads "$tmp/kills"
ok "killed while writing: dump reads it" $?
export LD_LIBRARY_PATH=$libraries
unset CUFENCE_CUPTI

# --- CUPTI ---
want=$(bare work)
FAIL_BYTES=32768 same "CUPTI without buffers: output and status" "$want" "$(FAIL_BYTES=32768 traced "$tmp/buffers" work)"
incomplete "CUPTI without buffers" "$tmp/buffers" 'CUPTI dropped [0-9]+ device records'
first=
cupti() { # HOW PATTERN
	export CUFENCE_CUPTI=$helpers/libcupti_bad.so CUPTI_BAD=$1
	same "CUPTI $1: output and status" "$want" "$(traced "$tmp/cupti_$1" work)"
	same "CUPTI $1: nothing said" 0 "$(messages "$tmp/cupti_$1")"
	incomplete "CUPTI $1" "$tmp/cupti_$1" "$2"
}
cupti records '3 device records had impossible times'
cupti dropped 'CUPTI dropped 17 device records'
cupti busy 'no device operations were recorded \(CUPTI busy'
cupti enable 'no device operations were recorded \(CUPTI failed, error 8'
CUFENCE_CUPTI=$tmp/none same "CUPTI missing: output and status" "$want" "$(CUFENCE_CUPTI=$tmp/none traced "$tmp/absent" work)"
unset CUFENCE_CUPTI CUPTI_BAD
incomplete "CUPTI missing" "$tmp/absent" 'no device operations were recorded'

# --- failing calls ---
fail_calls() { # PRELOAD: every driver call with zeros, by two processes
	LD_PRELOAD=$1 "$helpers/failures" 0 2 >"$tmp/failures0" 2>/dev/null &
	LD_PRELOAD=$1 "$helpers/failures" 1 2 2>/dev/null
	wait $!
	cat "$tmp/failures0"
}
mkdir "$tmp/failing"
want=$(fail_calls "$sanitizer")
same "failing calls: results and errno" "$want" "$(CUFENCE_OUT=$tmp/failing fail_calls "$preload")"
[ "$(printf '%s\n' "$want" | grep -c ': [1-9][0-9]*, errno kept')" -gt 50 ]
ok "failing calls: most of them did fail" $?

finish
