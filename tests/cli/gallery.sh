#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/GALLERY.md: the test apps that it names have, on the simulated device, the findings that it
# shows, at their places.  Times, counts and wording may differ: with --update as second argument,
# the page's excerpts are rewritten.
. "$(dirname "$0")/lib.sh" "$@"
needs "$build/testapps/custom_streams" "$build/tests/helpers/dots" "$build/sim/libcuda.so.1"
page=$(cd "$(dirname "$0")/../.." && pwd)/doc/GALLERY.md
ln -s "$build" "$tmp/build" && cd "$tmp" || exit 1

report() { # COMMAND: what the page shows of its first finding
	eval "$1" 2>&1 >stdout | sed -nE '/^[a-z-]+: .* #1$/,/^$/{ /^[a-z-]|^    ([0-9]|at |for |also |fix )/s/^/    /p; }'
}

facts() { # of an excerpt: rule and places
	sed -nE 's/^    ([a-z-]+): .*#1$/\1/p; /^ +(at|for|also) /{ s/  \(.*\)$//; s/ +/ /gp; }'
}

excerpt() { # COMMAND: the indented lines below it
	awk -v command="    \$ $1" '$0 == command { on = 1; next } !/^    / { on = 0 } on' "$page"
}

ran=0
while IFS= read -r command; do
	ran=$((ran + 1))
	report "$command" >"report.$ran"
	[ "${2:-}" = --update ] && continue
	facts <"report.$ran" | grep -q '^ at '
	ok "$command: has a finding" $?
	same "$command" "$(excerpt "$command" | facts)" "$(facts <"report.$ran")"
done < <(sed -n 's/^    \$ //p' "$page")
if [ "${2:-}" = --update ]; then
	awk '/^    \$ / { print; file = "report." (++n); while ((getline line <file) > 0) print line; on = 1; next }
		!/^    / { on = 0 } !on' "$page" >new && cp new "$page"
fi
same "commands of the page" 13 "$ran"
finish
