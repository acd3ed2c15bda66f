#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cufence shake on the simulated device: order by luck is found in at most ten runs, by a seed that
# finds it again, and order that is none of luck stays silent.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
lucky=$build/tests/helpers/lucky
apps=$build/testapps
needs "$cufence" "$build/lib/libcufence-hold.so" "$build/sim/libcuda.so.1" "$lucky"
cd "$tmp" || exit 1
shake() { # DATABASE ARGUMENT...: what it says, and its status
	local database=$1
	shift
	timeout -k 5 100 "$cufence" shake --sim -o "$database" "$@" 2>err
	echo "status $?"
}
race="^missing-fence: kernel '(touch|accumulate)' .* nothing orders them"

for kind in pool stream thread; do
	"$cufence" run --sim --quiet -o plain.db -- "$lucky" $kind >/dev/null 2>&1
	# Beside other work a thread may be late by itself.
	[ $kind = thread ] || same "$kind: a plain run shows nothing" 0 \
		"$("$cufence" query plain.db "SELECT count(*) FROM finding WHERE rule = 'missing-fence'")"
	said=$(shake $kind.db -- "$lucky" $kind)
	has "$kind: ten runs show the race" "$race" "$said"
	has "$kind: it is a finding" '^status 1$' "$said"
	has "$kind: and in the database" "$race" "$("$cufence" report $kind.db)"
	said=$(shake fixed.db -- "$lucky" $kind fixed)
	has "$kind: the fixed one has none" '^no races in 10 shaken runs$' "$said"
	has "$kind: ... which is no finding" '^status 0$' "$said"
	same "$kind: nor another output" 0 "$(grep -c 'another one' <<<"$said")"
	same "$kind: nor a shaken process in the database" 1 "$("$cufence" query fixed.db 'SELECT count(*) FROM process')"
done

# The first seed that shows it does so again, with the hold that it needs; on a busy machine a try without
# another one may have missed it.
said=$(shake pool.db -- "$lucky" pool)
has "how many runs show it, which seed, and the holds" \
	"^    seen [0-9]+ of 10 shaken runs show it, the plain run does not; --seed [0-9]+ does, with (the stream held for [^;]*; )*the stream held for up to [0-9.]+ ms before call [0-9]+ of kernel 'touch' on stream [0-9]+ \(lucky.cu:[0-9]+\)" "$said"
seed=$(sed -n 's/.*--seed \([0-9]*\) does.*/\1/p' <<<"$said" | head -n 1)
again=$(shake again.db --runs 1 --seed "${seed:-0}" -- "$lucky" pool)
has "the seed reproduces" "$race" "$again"
same "... and is the only run" "seed $seed:" "$(sed -n 's/^\(seed [0-9]*:\).*/\1/p' <<<"$again")"
holds() { sed -n 's/.*does, with \(the stream.*\)/\1/p' <<<"$1"; }
[ "$(holds "$said" | tr ';' '\n' | wc -l)" -le 4 ]
ok "the set of holds is short" $?

# All holds of a run take no longer than the plain run; each ends a little late.
same "holds are bounded, and so is a run" "" "$(awk '$1 == "plain" { most = $3 }
	$1 == "seed" && ($9 > most * 1.5 + 20 || $3 > most * 4 + 1000)' <<<"$said")"

# What else reads the database.
has "the report says how it was found" '^    test shaken: [0-9]+ of 10 shaken runs show it' "$("$cufence" report pool.db)"
has "JSON" '"confirmation":{"result":"shaken","how":"' "$("$cufence" report --format json pool.db)"
"$cufence" check pool.db >said 2>&1
same "check fails" 1 $?
has "... and says it" '; shaken: ' "$(cat said)"
"$cufence" analyze pool.db
has "analyze keeps it" '^    test shaken: ' "$("$cufence" report pool.db)"
has "a shaken process names its seed" "^$seed\$" "$("$cufence" query pool.db \
	"SELECT value FROM property WHERE name = 'CUFENCE_SHAKE'")"
same "nothing else is concluded from it" "fences" "$("$cufence" query pool.db "SELECT DISTINCT
	iif(rule IN ('missing-fence', 'accidental-order'), 'fences', rule) FROM finding f
	JOIN property p ON p.process = f.process AND p.name = 'CUFENCE_SHAKE'")"
"$cufence" check --shake 10 --sim checked.db -- "$lucky" pool >/dev/null 2>&1
same "check --shake finds it" 1 $?
"$cufence" check --shake 10 --sim --fail-on missing-fence fixed.db -- "$lucky" pool fixed >/dev/null 2>said
same "... and accepts the fixed one" 0 $?

# Queries may be told that the work goes on, where the program cannot know better.
said=$(shake polling.db -- "$apps/polling_query")
has "queries are not ready" '^seed.*queries not ready [1-9]' "$said"
has "... and a loop of them goes on" '^no races in 10 shaken runs$' "$said"
same "... with the same output" 0 "$(grep -c 'another one' <<<"$said")"

# The output, as the program wrote it or as a command judges it.
said=$(shake out.db --runs 2 -- sh -c '"$0" pool fixed; echo "x$CUFENCE_SHAKE"' "$lucky")
same "outputs are compared" 2 "$(grep -c '^seed .*; its output is another one$' <<<"$said")"
has "... which alone is no finding" '^status 0$' "$said"
said=$(shake out.db --runs 2 --check 'grep buffer' -- sh -c '"$0" pool fixed; echo "x$CUFENCE_SHAKE"' "$lucky")
has "a command may look at a part of it" '^status 0$' "$(grep -v 'output' <<<"$said")"
same "... which is the same" 0 "$(grep -c 'output' <<<"$said")"
said=$(shake out.db --runs 2 --check '! grep "x[12]"' -- sh -c '"$0" pool fixed; echo "x$CUFENCE_SHAKE"' "$lucky")
same "... or is wrong" 2 "$(grep -c '^seed .*; the output is wrong$' <<<"$said")"
has "... which is a failure" '^status 1$' "$said"
said=$(shake out.db --check '! grep "x[1-9]"' -- sh -c '"$0" pool; echo "x$CUFENCE_SHAKE"' "$lucky")
has "... with the pair that may have made it" \
	'^seed .*; the output is wrong, with the race at lucky.cu:[0-9]+ after lucky.cu:[0-9]+$' "$said"
has "a command that always fails says nothing" '^status 2$' "$(shake out.db --runs 1 --check false -- "$lucky" pool)"
has "... and that is said" "'false' fails for the run that nothing disturbs" "$(cat err)"

# Usage.
has "no CUDA" '^status 2$' "$(shake none.db -- true)"
has "no such number" '^status 2$' "$(shake none.db --runs 0 -- "$lucky" pool)"
has "... is said" "^cufence shake: --runs is a number from 1 to 1000, not '0'$" "$(cat err)"
has "check needs a command" 'add -- CMD' "$("$cufence" check --shake 2 pool.db 2>&1)"
has "... and a command --shake" 'are for --shake only' "$("$cufence" check pool.db -- true 2>&1)"
has "check takes one database" "one database, not 'b.db', too" "$("$cufence" check pool.db b.db 2>&1)"
same "nothing is left behind" "" "$(ls | grep traces)"
finish
