#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the cost of finding the places of calls: a unit with thousands of functions is walked once.
# The results of a file are stored for the next load, as long as it is the same file.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence" "$build/lib/libcufence.so" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
export LD_LIBRARY_PATH=$build/sim

many=2500
awk -v many="$many" 'BEGIN {
	print "typedef unsigned long long address; static address p;"
	print "int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);"
	print "int cuMemAlloc_v2(address *, unsigned long), cuMemFree_v2(address);"
	for (i = 0; i < many; i++) {
		print "__attribute__((noinline)) static int f" i "(int n)"
		print "{ int r = cuMemAlloc_v2(&p, 64 + n); r += cuMemFree_v2(p); return r + " i "; }"
	}
	print "int main(void) { void *c; int r = 0;"
	print "cuInit(0); cuDevicePrimaryCtxRetain(&c, 0); cuCtxSetCurrent(c);"
	for (i = 0; i < many; i++) print "r += f" i "(r & 7);"
	print "return 0; }"
}' >many.c
${CC:-gcc} -g many.c -o many "$build/sim/libcuda.so.1"
ok "a program of many functions" $?
"$cufence" run --sim --keep-trace -- ./many >out 2>err
ok "it runs" $?
traces=(cufence.db.traces-*/*.cft)

places() {
	"$cufence" query places.db "SELECT DISTINCT coalesce(s.function, '?') || ' ' || s.text FROM call c
		JOIN call_type t ON t.id = c.type JOIN site s ON s.id = c.site
		WHERE t.name = 'cuMemAlloc_v2' AND c.parent IS NULL ORDER BY c.id"
}
wanted() { grep -n 'int r = cuMemAlloc' many.c | awk -F: '{ printf "f%d many.c:%d\n", NR - 1, $1 }'; }

# A tenth of a second of processor time; walking the unit for each of them took seven.
rm -rf "$XDG_CACHE_HOME"
sanitized || limit=3
(ulimit -t "${limit:-100}" && exec "$cufence" load "${traces[@]}" -o places.db 2>err)
ok "a load in ${limit:-100} s of processor time" $?
same "each function at its line" "$(wanted)" "$(places)"

# Stored results need no file: libelf does not open one.
cat >opens.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
void *elf_begin(int fd, int command, void *other)
{
	void *(*real)(int, int, void *) = dlsym(RTLD_NEXT, "elf_begin");
	fputs("read\n", stderr);
	return real(fd, command, other);
}
END
loads() { # how many files were read
	rm -f places.db*
	LD_PRELOAD=$PWD/opens.so "$cufence" load "${traces[@]}" -o places.db 2>&1 | grep -c '^read$'
}
if ldd "$cufence" | grep -q libelf && ! sanitized && ${CC:-gcc} -w -shared -fPIC opens.c -o opens.so; then
	same "the second load reads no file" 0 "$(loads)"
	same "and knows the places" "$(wanted)" "$(places)"
	rm -rf "$XDG_CACHE_HOME"
	has "without the cache it does" '^[1-9]' "$(loads)"
	touch -d '1 hour ago' many
	has "another file is read" '^[1-9]' "$(loads)"
	chmod 755 "$XDG_CACHE_HOME/cufence"
	has "nothing is read from a folder that others may read" '^[1-9]' "$(loads)"
	rm -rf "$XDG_CACHE_HOME"
fi

# Debug information that is found later counts.
if command -v objcopy >/dev/null && command -v strip >/dev/null; then
	objcopy --only-keep-debug many many.debug
	strip many && objcopy --add-gnu-debuglink=many.debug many
	mv many.debug later
	"$cufence" load "${traces[@]}" -o places.db
	has "stripped" '^\? many\+0x' "$(places)"
	mv later many.debug
	"$cufence" load "${traces[@]}" -o places.db
	same "with lines again" "$(wanted)" "$(places)"
fi

finish
