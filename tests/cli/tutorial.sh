#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/TUTORIAL.md: its commands run on the simulated device, and print the lines that follow them on
# the page.  Commands without --sim need a GPU and are left out.
. "$(dirname "$0")/lib.sh" "$@"
needs "$build/tutorial/batches2" "$build/sim/libcuda.so.1"
page=$(cd "$(dirname "$0")/../.." && pwd)/doc/TUTORIAL.md
ln -s "$build" "$tmp/build" && cd "$tmp" || exit 1

# Beside other work a try may find the two apart.
any_tries() { sed -E 's/[0-9]+ of ([0-9]+) tries/N of \1 tries/'; }

run() { # COMMAND: sets $said; a run without a finding passes the check
	local status
	said=$(eval "$1" 2>&1 | any_tries)
	[[ $1 = *" run "* ]] || return
	build/bin/cufence check cufence.db >/dev/null 2>&1
	status=$?
	same "$1: check" "$(grep -q '^no findings' <<<"$said" && echo 0 || echo 1)" "$status"
	right=$(grep '^sum ' <<<"$said")
}

ran=0 command=
while IFS= read -r line; do
	case $line in
	'    $ build/'* | '    $ cat '*)
		command=${line#    \$ } ran=$((ran + 1))
		run "$command"
		;;
	'    sum '*) # as it has to be, and of a held run as it must not be
		if [ "$command" = 'cat sum.txt' ]; then
			[[ $said = 'sum '* && $said != "$right" ]]
		else
			grep -qxF -- "${line#    }" <<<"$said"
		fi
		ok "$command: $line" $?
		;;
	'    '[!\$]*)
		[ -z "$command" ] && continue
		grep -qF -- "$(any_tries <<<"${line#    }")" <<<"$said"
		ok "$command: $line" $?
		;;
	*) command= ;;
	esac
done <"$page"
same "commands of the page" 10 "$ran"
finish
