#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/RULES.md has a section for each rule, with all its parts in one order, and the test apps that it
# names expect the rule.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/doc/RULES.md
rules=$(sed -n 's/^RULE([a-z_]*, "\([a-z-]*\)".*/\1/p' "$root/analyzer/rules/rules.def")
parts='```cuda|Fix in CUDA C\+\+:|Fix in PyTorch:|Test apps: .*|\*\*Why\.\*\* .*|\*\*When it fires\.\*\* .*|\*\*Limits\.\*\* .*'
sections=$(sed -n 's/^## \([a-z]*-[a-z-]*\)$/\1/p' "$page" | sort)

titles() { # of rules.def, as the page has them
	tr -d '\n\t' <"$root/analyzer/rules/rules.def" | sed 's/RULE(/\n&/g; s/""//g' |
		sed -nE 's/^RULE\([a-z_]*, "([a-z-]*)", [a-z]*, "[a-z]*","([^"]*)".*/\1 *\2.*/p'
}
same "the titles of rules.def" "$(titles | sort)" \
	"$(awk '/^## / { rule = $2; next } /^\*[^*]*\.\*$/ { print rule, $0 }' "$page" | sort)"
same "a section for each rule" "$(sort <<<"$rules")" "$sections"
for rule in $rules; do
	section=$(awk -v rule="## $rule" '/^## / { inside = $0 == rule } inside' "$page")
	same "$rule: its parts" "cuda CUDA PyTorch Test Why When Limits" \
		"$(grep -E "^($parts)$" <<<"$section" | uniq | awk '
			/^```cuda/ { if (!n++) printf "cuda "; next }
			{ gsub(/[*.:]/, ""); print $1 == "Fix" ? $3 : $1 }' | tr '\n' ' ' | sed 's/ $//')"
	lines=$(awk '/^```cuda/ { inside = 1; next } /^```/ { exit } inside' <<<"$section" | wc -l)
	[ "$lines" -ge 1 ] && [ "$lines" -le 5 ]
	ok "$rule: its example has five lines or less, not $lines" $?
	for app in $(sed -n '/^Test apps: /,/^$/p' <<<"$section" | grep -o '`[a-z_0-9]*`' | tr -d '`'); do
		grep -q "$rule" "$root/testapps/$app.expect" 2>/dev/null
		ok "$rule: $app expects it" $?
	done
done
finish
