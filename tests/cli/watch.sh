#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Other processes that use the GPUs during "cufence run": a made-up NVML (tests/helpers/libnvml.c)
# says which there are.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
nvml=$build/tests/helpers/nvml
app=$build/tutorial/photos1
needs "$build/lib/libcufence.so" "$build/sim/libcuda.so.1" "$nvml/libnvidia-ml.so.1" "$app"
cd "$tmp" || exit 1
export FAKE_NVML=$tmp/says CUFENCE_CUPTI=$build/sim/libcupti.so.13
# In containers NVML does not say all.
everything=0
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] && everything=1
sleep 600 &
stranger=$!
trap 'kill $stranger; rm -rf "$tmp"' EXIT

# The program lasts longer than a few looks at use, or a time where nothing is asked about use; its CUDA
# part is simulated.
cat >program <<'END'
echo $$ >own
[ "${1:-}" != daemon ] || (setsid sh -c 'echo $$ >child; exec sleep 60' &)
[ "${1:-}" != child ] || { sh -c 'echo $$ >child; exec sleep 60' & }
"$APP" >/dev/null
[ -z "${SECONDS_MORE:-}" ] || exec sleep "$SECONDS_MORE"
for _ in $(seq 300); do
	[ -e says.asked ] && [ "$(grep -c . says.asked)" -ge 5 ] && break
	sleep 0.1
done
END
watched() { # TEXT NVML [MODE]: what NVML says, what the program does; gives $report and $row
	printf '%s\n' "$2" >says
	rm -f says.asked own child
	APP=$app LD_LIBRARY_PATH=$build/sim${NO_NVML-:$nvml} timeout 60 ${apart:-} "$cufence" run -o db \
		-- bash ./program "${3:-}" >out 2>err
	same "$1: status" 0 $?
	[ ! -e child ] || kill "$(cat child)"
	report=$(cat err)
	row=$("$cufence" query db "SELECT seen || ' ' || processes FROM other_use" | paste -sd' ')
}
others() { # TEXT WANTED: where ids tell whose a process is
	[ $everything = 0 ] || same "$1" "$2" "$row"
}
savings() { # TEXT most|about
	has "$1" "$([ "$2" = most ] && echo 'at most' || echo about) .* would be saved" "$report"
}

watched "nobody else" $'list 0 own\nuse 0 own 60'
others "nobody else" "none 0"
savings "nobody else: an estimate" about
has "NVML is asked several times a second" '^([4-9]|[1-9][0-9]+)$' "$(grep -c . says.asked)"
[ "$(sort -u says.asked | wc -l)" = 1 ]
ok "one process asks" $?

watched "another computes" $'list 0 own\nlist 0 '$stranger$'\nuse 0 own 99\nuse 0 '$stranger' 99'
same "another computes" "computing 1" "$row"
has "another computes: half of the time" 'other programs computed on device 0 for (4[5-9]|5[0-5]) % of the run \(1 process\)' "$report"
savings "another computes: no estimate" most
has "another computes: why" 'no closer estimate .*: other programs computed on the device' "$report"
same "another computes: said once" 1 "$(grep -c 'computed on device 0' err)"
"$cufence" analyze db && "$cufence" report db >again
has "... also when analyzed again" 'no closer estimate .*: other programs' "$(cat again)"

watched "another computes a little" $'list 0 own\nlist 0 '$stranger$'\nuse 0 own 90\nuse 0 '$stranger' 3'
same "another computes a little" "computing 1" "$row"
savings "another computes a little: an estimate" about

watched "another has memory" $'list 0 own\nlist 0 '$stranger$'\nuse 0 own 60'
others "another has memory" "memory 1"
[ $everything = 0 ] || has "another has memory: said" '1 other process has memory on device 0, and computed nothing' "$report"
savings "another has memory: an estimate" about

watched "another GPU is used" $'devices 2\nlist 0 own\nuse 0 own 60\nlist 1 '$stranger$'\nuse 1 '$stranger' 99'
others "another GPU is used" "none 0"
savings "another GPU is used: an estimate" about

# The program's own processes.
watched "a child computes" $'list 0 own\nlist 0 child\nuse 0 child 99' child
others "a child computes" "none 0"
watched "a daemon computes" $'list 0 own\nlist 0 child\nuse 0 child 99' daemon
others "a daemon computes" "none 0"

# What cannot be told.
unknown() { # TEXT WHY NVML
	SECONDS_MORE=${SECONDS_MORE-1.5} watched "$1" "$3"
	same "$1" "unknown" "${row%% *}"
	has "$1: why" "not known whether other programs used device 0: $2" "$report"
	savings "$1: an estimate" about
}
NO_NVML= unknown "no library" 'there is no NVML \(libnvidia-ml.so.1 was not found\)' ''
unknown "NVML does not start" 'Insufficient Permissions' 'init 4'
unknown "no permission" 'NVML does not list processes: Insufficient Permissions' 'list 0 ERROR=4'
unknown "NVML hangs" 'NVML does not answer|the program ended before NVML answered' 'hang'
unknown "MIG" 'it is divided into instances' $'mig 0\nlist 0 own'
unknown "the program is not listed" 'NVML did not list the program' 'list 0 4000001'
unknown "no such device" 'NVML has no such device' 'devices 0'
unknown "use is not said" 'NVML does not say whether the other processes compute' \
	$'list 0 own\nlist 0 '$stranger$'\nuse 0 ERROR=3'
start=$(date +%s%N)
SECONDS_MORE=0 unknown "NVML starts late" 'the program ended before NVML answered' 'init 0 20000'
[ $((($(date +%s%N) - start) / 1000000)) -lt 15000 ]
ok "NVML starts late: nobody waits for it" $?

# In a pid namespace of its own NVML lists only what is there, and says what others use by ids that
# mean nothing there: no more than the traced processes are the program's.
if unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null; then
	apart="unshare --user --map-root-user --pid --fork --mount-proc"
	unknown "a container" 'processes outside of this container are not visible' \
		$'list 0 own\nuse 0 4000001 99'
	watched "a container, another computes" $'list 0 own\nuse 0 4000001 99\nuse 0 4000002 99'
	same "a container, another computes" "computing 1" "$row"
	savings "a container, another computes: no estimate" most
	unknown "a container, another is in it" 'NVML does not say whether' $'list 0 own\nlist 0 1\nuse 0 4000001 99'
	apart=
fi

same "nothing is left running" "" "$(ps -eo pid,args | grep "[c]ufence run -o db")"
timeout 60 "$cufence" run --sim -o db -- "$app" >/dev/null 2>err
same "a simulated device is not watched" 0 "$("$cufence" query db "SELECT count(*) FROM other_use")"
finish
