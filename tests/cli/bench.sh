#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The overhead benchmark decides by its numbers: a bar that is missed, or was not measured, is
# exit status 1; and what it runs on a GPU runs here, on the simulated device.
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/cli/lib.sh" "$@"
bench=$here/../bench/overhead
command -v python3 >/dev/null || { echo "no python3"; finish; }

# samples NAME HOST...: a result file in which each call takes 1000 ns bare, HOST ns recorded.
samples() {
	python3 - "$tmp/$1.json" "${@:2}" <<-'END'
		import json, sys
		host = [[float(ns), float(ns)] for ns in sys.argv[2:]]
		calls = {"bare": [[1000, 1000]] * len(host), "host": host}
		names = ["launch", "copy", "record", "wait"]
		json.dump({"machine": "given", "groups": ["calls"], "variants": [], "bytes": {},
			"samples": {name: calls for name in names}}, open(sys.argv[1], "w"))
	END
}

judged() { # NAME STATUS TEXT PATTERN...
	local got status pattern
	got=$(python3 "$bench" --judge "$tmp/$1.json")
	status=$?
	same "$3: exit status" "$2" "$status"
	for pattern in "${@:4}"; do
		has "$3: $pattern" "$pattern" "$got"
	done
}

samples met 1100 1101 1102 1103 1104 1105 1106 1107 1108
judged met 0 "all within" "^launch: host - bare +9 +at most \+180 ns +\+104 ns .* met$" \
	"^4 of 4 bars met$"
samples missed 1120 1121 1122 1123 1124 1125 1126 1127 1128
judged missed 1 "copies over by 4 ns" "^launch: .* met$" "^copy: .*\+124 ns .* MISSED$" \
	"^1 of 4 bars met$"
# The median is within, but the interval says that it might as well not be.
samples unsure 1100 1100 1100 1100 1100 1400 1400 1400 1400
judged unsure 1 "an interval that reaches too far" "^launch: .*\+100 ns +\+100 ns \.\. \+400 ns +MISSED$"
# Rounds of the same processes are alike: two crews of five are two samples, not ten.
python3 - "$tmp/crews.json" <<-'END'
	import json, sys
	host = [[1100 if i < 5 else 1240, 1, i // 5] for i in range(9)]
	json.dump({"machine": "given", "groups": ["calls"], "variants": [], "bytes": {},
	    "samples": {"launch": {"bare": [[1000, 1]] * 9, "host": host}}}, open(sys.argv[1], "w"))
END
judged crews 1 "two crews that differ" "^launch: .*\+100 ns +\+100 ns \.\. \+240 ns +MISSED$"
# One round that was disturbed, in both variants' favour or not, decides nothing.
samples outlier 1100 1100 1100 1100 1100 1100 1100 1100 90000
judged outlier 0 "one wild round" "^launch: .*\+100 ns +\+100 ns \.\. \+100 ns +met$"
samples none
judged none 1 "nothing measured" "^launch: .* NOT MEASURED$" "^0 of 4 bars met$"

# Ratios are by round: the machine got slower, the ratio did not.
python3 - "$tmp" <<-'END'
	import json, sys
	same = [[ns, ns] for ns in range(1000, 10000, 500)]
	for name, ratio in (("ratio", 1.05), ("worse", 1.15)):
	    full = [[a * ratio, b * ratio] for a, b in same]
	    json.dump({"machine": "given", "groups": ["a"], "variants": ["full", "same"], "bytes": {},
	        "samples": {"launches": {"full": full, "same": same}}},
	        open(f"{sys.argv[1]}/{name}.json", "w"))
END
judged ratio 0 "a ratio" "^launches: full / same +18 +at most 1.100 +1.050 +1.050 \.\. 1.050 +met$"
judged worse 1 "a ratio over its bar" "^launches: full / same .* 1.150 .* MISSED$"

needs "$build/bench/workload_shared" "$build/bench/libcupti_only.so" "$build/sim/libcupti.so.13"
nm -D "$build/lib/libcufence.so" | grep -q __asan_init && finish # preloads nothing here
out=$(python3 "$bench" "$build" --simulated --only calls,a,b,c,e,g --rounds 1 --crews 2 --scale 0.1 \
	--variants bare,host,full,same,kernels,full-node,same-node,host-guard --json "$tmp/run.json" 2>"$tmp/err")
# The shorter a turn, the more rounds; two crews share them.
for variant in bare host; do
	for workload in launch copy record; do
		has "simulated $workload, $variant" "^$workload +$variant +90 " "$out"
	done
	has "simulated wait, $variant" "^wait +$variant +46 " "$out"
done
for variant in bare host full same; do
	has "simulated query, $variant" "^query +$variant +10 " "$out"
	for workload in poll launches mixed; do
		has "simulated $workload, $variant" "^$workload +$variant +6 " "$out"
	done
done
for variant in bare host full same full-node same-node; do
	has "simulated graph, $variant" "^graph +$variant +4 " "$out"
done
for variant in bare host host-guard; do
	has "simulated fetch, $variant" "^fetch +$variant +6 " "$out"
done
has "what the guard costs has a bar" '^fetch: host-guard - host +6 +at most \+40000 ns ' "$out"
ok "every variant ran" "$(grep -c 'left out' "$tmp/err")"
# 32 bytes of a runtime call, 64 of a launch and its 16 words; readings where others held it up.
has "bytes of a launch" "^launch +host .* 2[23][0-9]\.[0-9]$" "$out"
same "judging the file again says the same" "$(printf '%s\n' "$out" | sed -n '/^bar/,$p')" \
	"$(python3 "$bench" --judge "$tmp/run.json" | sed -n '/^bar/,$p')"

# Only rounds in which both ran are compared.
python3 - "$tmp/absent.json" <<-'END'
	import json, sys
	bare = [[1000, 1000, i] for i in range(9)]
	host = [[1100, 1100, i] for i in range(9)]
	bare[6], host[7], bare[8][0] = None, None, 900
	json.dump({"machine": "given", "groups": ["calls"], "variants": [], "bytes": {},
	    "samples": {"launch": {"bare": bare, "host": host[:9]}}}, open(sys.argv[1], "w"))
END
judged absent 1 "turns that were not" "^launch +host +8 " "^launch +bare +8 " \
	"^launch: host - bare +7 .*\+100 ns .* met$"

# Asked in turns: the same loops, and the core they are to run on.
mkdir "$tmp/stub"
echo "import sys, unittest.mock; sys.modules['torch'] = unittest.mock.MagicMock()" >"$tmp/stub/torch.py"
export LD_LIBRARY_PATH=$build/sim PYTHONPATH=$tmp/stub
core=$("$build/bench/workload_shared" -c)
printf 'core %d\nrecord\nlaunches\n' "$core" >"$tmp/asked"
"$build/bench/workload_shared" -x 0.5 <"$tmp/asked" >"$tmp/said"
printf 'core %d\nadds\n' "$core" | python3 "$here/../bench/torch_loop.py" -x 0.02 >>"$tmp/said"
has "a core" "^[0-9]+$" "$core"
same "turns" "core $core
record 128
launches 2500
core $core
adds 100" "$(awk '{ print $1, $1 == "core" ? $2 : $4 }' "$tmp/said")"
"$build/bench/workload_shared" -x 0.5 nothing 2>/dev/null
same "no such loop" 2 "$?"

# The recorder alone, paused, and with the hold loaded too but nothing to hold.
has "micro has the pause and the hold" '^launch( +-?[0-9.]+ \(-?[0-9.]+ \.\. -?[0-9.]+\)){3}$' \
	"$(timeout 100 python3 "$here/../bench/micro" "$build" --rounds 2 --crews 2)"
finish
