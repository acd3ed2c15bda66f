#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of commands and what must agree with it: help, the manual page, usage errors.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

commands=$("$cufence" help | sed -n 's/^    \([a-z-]*\) .*/\1/p')
has "help lists commands" '^run$' "$commands"
manual=$(sed 's/\\-/-/g; s/\\f.//g' "$root/doc/cufence.1")
for command in $commands; do
	help=$("$cufence" help "$command")
	ok "help $command" $?
	has "help $command says how to use it" "^usage: cufence $command " "$help"
	same "$command --help is the same" "$help" "$("$cufence" "$command" --help)"
	has "the manual has $command" "^\.B $command$" "$manual"
	for option in $(printf '%s\n' "$help" | sed -n 's/^    \(-[a-z-]*\).*/\1/p'); do
		section=$(printf '%s\n' "$manual" | awk -v c="$command" '
			/^\.SH/ { inside = 0 } /^\.RS/ { nested = 1 } /^\.RE/ { nested = 0 }
			before == ".TP" && !nested && /^\.B / { inside = $2 == c }
			{ before = $0 } inside')
		has "the manual has $command $option" "$option( |$)" "$section"
	done
done

# --- completion, of every command and option ---
"$cufence" completion bash >bash
complete_words() { # WORD...: what completes the last one
	bash --norc -c 'source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cufence; printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$@" | sort
}
same "completion knows all commands" "$(sort <<<"$commands")" "$(complete_words cufence '' | grep -v '^-')"
for command in $commands; do
	same "completion knows the options of $command" \
		"$({ "$cufence" help "$command" | sed -n 's/^    \(-[a-z-]*\).*/\1/p'; echo --help; } | sort)" \
		"$(complete_words cufence "$command" - | sort)"
done
same "and choices" $'certain\nlikely\npossible' "$(complete_words cufence report --level '')"
same "and rules" "blocking-free" "$(complete_words cufence help blocking-f)"
same "and named queries" "waits" "$(complete_words cufence query x.db wai)"
touch some.db
same "and files" "some.db" "$(complete_words cufence report so)"
same "and files behind options" "some.db" "$(complete_words cufence run -o so)"
has "and the program's own words" '^some.db$' "$(complete_words cufence run --sim -- ls so)"
if command -v zsh >/dev/null; then
	"$cufence" completion zsh >zsh
	same "zsh takes it" "" "$(zsh -fc 'autoload -U compinit && compinit -u -d ./dump; source ./zsh' 2>&1)"
else
	echo "skipped: no zsh: its completion"
fi
if command -v fish >/dev/null; then
	"$cufence" completion fish >fish
	fish_words() { # LINE: what completes it
		HOME=$tmp fish --no-config -c 'source ./fish; complete -C "$argv[1]"' "$1" | cut -f1 | sort
	}
	same "fish: commands" "$(sort <<<"$commands")" "$(fish_words 'cufence ')"
	for command in $commands; do
		same "fish: options of $command" \
			"$({ "$cufence" help "$command" | sed -n 's/^    \(-[a-z-]*\).*/\1/p'; printf '%s\n' --help --version; } | sort)" \
			"$(fish_words "cufence $command -")"
	done
	same "fish: choices" $'certain\nlikely\npossible' "$(fish_words 'cufence report --level ')"
	same "fish: rules" "blocking-free" "$(fish_words 'cufence help blocking-f')"
	same "fish: files" "some.db" "$(fish_words 'cufence report so')"
	has "fish: the program's own words" '^some.db$' "$(fish_words 'cufence run --sim -- ls so')"
else
	echo "skipped: no fish: its completion"
fi

# Rules are explained offline, as doc/RULES.md has them.
rules=$(sed -n 's/^RULE([a-z_]*, "\([^"]*\)".*/\1/p' "$root/analyzer/rules/rules.def")
listed=$("$cufence" help rules)
for rule in $rules; do
	has "help rules lists $rule" "^    $rule +[A-Z]" "$listed"
	text=$("$cufence" help "$rule")
	for part in '^    [^ ].*;|^    [a-z]' '^Fix in CUDA C\+\+:$' '^Fix in PyTorch:$' '^Why\. ' '^Limits\. ' \
		'^NVIDIA.s documentation: https://'; do
		has "help $rule: $part" "$part" "$text"
	done
	same "help $rule has no marks of Markdown" "" "$(grep -E '^```|\*\*|^#' <<<"$text")"
	same "help $rule is its part of the page" 1 "$(grep -c '^Why\. ' <<<"$text")"
	same "help $rule fills 80 columns" "" "$(awk '!/^    / && !/^NVIDIA/ && length > 80' <<<"$text")"
done

status() { # TEXT WANTED COMMAND...
	local text=$1 wanted=$2
	shift 2
	"$@" >out 2>err
	same "$text" "$wanted" "$?"
	[ "$wanted" -eq 0 ] || { [ -s err ] && [ ! -s out ]; ok "$text: message on stderr only" $?; }
}

status "unknown command" 2 "$cufence" frobnicate
status "no such shell" 2 "$cufence" completion tcsh
status "help for nothing that is" 2 "$cufence" help frobnicate
status "unknown option" 2 "$cufence" report --frobnicate x.db
has "names the option" "'--frobnicate'" "$(cat err)"
for command in why confirm; do
	has "help $command has examples" "^    cufence $command run.db 1 " "$("$cufence" help $command)"
done
status "unknown option again" 2 "$cufence" report --frobnicate x.db
same "and none that is not like it" 0 "$(grep -c 'did you mean' err)"
meant() { # WORD COMMAND...: it is what was meant
	local word=$1
	shift
	"$@" >out 2>err
	has "$*: did you mean" "; did you mean '$word'\\? \\(see " "$(cat err)"
}
meant report "$cufence" repotr
meant --format "$cufence" report --fromat json x.db
meant --level "$cufence" report --levle=likely x.db
meant blocking-free "$cufence" help bloking-free
meant missing-fence "$cufence" check --fail-on high,missing-fences x.db
status "missing argument" 2 "$cufence" report --top
status "argument to a flag" 2 "$cufence" query --list=yes
status "missing operand" 2 "$cufence" load
status "too many operands" 2 "$cufence" report a.db b.db
status "no such database" 2 "$cufence" report none.db
status "bad number" 2 "$cufence" report --top many
status "bad level" 2 "$cufence" report --level sure
status "bad format" 2 "$cufence" report --format xml
status "run without a command" 125 "$cufence" run
status "run with a bad option" 125 "$cufence" run --frobnicate -- true
status "version" 0 "$cufence" --version
"$cufence" >out 2>err
same "no command at all" 2 "$?"

same "doc/SCHEMA.md is what schema.def says" "$(awk -f "$root/doc/schema.awk" "$root/analyzer/store/schema.def")" \
	"$(cat "$root/doc/SCHEMA.md")"
if [ -x "$build/testapps/free_in_loop" ]; then
	finding() { sed -nE '/^(    )?blocking-free:/,/ see /{s/^    //;s/[0-9.]+ m?s|[0-9]+ %/N/g;p;}'; }
	same "the finding in README.md is what its program gets" "$(finding <"$root/README.md")" \
		"$("$cufence" run --sim -- "$build/testapps/free_in_loop" 2>&1 >/dev/null | sed 's/^/    /' | finding)"
fi
finish
