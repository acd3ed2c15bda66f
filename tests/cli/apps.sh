#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/apps.sh BUILD [NAME...]: every test app and its fixed twin on the simulated device, with
# a shared runtime and some with a static one: traced, each prints and returns what it does untraced,
# and has the findings of its .expect file and no others, and fails "cufence check"; a twin, a clean
# program and a per-thread variant have none and pass.  Prints what is expected of rules that do not
# exist yet, and what was not run.
. "$(dirname "$0")/lib.sh" "$@"
. "$(dirname "$0")/expect.sh"
shift
cufence=$build/bin/cufence
needs "$cufence" "$build/sim/libcuda.so.1" "$build/tests/helpers/conforms" "$build/tests/helpers/at_once"

# Prints the lines "# possible: RULE FUNCTION:LINE" of an .expect file that hold.  A twin has no such
# lines: prints any finding of a rule that the app's file has as possible.
possible="SELECT DISTINCT '# possible: ' || f.rule || ' ' || a.function || ':' || a.line \
	FROM finding f JOIN finding_place p ON p.finding = f.id JOIN site a ON a.id = p.site \
	WHERE p.confidence = 'possible'"
possible_of() { # FILE-OF-ALL
	[ -z "$possible_rules" ] || grep -E "^# possible: (${possible_rules//$'\n'/|}) " "$1" | sort
}

# All that is asked of one database.  Formats are exported, to check all files together, of the apps that
# call all functions and have findings of all rules; formats.sh has the golden traces.
questions() { # NAME DB
	local to=$tmp/$1 format
	line "$to.found" query "$2" expect
	line "$to.possible" query "$2" "$possible"
	line "$to.unmatched" query "$2" unmatched
	line "$to.keys" query "$2" 'PRAGMA foreign_key_check'
	line /dev/null check "$2"
	line "$to.json" report --level possible --format json "$2"
	[[ $1 = "$base" && $chosen = *" $1 "* ]] || return
	for format in $kinds; do
		line /dev/null report --level possible --format "$format" -o "$tmp/formats/$1.$format" "$2"
	done
}

check_app() { # NAME EXPECT-FILE|/dev/null
	local program=$build/testapps/$1 db=$tmp/$1.db bare traced status
	if [ ! -x "$program" ]; then
		ok "$1: is built" 1
		return
	fi
	bare=$(LD_LIBRARY_PATH=$build/sim timeout 30 "$program" 2>"$tmp/$1.err")
	status=$?
	if [ -s "$tmp/$1.err" ] && grep -q 'is not supported' "$tmp/$1.err"; then
		echo "not run: $1: $(grep -m 1 'is not supported' "$tmp/$1.err")"
		return
	fi
	same "$1: runs" 0 "$status"
	[ "$status" -eq 0 ] || sed 's/^/#   /' "$tmp/$1.err" | head -n 5
	traced=$(timeout 60 "$cufence" run --sim $options -o "$db" -- "$program" \
		2>"$tmp/$1.report")
	status=$?
	same "$1: exit status" 0 "$status"
	[ "$status" -eq 0 ] || sed 's/^/#   /' "$tmp/$1.report" | head -n 20
	same "$1: output" "$bare" "$traced"
	# Of each question the status is 0, but for check.
	status=($(questions "$1" "$db" | "$build/tests/helpers/at_once" "$db" 2>"$tmp/$1.err"))
	findings "$1" "$2" "$(<"$tmp/$1.found")"
	same "$1: possible" "$([ -z "$possible_rules" ] || grep '^# possible:' "$2")" \
		"$(possible_of "$tmp/$1.possible")"
	same "$1: exit status of check" "$(check_status "$2")" "${status[4]-}"
	unset 'status[4]'
	[[ ${status[*]-} =~ ^0(\ 0)*$ ]]
	ok "$1: all questions are answered, all formats written: ${status[*]-}" $?
	"$build/tests/helpers/conforms" "$apps/../doc/report.schema.json" "$tmp/$1.json"
	ok "$1: its JSON conforms to the schema" $?
	same "$1: every operation has its call" "" "$(<"$tmp/$1.unmatched")"
	same "$1: foreign keys hold" "" "$(<"$tmp/$1.keys")"
	[[ $1 != "$base" || $chosen != *" $1 "* ]] || mv "$tmp/$1.json" "$tmp/formats/"
	rm -rf "$db"* "$tmp/$1".*
}

# Every second app, so that two processors have something to do.
check_half() { # 0|1 NAME...
	local half=$1 number=0 name variant base possible_rules options
	export CUFENCE_SIM_DEVICES
	shift
	for name in "$@"; do
		base=$name
		[ $((number++ % 2)) -eq "$half" ] || continue
		[ -e "$apps/$name.expect" ]
		ok "$name: has an .expect file" $?
		same "$name: lines of its .expect file" "" "$(lost_places "$name")"
		CUFENCE_SIM_DEVICES=$(devices_of "$name")
		options=$(options_of "$name" "$cufence")
		possible_rules=$(sed -n 's/^# possible: \([^ ]*\) .*/\1/p' "$apps/$name.expect" | sort -u)
		for variant in "" _simstatic; do
			[ -z "$variant" ] || { "$twins" && [[ $chosen = *" $name "* ]]; } || continue
			check_app "$name$variant" "$apps/$name.expect"
			"$twins" && has_twin "$name" && check_app "${name}_fixed$variant" /dev/null
		done
		"$twins" && has_per_thread "$name" && check_app "${name}_ptds" /dev/null
	done
	echo "$passed $failed" >"$tmp/counts.$half"
}

# Sanitizers look at our code, whatever the findings are: of the programs that reach the same of it one
# is enough, the first with a finding of each rule.  run.sh tests the static runtime.
chosen=" $(chosen_apps | xargs) " twins=true
if sanitized; then
	twins=false
	[ $# -gt 0 ] || set -- $(first_with '^[a-z-]+' "$apps"/*.expect | sort -u)
fi
[ $# -eq 0 ] || chosen=" $* "

mkdir "$tmp/formats"
kinds=$(python3 "$apps/../tests/formats/formats.py" --kinds)
[ $# -gt 0 ] || set -- $(cd "$apps" && ls -- *.cu | sed 's/\.cu$//')
for half in 0 1; do
	check_half "$half" "$@" >"$tmp/half.$half" &
done
wait
for half in 0 1; do
	read -r p f <"$tmp/counts.$half" || f=1
	passed=$((passed + p)) failed=$((failed + f))
done
cat "$tmp"/half.* | grep -v '^not found yet\|^not run'
summarize "$tmp"/half.*
if command -v python3 >/dev/null; then
	python3 "$apps/../tests/formats/formats.py" "$tmp/formats"
	ok "all formats are what they ask for, and what the report says" $?
	schema_of_sarif "$tmp/formats"
fi
finish
