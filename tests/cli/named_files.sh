#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files named on the command line and in a trace: only regular files are opened, as opening a pipe or
# a device may wait or have an effect.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
mkfifo pipe

timeout -s KILL 5 "$cufence" load pipe -o pipe.db 2>err
same "a pipe as a trace" 2 $?
same "a pipe as a trace is refused" \
	"cufence: cannot load 'pipe': empty or not a regular file" "$(cat err)"

module() { # PATH: a trace whose program is that file
	golden_text double_buffer | sed "/^symbol/d; 1s/start_ns=[0-9]*/start_ns=4000000000000000000/
		s|^\\(module.*\\) build_id=.*text=\"build/.*|\\1 text=\"$1\"|" >named.txt
	"$cufence" undump named.txt -o named.cft
}
for file in "$tmp/pipe" /dev/zero /dev/ptmx; do
	module "$file"
	timeout -s KILL 5 "$cufence" load named.cft -o named.db
	same "$file as a module" 0 $?
done

# Debug information: what a program's file names, and how it is packed.
apps=$build/testapps
needs "$build/sim/libcuda.so.1" "$apps/double_buffer"
command -v objcopy >/dev/null && command -v strip >/dev/null || finish
cp "$apps/double_buffer" whole
cp whole app
"$cufence" run --sim --keep-trace -- ./app >out 2>err
traces=(cufence.db.traces-*/*.cft)
place() { # of the first cudaFree, afresh
	rm -rf "$XDG_CACHE_HOME" named.db*
	timeout -s KILL 10 "$cufence" load "${traces[@]}" -o named.db &&
		"$cufence" query named.db "SELECT coalesce(s.function, '?') || ' ' || s.text FROM call c
			JOIN call_type t ON t.id = c.type JOIN site s ON s.id = c.site
			WHERE t.name = 'cudaFree' AND c.parent IS NULL ORDER BY c.id LIMIT 1"
}
line=$(place)
has "the whole program" '^destroy_buffer double_buffer.cu:[0-9]+$' "$line"
truncate -s 64M zeros
objcopy --add-section .debug_macro=zeros whole app && objcopy --compress-debug-sections app
has "debug information that would take many times the file" '^main app\+0x' "$(place)"
gzip -c whole >app
has "a packed program" '^\? app\+0x' "$(place)"
strip -o app whole
mkfifo app.debug
objcopy --add-section .gnu_debuglink=<(printf 'app.debug\0\0\0\0\0\0\0') app
has "a pipe as debug file" '^\? app\+0x' "$(place)"

# Servers are not asked, though the environment names some.
cat >server.c <<'END'
#include <stdio.h>
void *debuginfod_begin(void) { return (void *)1; }
int asked(void) { fclose(fopen("asked", "w")); return -2; }
int debuginfod_find_debuginfo(void) { return asked(); }
int debuginfod_find_executable(void) { return asked(); }
int debuginfod_find_source(void) { return asked(); }
void debuginfod_set_progressfn(void) { }
void debuginfod_end(void) { }
END
if ${CC:-gcc} -w -shared -fPIC server.c -o libdebuginfod.so.1; then
	rm app.debug && strip -o app whole
	export DEBUGINFOD_URLS=http://127.0.0.1:9 LD_LIBRARY_PATH=$tmp
	has "no debug file" '^\? app\+0x' "$(place)"
	[ ! -e asked ]
	ok "no server is asked" $?
	unset DEBUGINFOD_URLS LD_LIBRARY_PATH
fi

# The files that a unit names for parts of its debug information are not opened either.
cat >split.c <<'END'
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *, unsigned long);
int main(void)
{
	void *context;
	unsigned long long p;

	cuInit(0); cuDevicePrimaryCtxRetain(&context, 0); cuCtxSetCurrent(context);
	return cuMemAlloc_v2(&p, 64);
}
END
if ${CC:-gcc} -g -gsplit-dwarf split.c -o split "$build/sim/libcuda.so.1" 2>/dev/null; then
	rm -f -- *.dwo && mkfifo split.dwo split-split.dwo
	timeout -s KILL 10 "$cufence" run --sim -o split.db -- ./split >out 2>err
	same "parts of the debug information that are pipes" "main split.c:9" "$("$cufence" query split.db \
		"SELECT DISTINCT s.function || ' ' || s.text FROM call c JOIN site s ON s.id = c.site
		JOIN call_type t ON t.id = c.type WHERE t.name = 'cuMemAlloc_v2'")"
fi
finish
