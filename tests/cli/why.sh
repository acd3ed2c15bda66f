#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what "cufence why" says orders two operations, with traces from an H200.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

for app in double_buffer free_in_loop legacy_between_streams missing_fence_raw; do
	golden_text "$app" | "$cufence" undump - -o "$app.cft" &&
		"$cufence" load "$app.cft" -o "$app.db" 2>/dev/null
	ok "$app loads" $?
done
why() { "$cufence" why "$1.db" "$2" "$3"; }

# By an event: the copy of a round, the record after it, the kernel after the wait.
copy=$("$cufence" query double_buffer.db "SELECT min(id) FROM operation WHERE copy_kind = 1")
kernel=$("$cufence" query double_buffer.db "SELECT min(id) FROM operation WHERE kind = 'kernel'")
got=$(why double_buffer "$copy" "$kernel")
has "an event orders" '^ordered, guaranteed$' "$got"
has "it is named" "then kernel 'stencil' .*a wait for an event recorded after it" "$got"
same "the order of the arguments does not matter" "$got" "$(why double_buffer "$kernel" "$copy")"
same "first, one step, times, memory" 5 "$(printf '%s\n' "$got" | wc -l)"

has "what they share" 'both use device memory of 262144 bytes, double_buffer.cu:19: the first writes bytes 0 to 262144; the second' \
	"$got"

# Operations that overlapped are not ordered, and it says that they did.
pair=$("$cufence" query double_buffer.db "SELECT a.id || ' ' || b.id FROM operation a, operation b
	WHERE a.call < b.call AND a.stream <> b.stream AND a.start < b.end AND b.start < a.end LIMIT 1")
ok "some overlap" $([ -n "$pair" ]; echo $?)
# shellcheck disable=SC2086
got=$(why double_buffer $pair)
has "nothing orders them" '^nothing orders them$' "$got"
has "they overlapped" 'the second one started .* before the first one ended' "$got"

# The legacy default stream.
pair=$("$cufence" query legacy_between_streams.db "SELECT a.id || ' ' || min(b.id)
	FROM operation a JOIN operation b ON b.id > a.id JOIN stream s ON s.id = a.stream
	JOIN stream t ON t.id = b.stream WHERE a.kind = 'kernel' AND b.kind = 'kernel'
	AND s.kind = 'legacy' AND t.kind = 'blocking' GROUP BY a.id ORDER BY a.id LIMIT 1")
# shellcheck disable=SC2086
got=$(why legacy_between_streams $pair)
has "the legacy stream" 'by the rule of the legacy default stream$' "$got"

# cudaFree between two streams: it waited, which nothing promises.
pair=$("$cufence" query free_in_loop.db "SELECT max(a.id) || ' ' || b.id FROM operation a JOIN
	operation b ON b.call > a.call AND b.stream <> a.stream AND a.kind = b.kind JOIN stream s
	ON s.id = a.stream WHERE a.kind = 'kernel' AND s.kind <> 'legacy' GROUP BY b.id
	ORDER BY b.id LIMIT 1")
# shellcheck disable=SC2086
got=$(why free_in_loop $pair)
has "cudaFree orders by chance" '^ordered in this run, but CUDA does not guarantee it$' "$got"
has "cudaFree is named" 'then cudaFree, free_in_loop.cu:[0-9]* .*although CUDA does not guarantee that$' "$got"

# All pairs of a run have an answer, and no verdict of an order goes without its chain.
ids=$("$cufence" query double_buffer.db "SELECT id FROM operation ORDER BY id LIMIT 14")
for a in $ids; do
	for b in $ids; do
		[ "$a" -lt "$b" ] && why double_buffer "$a" "$b"
	done
done >answers
same "one verdict a pair" 91 "$(grep -c '^[a-z]' answers)"
same "each order has its chain" "$(grep '^ordered' answers | grep -vc 'same stream')" \
	"$(awk '/^[a-z]/ { o = /^ordered/ && !/same stream/ } o && /^    then/ && !seen { n++ } { seen = o && /^    then/ }
	END { print n }' answers)"

# The order that a report prints.
for app in missing_fence_raw legacy_between_streams; do
	"$cufence" report --all --finding 1 $app.db >finding
	command=$(sed -n 's/^    what orders them: //p' finding)
	has "$app: a finding names the command" "^cufence why $app.db [0-9]+ [0-9]+$" "${command:-none}"
	same "$app: of its two operations" "$(eval "${command/cufence/\"\$cufence\"}")" "$("$cufence" why $app.db '#1')"
	same "$app: without # as well" "$("$cufence" why $app.db '#1')" "$("$cufence" why $app.db 1)"
done
cp missing_fence_raw.db cufence.db
same "the database may be left out" "$("$cufence" why missing_fence_raw.db 1 3)" "$("$cufence" why 1 3)"
same "a finding, too" "$("$cufence" why missing_fence_raw.db 1)" "$("$cufence" why 1)"
pair=$("$cufence" query double_buffer.db "SELECT a.id || ' ' || b.id FROM operation a JOIN operation b
	ON b.stream = a.stream AND b.call > a.call ORDER BY a.id, b.id LIMIT 1")
# shellcheck disable=SC2086
got=$(why double_buffer $pair)
has "one stream is said in a line" '^ordered, guaranteed: same stream, first .*, then .*$' "$got"
same "without a chain" 0 "$(grep -c '^    then' <<<"$got")"

refuses() { # TEXT PATTERN ARGUMENT...
	local text=$1 pattern=$2
	shift 2
	"$cufence" why "$@" >out 2>err
	same "$text: status" 2 $?
	same "$text: nothing on stdout" "" "$(cat out)"
	has "$text: message" "$pattern" "$(cat err)"
}
refuses "not a number" "'x' is no operation" free_in_loop.db 1 x
refuses "no such operation" 'there is no operation 1000000' free_in_loop.db 1000000 1
refuses "no database" 'nothing.db' nothing.db 1 2
refuses "no such finding" 'no finding 99 .*report --all' free_in_loop.db 99
refuses "a finding of one operation" 'report --finding 1' free_in_loop.db '#1'
refuses "nothing but a database" 'number of a finding' free_in_loop.db
refuses "no number at all" "'' is no operation" free_in_loop.db 1 ''
refuses "nothing" "'0' is no operation" free_in_loop.db 0 1
refuses "the same one twice" '^cufence why: both are operation 1: name two different ones$' free_in_loop.db 1 1
golden_text peer_copy_apart | "$cufence" undump - -o peer.cft && "$cufence" load peer.cft -o peer.db
pair=$("$cufence" query peer.db "SELECT a.id || ' ' || b.id FROM operation a JOIN operation b
	ON a.call = b.call AND a.id < b.id LIMIT 1")
# shellcheck disable=SC2086
has "one call" 'parts of one call' "$(why peer $pair)"
finish
