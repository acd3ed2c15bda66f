#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/device_code.sh BUILD: a trace says where the code of each kernel is: in a file of the
# program's, or in the trace's folder of images, once for all processes of a run.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$build/testapps/module_load_in_loop" "$build/testapps/free_in_loop" \
	"$build/tests/helpers/separate" "$build/tests/helpers/images"
cd "$tmp" || exit 1

record() { # DATABASE COMMAND...: the traces are in DATABASE.traces
	local database=$1
	shift
	"$cufence" run --sim --keep-trace -o "$database" -- "$@" >out 2>err
	ok "$*: recorded" $?
	mv "$database".traces-* "$database.traces"
}

evidence() { # DATABASE
	"$cufence" query "$1" "SELECT group_concat(DISTINCT evidence || ' ' || ifnull(why, '-'))
		FROM kernel_code"
}

record file.db "$build/testapps/free_in_loop"
same "a container of the program's file for each kernel" "2 $build/testapps/free_in_loop" "$("$cufence" \
	query file.db "SELECT count(DISTINCT f.offset) || ' ' || path FROM kernel_image k
	JOIN image_file f ON f.hash = k.hash" | xargs)"
same "nothing beside the trace" "" "$(ls file.db.traces | grep -v '\.cft$')"
same "nothing of a file is copied" 0 "$("$cufence" dump file.db.traces/*.cft | grep -c '^image ')"

record separate.db "$build/tests/helpers/separate"
same "relocatable code: what it was linked from, too" "3 1" "$("$cufence" query separate.db \
	"SELECT count(DISTINCT offset) || ' ' || count(DISTINCT hash) FROM image_file")"
has "its PTX is found" '^ptx' "$(evidence separate.db)"

record memory.db sh -c "'$build/testapps/module_load_in_loop' & '$build/testapps/module_load_in_loop'; wait"
images=memory.db.traces/cufence.images
same "two processes" 2 "$("$cufence" query memory.db "SELECT count(*) FROM process")"
same "one image for both" 1 "$(ls "$images" | wc -l)"
same "its kernels are known" "ptx -" "$(evidence memory.db)"
"$cufence" load -o again.db memory.db.traces/*.cft
same "another load finds the same" "ptx -" "$(evidence again.db)"
same "the database has it once" 1 "$("$cufence" query memory.db \
	"SELECT count(DISTINCT process) FROM image_piece")"

record named.db "$build/tests/helpers/images" "$tmp/module.ptx"
same "what a file had that is gone since" 1 "$(grep -l from_memory named.db.traces/cufence.images/* | wc -l)"

# Under "cufence run", so that a sanitized recorder is loaded as it must be.
record again.db "$build/tests/helpers/images" again "$build/tests/copies.fatbin"
same "an image in memory that is loaded again: no file is read for it" "0 0" "$(cat out)"

first=$(ls memory.db.traces/*.cft | head -n 1)
mkdir moved
"$cufence" dump --symbols "$first" >moved/text
"$cufence" undump -o moved/trace.cft moved/text
"$cufence" load -o moved.db moved/trace.cft
same "the text of a trace has its images" "ptx -" "$(evidence moved.db)"
"$cufence" check memory.db >/dev/null
status=$?
gone() { # TEXT
	"$cufence" load -o gone.db memory.db.traces/*.cft 2>err
	ok "$1: it loads" $?
	has "$1: the kernels are not known" '^none its code was not found$' "$(evidence gone.db)"
	has "$1: it is said" 'note: the code of [0-9]+ kernels was not found' \
		"$("$cufence" report gone.db)"
	"$cufence" check gone.db >/dev/null
	same "$1: that alone is not incomplete" "$status" $?
}
image=$images/$(ls "$images")
cp "$image" kept
printf X | dd of="$image" bs=1 seek=600 conv=notrunc 2>/dev/null
gone "a damaged image"
rm "$image"
ln -s "$tmp/kept" "$image"
gone "a link in its place"
rm "$image"
mkfifo "$image"
gone "a pipe in its place"
rm -r "$images"
gone "a trace without its images"

"$cufence" run --sim -o plain.db -- "$build/testapps/module_load_in_loop" >out 2>err
same "run leaves nothing behind" "plain.db" "$(ls -d plain.db*)"
finish
