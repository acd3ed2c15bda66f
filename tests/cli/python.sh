#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Python frames in call sites, with every interpreter that this machine has.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/python" && pwd)
cufence=$build/bin/cufence
lib=$build/lib/libcufence.so
needs "$cufence" "$lib" "$build/sim/libcuda.so.1"
asan=
nm -D "$lib" | grep -q __asan_init && asan="$(${CC:-gcc} -print-file-name=libasan.so) "

interpreters() { # one of each version, known or not
	local python
	for python in /usr/bin/python3 /usr/local/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 \
		$(command -v python3{,.9,.10,.11,.12,.13,.14}); do
		[ -x "$python" ] && "$python" -c 'import ctypes, sys, sysconfig
print("%d.%02d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")), sys.executable)' 2>/dev/null
	done | sort -k1,1 -u
}

traced() { # DB PYTHON ARGUMENT...
	local db=$1
	shift
	rm -rf "$tmp/traces"
	mkdir "$tmp/traces"
	LD_LIBRARY_PATH=$build/sim LD_PRELOAD="$asan$lib" CUFENCE_OUT=$tmp/traces PYTHONIOENCODING=utf-8 \
		timeout 60 "$@" >"$tmp/out" 2>"$tmp/err" &&
		"$cufence" load "$tmp"/traces/*.cft -o "$db" 2>"$tmp/err"
}

# Keeps the part after the last dot: only from Python 3.11 on does a name contain its scope.
last_part() { sed -E 's/^[^ ]*\.([^.]* )/\1/'; }

calls="FROM call c JOIN site s ON s.id = c.site JOIN call_type t ON t.id = c.type
	WHERE t.name = 'cuMemsetD8_v2' AND (SELECT count(code) FROM frame WHERE site = s.id)"
places="SELECT DISTINCT s.function || ' ' || s.text $calls > 0"

known() { # VERSION PYTHON
	local name="Python $1" db=$tmp/$1.db whole=cat comprehension=drive
	local number=$((10#${1#3.}))
	[ "$number" -lt 11 ] && whole=last_part
	[ "$number" -lt 12 ] && comprehension='drive.<locals>.<listcomp>'
	traced "$db" "$2" "$here/sites.py"
	ok "$name: the program runs and its traces are loaded" $?
	same "$name: every call has its function, file and line" \
		"$(grep -n '# site' "$here/sites.py" | sed -E "s/^([0-9]+):.*# site (.*)/\2 sites.py:\1/
			s/^comprehension /$comprehension /" | $whole | sort)" \
		"$("$cufence" query "$db" "$places AND s.text NOT LIKE 'ma%.py:%'" | sort)"
	same "$name: code in memory that was used before" "200" "$("$cufence" query "$db" \
		"SELECT count(DISTINCT s.text) FROM site s WHERE s.text LIKE 'made%.py:1'")"
	same "$name: code in memory that was used before, alike but for the line" "30" "$("$cufence" query "$db" \
		"SELECT count(DISTINCT s.text) FROM site s WHERE s.text LIKE 'made_alike.py:%'")"
	same "$name: thousands of code objects, each with its calls" "3000" "$("$cufence" query "$db" \
		"SELECT count(*) FROM (SELECT s.text $calls > 0 AND s.text LIKE 'many%.py:1'
			GROUP BY s.text HAVING count(*) = 2)")"
	same "$name: is said once in each process" "3 3.$number" \
		"$("$cufence" query "$db" "SELECT count(*) || ' ' || value FROM property WHERE name = 'python.frames' GROUP BY value")"
	same "$name: recursion keeps the innermost frames" "8" "$("$cufence" query "$db" \
		"SELECT max(n) FROM (SELECT count(*) AS n FROM frame WHERE code IS NOT NULL AND user GROUP BY site)")"
	same "$name: callers are there too" "1" "$("$cufence" query "$db" \
		"SELECT count(*) > 0 FROM frame f JOIN frame g ON g.site = f.site AND g.depth = f.depth + 1
		 WHERE f.function = 'touch' AND g.function = 'main' AND g.user = 1")"
	# Each of the three daemon threads may be in a call when the interpreter ends.
	same "$name: calls without frames are the last ones of threads" 1 \
		"$("$cufence" query "$db" "SELECT count(*) <= 3 $calls = 0")"
	same "$name: nothing was dropped" "" "$("$cufence" query "$db" \
		"SELECT reason FROM loss WHERE reason LIKE 'dropped%'")"
	# Its last call before it sleeps is made at another line.
	traced "$db" "$2" "$here/asleep.py"
	same "$name: where the first thread waited for a host function" \
		"wait_until_done asleep.py:$(grep -n '# the wait' "$here/asleep.py" | cut -d: -f1)" "$("$cufence" query "$db" \
		"SELECT s.function || ' ' || s.text FROM finding f JOIN site s ON s.id = f.site WHERE f.rule = 'blocked-outside'")"
	same "$name: ... and nowhere else is to be changed" 0 "$("$cufence" query "$db" "SELECT count(*) FROM finding_also")"
}

unknown() { # VERSION PYTHON
	local name="Python $1" db=$tmp/$1.db
	traced "$db" "$2" -c "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
	ok "$name: the program runs" $?
	has "$name: has no frames and it is said" '^none: Python' \
		"$("$cufence" query "$db" "SELECT value FROM property WHERE name = 'python.frames'")"
	has "$name: the report says so" 'note: no lines of scripts are shown: Python 3' \
		"$("$cufence" report "$db")"
}

count=0
while read -r version python; do
	case $version in
	3.09 | 3.1[0-3]) known "$version" "$python"; count=$((count + 1)) ;;
	*) unknown "$version" "$python" ;;
	esac
	newest=$python
done < <(interpreters)
[ "$count" -gt 0 ] || { echo "no Python from 3.9 to 3.13 with ctypes"; finish; }

# Whatever has the symbols but other structures: no frames, no fault.
like() { # WANTED VERSION KIND
	traced "$tmp/like.db" "$build/tests/helpers/python_like" "$2" "$3"
	ok "a Python $2 that is $3: runs" $?
	same "a Python $2 that is $3: is left alone" "$1" \
		"$("$cufence" query "$tmp/like.db" "SELECT value FROM property WHERE name = 'python.frames'")"
}
if [ -x "$build/tests/helpers/python_like" ]; then
	for version in 309 30a 30b 30c; do
		for kind in itself nowhere half wild; do
			like "none: Python 3.$((16#$version & 255)): its frames are not as known" $version $kind
		done
		like "" $version none
	done
	like "none: Python 3.13: an interpreter without a GIL" 30d free
	like "none: Python 3.13: its code objects are not as known" 30d itself
	like "none: Python 3.14: this version is not known" 30e itself
fi

# As a user works: findings, and traces that are moved to another machine.
if [ -z "$asan" ]; then
	cd "$tmp" || exit 1
	"$cufence" run --sim --keep-trace -o run.db -- "$newest" "$here/wait.py" >out 2>err
	same "cufence run has the program's status" 0 "$?"
	has "a finding names the line" '^    at   hold_up  *wait.py:[0-9]+$' "$(cat err)"
	has "and the work's" 'wait.py:[0-9]+ in submit  \([0-9]+ times, ' "$(cat err)"
	has "asked for one, who called it" '^    at   called from submit  .*/wait.py:[0-9]+$' \
		"$("$cufence" report --finding 1 run.db)"
	has "in JSON too" '"frames":\[.*\{"function":"submit","file":"[^"]*wait.py","line":[0-9]+,"user":true\}' \
		"$("$cufence" report --format json run.db)"
	"$cufence" dump --symbols run.db.traces-*/*.cft >run.txt &&
		"$cufence" undump run.txt -o again.cft && "$cufence" load again.cft -o again.db 2>err
	ok "the trace survives as text" $?
	same "with all its places" "$("$cufence" query run.db "$places" | sort)" \
		"$("$cufence" query again.db "$places" | sort)"
	# A layer of a package has the time between the calls of two layers within it.
	"$cufence" run --sim -o layers.db -- "$newest" "$here/layers.py" >out 2>err
	has "host time is in the package's function" ';Layer.forward \(net.py\) [0-9]+$' \
		"$("$cufence" report --format folded layers.db)"
fi
finish
