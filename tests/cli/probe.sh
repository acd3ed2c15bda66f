#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/probe.sh BUILD: cufence probe on the simulated device.  All that the simulator supports must
# behave as on the H200 of the stored result: this tests the simulator as much as the probe.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
probe=$build/sim/cufence-probe
needs "$cufence" "$probe" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1

"$cufence" probe --sim --json >sim.json 2>err
same "probe --sim --json: exit status" 0 "$?"
shown=$("$cufence" probe sim.json)
same "shows a result" 0 "$?"
has "names the system" "^NVIDIA H200 \(simulated\), driver" "$shown"
has "a call that waits" "^cudaFree 1 MiB .* 10\.[0-9]+ +10\.[0-9]+ +10\.[0-9]+  waits for everything$" "$shown"
has "a call that waits for its own stream" "busy blocking stream +[0-9.]+ +10\.[0-9.]+ +waits for its stream$" "$shown"
has "the depth of the queue" "^launch queue, kernels .* number [0-9]+ blocks$" "$shown"

# Nothing fails but what the simulator does not have.
same "what fails is not supported" "" "$(sed -n '/^not measured$/,/^$/p' <<<"$shown" |
	grep 'error:' | grep -v 'error: not supported')"
# Whether the first printf's set-up makes the host wait depends on what was loaded before: measured both ways.
known='^first launch of a kernel with printf:'
same "differs from the H200 nowhere else" "" \
	"$(sed -n 's/^    \(.* here, .* there\)$/\1/p' <<<"$shown" | grep -v "$known")"
agrees=$(sed -n 's/^agrees with NVIDIA H200, .* in \([0-9]*\) rows, differs.*/\1/p' <<<"$shown")
[ "${agrees:-0}" -ge 180 ]
ok "agrees with the H200 in at least 180 rows (${agrees:-0})" $?

# With one device, nothing is reported about copies between two.
same "one device: no copies between two" 0 "$(grep -c 'cudaMemcpyPeer' sim.json)"
export LD_LIBRARY_PATH=$build/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
peers=$(CUFENCE_SIM_DEVICES=2 "$probe" --group "two devices" 2>/dev/null | grep 'cudaMemcpyPeer')
same "two devices: three sizes, with and without access, four streams" 48 "$(grep -c . <<<"$peers")"
same "two devices: behind blocking streams" 24 "$(grep -c ' a blocking.*"class":"waits"' <<<"$peers")"
same "two devices: not behind the others" 24 \
	"$(grep -c ' non-blocking.*"class":"does not wait"' <<<"$peers")"

# Comparing: with itself, and with one that says something else of one call.
has "agrees with itself" "differs in 0 rows, [0-9]+ not compared$" \
	"$("$cufence" probe --compare sim.json sim.json)"
sed '/"cudaMallocHost 4 KiB"/s/does not wait/waits for everything/' sim.json >other.json
compared=$("$cufence" probe --compare other.json sim.json)
same "a difference is no failure" 0 "$?"
has "one row differs" "in [0-9]+ rows, differs in 1 rows, .*:$" "$compared"
has "says which and how" "^    cudaMallocHost 4 KiB: does not wait here, waits for everything there$" "$compared"

echo '{"rows":[]}' >bad.json
"$cufence" probe bad.json >out 2>err
same "not a result: exit status" 2 "$?"
has "not a result: said" "is not a result of cufence probe" "$(cat err)"
"$cufence" probe none.json >out 2>err
same "no such file: exit status" 2 "$?"
if [ ! -e /dev/nvidiactl ] && [ -x "$build/bin/cufence-probe" ]; then
	"$cufence" probe >out 2>err
	same "without a device: exit status" 2 "$?"
	has "without a device: said" "nothing can be measured" "$(cat err)"
	same "without a device: no result" "" "$(cat out)"
fi

# A process that dies costs the entry it was at; one that stands still, what is left of the time.
# Nothing is written to this pipe: reading from it is a pause without a process.
mkfifo never
exec 6<>never
stop_second() { # PID: stops the process of the second group, when the first has measured, and prints it
	local child state first=
	while kill -0 "$1" 2>/dev/null; do
		for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
			[ "$child" != "${first:=$child}" ] || continue
			kill -STOP "$child" 2>/dev/null
			state=R
			while [[ $state == [RSD]* ]]; do
				read -r -t 0.001 -u 6
				state=$(ps -o stat= -p "$child")
			done
			[[ $state == T* ]] && echo "$child" && return
		done
		read -r -t 0.005 -u 6
	done
}
disturb() { # SIGNAL ARGUMENTS...: signals a process that measures
	local signal=$1 parent
	shift
	"$probe" "$@" >disturbed.json 2>err &
	parent=$!
	kill "-$signal" "$(stop_second "$parent")"
	wait "$parent"
}
# A busy machine may need more than the minute it has by itself.
disturb KILL --limit 400
same "a killed process: exit status" 0 "$?"
same "a killed process costs one entry" 1 "$(grep -c 'ended by signal 9' disturbed.json)"
has "a killed process: the rest is measured" '"name":"launch of a tiny kernel","value"' "$(cat disturbed.json)"
disturb STOP --limit 5
same "a stopped process: exit status" 0 "$?"
has "a stopped process: what is missing is said" '"error":"out of time"' "$(cat disturbed.json)"
# A program without its folder.
mkdir -p lone/bin && cp "$cufence" lone/bin/
lone/bin/cufence probe --sim >out 2>err
same "not built: exit status, one line" "2 0 1" "$? $(wc -c <out) $(wc -l <err)"
has "not built: says how to" '"make simulator probe" builds both' "$(cat err)"
finish
