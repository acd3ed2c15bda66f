# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh by the scripts that run test apps: what an .expect file asks for.  Its lines
# are findings, and these:
#	# options: OPTION...	of "cufence run", once the program knows them
#	# devices: N		how many the app needs
#	# not yet: FINDING	known to be there, and not found so far: printed, not counted
#	# perhaps: FINDING	true, and found where the time that it costs shows
#	# bites: WHEN		a race on a GPU: never, often (unless said otherwise) or always
apps=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../testapps" && pwd)
rules=$(sed -n 's/^RULE([a-z_]*, "\([^"]*\)".*/\1/p' "$apps/../analyzer/rules/rules.def")

base_of() { # NAME, of any variant: the source it is made of
	local name=$1 suffix
	for suffix in _simstatic _static _ptds _fixed; do
		name=${name%"$suffix"}
	done
	echo "$name"
}

directive() { # APP WORD
	sed -n "s/^# $2: //p" "$apps/$(base_of "$1").expect" 2>/dev/null
}

devices_of() { # APP
	local devices
	devices=$(directive "$1" devices)
	echo "${devices:-1}"
}

options_of() { # APP CUFENCE
	local option
	for option in $(directive "$1" options); do
		"$2" help run | grep -q -- "$option" && echo "$option"
	done
}

# Prints, for each text in these files of apps that matches, the app that has it first.
first_with() { # PATTERN FILE...
	grep -oHE -- "$1" "${@:2}" | sed 's,^.*/,,' | awk -F '[.:]' '!seen[$3]++ { print $1 }'
}

# The apps that between them call all runtime functions and have a finding of each rule.  They run
# with a static runtime, too, where each function is reached in another way, and are exported.
chosen_apps() {
	{
		first_with '\<cuda[A-Z][A-Za-z0-9]*\(' "$apps"/*.cu
		first_with '^[a-z-]+' "$apps"/*.expect
	} | sort -u
}

# Whether the app itself (not its twin) has a race, whose outcome is anybody's guess.
races() { # APP
	local base
	base=$(base_of "$1")
	[[ $1 != *_fixed* ]] && grep -qE \
		'^(missing-fence|host-buffer|early-host|async-alloc|wrong-device)' "$apps/$base.expect"
}

has_twin() { # APP
	grep -qw FIXED "$apps/$1.cu"
}

has_per_thread() { # APP
	grep -q 'per-thread variant' "$apps/$1.cu"
}

# The places of an .expect file where the source has another function: a line has moved.
lost_places() { # APP
	grep -v '^#' "$apps/$1.expect" | grep -o '[a-zA-Z_0-9]*:[0-9][0-9]*' | awk -F: '
		NR == FNR {
			if (/^[a-z].*\(/) {
				match($0, /[a-zA-Z_0-9]+\(/)
				name = substr($0, RSTART, RLENGTH - 1)
			}
			function_at[FNR] = name
			next
		}
		function_at[$2] != $1' "$apps/$1.cu" -
}

# The lines of an .expect file; of "certain|likely" what was found, if that is likely.
wanted_findings() { # EXPECT-FILE GOT
	awk 'NR == FNR { got[$0]; next }
		sub(/^# perhaps: /, "") { if ($0 in got) print; next }
		/^#/ { next }
		{
			likely = $0
			sub(/certain\|likely/, "likely", likely)
			sub(/certain\|likely/, "certain")
			print likely in got ? likely : $0
		}' <(printf '%s\n' "$2") "$1" | sort
}

# Compares; a finding that is missing because its rule does not exist yet is printed, not counted.
findings() { # NAME EXPECT-FILE GOT
	local line missing="" wanted
	sed -n "s/^# not yet:/not found yet: $1:/p" "$2"
	wanted=$(wanted_findings "$2" "$3")
	if [ "$wanted" = "$(sort <<<"$3")" ]; then
		ok "$1: expected and not found" 0
		ok "$1: found and not expected" 0
		return
	fi
	while IFS= read -r line; do
		if grep -qxF -- "$(sed 's/[: ].*//' <<<"$line")" <<<"$rules"; then
			missing+=$line$'\n'
		else
			echo "not found yet: $1: $line"
		fi
	done < <(comm -23 <(printf '%s' "${wanted:+$wanted$'\n'}") <(sort <<<"$3"))
	same "$1: expected and not found" "" "${missing%$'\n'}"
	same "$1: found and not expected" "" \
		"$(comm -13 <(printf '%s' "${wanted:+$wanted$'\n'}") <(sort <<<"$3" | sed '/^$/d'))"
}

# Prints the status that "cufence check" should return: 1 if a finding of an existing rule is
# expected.  A finding of unordered accesses counts only if it is certain; "# check: passes" stands
# where a finding is about values that are read, which check accepts.
check_status() { # EXPECT-FILE
	local status=0 rule level rest
	grep -q '^# check: passes' "$1" && { echo 0; return; }
	while read -r rule level rest; do
		[[ $level,$rule = likely,@(missing-fence|host-buffer|async-alloc|accidental)* ]] && continue
		[ "$level" != possible ] && [[ $'\n'$rules$'\n' = *$'\n'"${rule%%:*}"$'\n'* ]] && status=1
	done < <(grep -v '^#' "$1")
	echo "$status"
}

# Prints what was not found yet (once per app, not per variant) or not run, according to the logs.
summarize() { # LOG...
	local found run
	found=$(cat "$@" | sed -n 's/^\(not found yet: [a-z_0-9]*\)_simstatic:/\1:/;
		s/^\(not found yet: [a-z_0-9]*\)_static:/\1:/; /^not found yet/p' | sort -u)
	run=$(cat "$@" | grep '^not run')
	[ -z "$found" ] || printf '%s\n%d findings not found yet, their rules do not exist\n' \
		"$found" "$(wc -l <<<"$found")"
	[ -z "$run" ] || printf '%s\n%d programs not run\n' "$run" "$(wc -l <<<"$run")"
}
