#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/annotations.sh BUILD: the user's annotations of kernels replace the results from their code.
# A file with an error is refused, with the line, before anything is run.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
app=$build/testapps/missing_fence_raw
needs "$app"
cd "$tmp" || exit 1

annotate() { # LINE...
	printf '%s\n' "# a comment" "" "$@" >annotations
}

run() { # DATABASE ARGUMENT...
	"$cufence" run --sim -o "$1" "${@:2}" -- "$app" >out 2>err
}

rows() { # DATABASE
	"$cufence" query "$1" "SELECT group_concat(t, ', ') FROM (SELECT DISTINCT k.name || ' ' ||
		a.offset || ' ' || direction || ' ' || ifnull(low, '') || '..' || ifnull(high, '') ||
		' ' || ifnull(a.evidence, c.evidence) || CASE exact WHEN 0 THEN ' at most' ELSE '' END ||
		CASE spins WHEN 1 THEN ' spins' ELSE '' END AS t
		FROM kernel_access a JOIN kernel k ON k.id = a.kernel JOIN kernel_code c
		ON c.kernel = k.id WHERE shape IS NOT NULL ORDER BY k.name, a.offset, direction)"
}

run plain.db
same "by code" "accumulate 8 load 0..65536 ptx, accumulate 16 load 0..65536 ptx, \
accumulate 16 store 0..65536 ptx, fill 8 store 0..65536 ptx" "$(rows plain.db)"
has "the race is found" "^missing-fence: .*certain" "$(cat err)"

annotate "kernel cufence::accumulate(*  # of the app" "1 unused # not now" "2 reads+writes 0..64"
run unused.db --annotations annotations
same "by the user" "accumulate 16 load 0..64 annotation, accumulate 16 store 0..64 annotation, \
fill 8 store 0..65536 ptx" "$(rows unused.db)"
same "no race" "" "$(grep missing-fence err)"
has "a report of accesses says so" "^accumulate.*annotation.*store" \
	"$("$cufence" query unused.db accesses)"

# The same words by their place among all parameters, and within one.
annotate "kernel *accum*" "+8 unused" "kernel *accum*" "1+8 reads" "kernel none #2" "0 reads" "kernel *fill*" \
	"1 writes 128.. spins" "1+0 atomic 256..512"
run places.db --annotations annotations
same "places" "accumulate 16 load 0..65536 ptx, accumulate 16 store 0..65536 ptx, \
fill 8 atomic 256..512 annotation" "$(rows places.db)"
same "a parameter that is not there is said" \
	"cufence: 'annotations', line 6: kernel 'accumulate' has no such parameter that is known" \
	"$(grep "no such parameter" err)"
same "a pattern that no kernel matches is said" \
	"cufence: 'annotations', line 7: no kernel of this run matches 'none'" "$(grep matches err)"

annotate "kernel *fill*" "1 writes 128.. spins"
run kept.db --annotations annotations
has "to the end, waiting" "fill 8 store 128.. annotation spins" "$(rows kept.db)"
cp plain.db again.db
"$cufence" analyze again.db --annotations annotations
same "analyze and load do the same" "$(rows kept.db)" "$(rows again.db)"
annotate "kernel *accumulate*" "1 reads"
"$cufence" analyze again.db --annotations annotations
has "without bytes: at most" "accumulate 8 load 0.. annotation at most" "$(rows again.db)"
has "a finding names it" "seen the later access in the annotation file" \
	"$("$cufence" report --level possible again.db)"

annotate "kernel other*" "0 reads"
"$cufence" analyze again.db --annotations annotations 2>err
same "no kernel of that name" \
	"cufence: 'annotations', line 3: no kernel of this run matches 'other*'" "$(cat err)"
annotate "kernel *accumulate*" "1 unused" "9 reads" "complete"
cp plain.db again.db
"$cufence" analyze again.db --annotations annotations 2>err
same "a kernel that lacks a parameter is left as it is" "$(rows plain.db)" "$(rows again.db)"

# For a kernel whose code is unknown, the annotation is all that is known.
cp plain.db none.db
python3 - <<'END'
import sqlite3
db = sqlite3.connect("none.db")
db.execute("DELETE FROM kernel_access")
db.execute("DELETE FROM shape_code")
db.execute("UPDATE kernel_code SET evidence = 'none', complete = 0, why = 'its code was not found'")
db.commit()
END
annotate "kernel *" "1 writes 0..65536" "complete"
"$cufence" analyze none.db --annotations annotations 2>err
same "complete" "annotation|1|" "$("$cufence" query none.db "SELECT DISTINCT evidence || '|' || complete ||
	'|' || ifnull(why, '') FROM kernel_code c JOIN kernel k ON k.id = c.kernel WHERE name <> 'spin'")"
has "what two write by annotation is likely" "^missing-fence: .*writes.*likely" \
	"$("$cufence" report none.db)"

refused() { # TEXT MESSAGE LINE...
	annotate "${@:3}"
	rm -f refused.db
	run refused.db --annotations annotations
	same "$1: status" 125 $?
	same "$1" "cufence: 'annotations', line $2" "$(cat err)"
	same "$1: nothing was run" "" "$(cat out; ls refused.db 2>/dev/null)"
}
use="is none of reads, writes, reads+writes, atomic and unused"
place="is none of kernel, complete, a parameter (2), a word of one (2+8) or of all (+24)"
bytes="is neither spins nor bytes (0..4096, 0..)"
refused "no kernel yet" "3: '0' comes before the first line of a kernel" "0 reads"
refused "no name" "3: 'kernel' needs the name of a kernel after it" "kernel "
refused "no use" "4: '' $use" "kernel k" "0"
refused "another use" "5: 'read' $use" "kernel k" "0 reads" "1 read"
refused "no place" "4: 'first' $place" "kernel k" "first reads"
refused "a place too far" "4: '+32768' $place" "kernel k" "+32768 reads"
refused "half a place" "4: '1+' $place" "kernel k" "1+ reads"
refused "bytes backwards" "4: '8..8' $bytes" "kernel k" "0 reads 8..8"
refused "bytes of what is not used" "4: '0..8' $bytes" "kernel k" "0 unused 0..8"
refused "more than numbers" "4: '0..8x' $bytes" "kernel k" "0 reads 0..8x"
refused "too much" "4: 'all' comes after complete" "kernel k" "complete all"
"$cufence" load --annotations nowhere a.cft 2>err
same "no file: load" 2 $?
same "no file" "cufence: cannot open 'nowhere': No such file or directory" "$(cat err)"
"$cufence" analyze --annotations . plain.db 2>err
same "a folder: analyze" 2 $?
finish
