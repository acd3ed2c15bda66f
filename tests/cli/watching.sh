#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cufence watch: what it shows of running processes, its screen and keys, and its metrics.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
server=$build/tests/helpers/server
preload=$build/lib/libcufence.so
needs "$cufence" "$server" "$preload"
sanitized && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tmp" || exit 1
started=()
trap 'kill -KILL "${started[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
mkdir shared scratch
export TMPDIR=$tmp/scratch

serve() { # NAME=VALUE...: a server that never ends
	: >err
	env "$@" CUFENCE_OUT="$tmp/shared" LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$preload" \
		WITHOUT_GRAPH=1 "$server" forever >/dev/null 2>err &
	started+=($!)
	disown # its end at the end of the test is no news
	until grep -q serving err; do sleep 0.02; done
}
session='a"b\c'
serve CUFENCE_SESSION="$session"
serve CUFENCE_PAUSED=1
recording=${started[0]} paused=${started[1]}
sleep 0.3

# --- once, as text ---
said=$("$cufence" watch --once --folder shared --metrics once.prom)
same "once: status" 0 $?
has "once: how many" '^cufence: 2 processes, analyzed at [0-9:]{8} in ' "$said"
has "once: a row of each" "^ +$recording  recording +[0-9.]+ [mu]s +[0-9.]+ % +[0-9.]+ %  1 high  " "$said"
has "once: one that is paused" "^ +$paused  paused +- +- +-  - " "$said"
has "once: the loop" '^    turn     [0-9.]+ [mu]s, [0-9]+ turns at server\.c:' "$said"
has "once: the device" '^    busy     device 0 [0-9]+ % of the time$' "$said"
has "once: why it idles" '^    idle     [0-9.]+ % host in ' "$said"
has "once: waits" '^    waits    [0-9.]+ [mu]?s implicit' "$said"
has "once: the finding" '^    high     blocking-free: cuMemFree waited ' "$said"
same "once: no control characters" 0 "$(printf '%s' "$said" | grep -c $'\033')"
same "nothing is left behind" "" "$(ls scratch)"

# --- metrics ---
cat >check.py <<'EOF'
# Prometheus' text format 0.0.4: each metric announced, its lines together, labels escaped, no times.
import json, re, sys
seen, types, current = set(), {}, None
label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    if line.startswith("# HELP "):
        name = line.split()[2]
        assert name not in seen, f"{name} twice"
        seen.add(name)
        current = name
    elif line.startswith("# TYPE "):
        _, _, name, kind = line.split()
        assert name == current and kind in ("gauge", "counter"), line
        types[name] = kind
        assert (kind == "counter") == name.endswith("_total"), line
    else:
        match = re.fullmatch(rf'([a-z_]+)(?:\{{{label}(?:,{label})*\}})? (-?[0-9.e+-]+)', line)
        assert match and match[1] == current, line
        float(match[2])
assert all(name.startswith("cufence_") for name in types)
board = json.load(open(sys.argv[2]))
used = set(re.findall(r"cufence_\w+", json.dumps([p["targets"] for p in board["panels"]])))
assert used == set(types), f"dashboard: {used ^ set(types)}"
print("fine")
EOF
same "metrics: the format, and the dashboard has all" fine "$(python3 check.py once.prom "$root/doc/grafana.json" 2>&1 | tail -n 1)"
has "metrics: a label is escaped" "^cufence_recording\{pid=\"$recording\",session=\"a\\\\\"b\\\\\\\\c\"\} 1\$" "$(cat once.prom)"
has "metrics: one that is paused" "^cufence_recording\{pid=\"$paused\"\} 0\$" "$(cat once.prom)"
has "metrics: the turn in seconds" "^cufence_turn_seconds\{.*place=\"server\.c:[0-9]+\"\} [1-9][0-9.]*e-05\$" "$(cat once.prom)"
has "metrics: the finding" '^cufence_findings\{.*rule="blocking-free",severity="high"\} 1$' "$(cat once.prom)"

# Without a terminal they are written again and again; a reader never finds a part of them.
"$cufence" watch --folder shared --metrics again.prom --interval 0.2 >out 2>&1 </dev/null &
watch=$!
started+=("$watch")
changes=0 last='' parts=0
for ((i = 0; i < 200 && changes < 3; i++)); do
	sleep 0.05
	[ -e again.prom ] || continue
	now=$(grep '^cufence_analyzed' again.prom)
	tail -n 1 again.prom | grep -q '^cufence_findings\|^# TYPE cufence_findings' || parts=$((parts + 1))
	[ "$now" = "$last" ] || changes=$((changes + 1))
	last=$now
done
ok "metrics: they are written again" $((changes < 3))
same "metrics: always whole" 0 $parts
kill -TERM "$watch"
wait "$watch"
same "metrics: its end" 0 $?
same "metrics: prints nothing" "" "$(cat out)"
same "metrics: nothing is left behind" "" "$(ls scratch)"
"$cufence" watch </dev/null >out 2>&1
same "without a terminal" 2 $?
has "... says what to do" "no terminal: use --once, or --metrics" "$(cat out)"

# --- the screen ---
cat >screen.py <<'EOF'
# Runs a command on a terminal of 80 columns and 24 rows, presses keys, and prints each frame.
import fcntl, os, pty, re, select, struct, sys, termios, time
pid, terminal = pty.fork()
if not pid:
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
text = b""
def read(until, seconds=20):
    """Until that is on the screen, in what comes from now on."""
    global text
    new, end = b"", time.time() + seconds
    while time.time() < end and not re.search(until, new):
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                more = os.read(terminal, 65536)
            except OSError:
                break
            new += more
            text += more
    return bool(re.search(until, new))
for step in sys.argv[1].split(";"):
    key, until = step.split("=", 1)
    os.write(terminal, key.replace("DOWN", "\033[B").encode())
    print(f"{key or 'begin'}: {'seen' if read(until.encode()) else 'not seen: ' + until}")
status = os.waitpid(pid, 0)[1]
print("status", os.waitstatus_to_exitcode(status))
frames = re.findall(rb"\033\[H(.*?)\033\[J", text, re.S)
lines = [re.sub(rb"\033\[[?0-9;]*[A-Za-z]", b"", line) for f in frames for line in re.split(rb"\r+\n", f)]
print("frames", len(frames) > 5)
print("too wide", sum(len(line.decode()) > 80 for line in lines))
print("too high", sum(f.count(b"\033[K") > 24 for f in frames))
print("cleared", text.count(b"\033[2J"))
print("left", text.count(b"\033[?1049h") == text.count(b"\033[?1049l"), text.count(b"\033[?25l") == text.count(b"\033[?25h"))
EOF
keys="=1 high;DOWN=>+ +$paused;s=process $paused: recording;t=process $paused: paused"
keys+=";n=wrote cufence-$paused.db;o=blocking-free: cuMemFree waited;q=1049l"
same "screen" "begin: seen
DOWN: seen
s: seen
t: seen
n: seen
o: seen
q: seen
status 0
frames True
too wide 0
too high 0
cleared 0
left True True" "$(PAGER=cat timeout 120 python3 screen.py "$keys" "$cufence" watch --folder shared --interval 0.5 2>&1)"
same "a snapshot of one process" "$paused" "$("$cufence" query "cufence-$paused.db" "SELECT pid FROM process")"
same "screen: nothing is left behind" "" "$(ls scratch)"
finish
