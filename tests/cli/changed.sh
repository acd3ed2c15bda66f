#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that change their environment, folder, umask or stderr before their first CUDA call: the
# trace is in the requested place, and nothing is written into the program's files.
. "$(dirname "$0")/lib.sh" "$@"
recorder=$build/lib/libcufence.so
helper=$build/tests/helpers/changed
needs "$recorder" "$helper" "$build/sim/libcuda.so.1"
export LD_LIBRARY_PATH=$build/sim
cd "$tmp" || exit 1
sanitizer=
sanitized && sanitizer=$(${CC:-gcc} -print-file-name=libasan.so)

traced() { # CHANGE FOLDER: its output, and what it says
	CUFENCE_OUT=$2 LD_PRELOAD="$sanitizer $recorder" timeout 20 "$helper" "$1" 2>&1
}

for change in environment folder mask; do
	mkdir "$change"
	same "$change: output" "$(LD_PRELOAD=$sanitizer "$helper" $change 2>&1)" "$(traced $change $change)"
	same "$change: the trace is where it was asked for" 1 "$(ls "$change" | grep -c '\.cft$')"
	same "$change: and its owner's" 600 "$(stat -c %a "$change"/*.cft)"
done
mkdir here
(cd here && LD_PRELOAD="$sanitizer $recorder" "$helper" folder >/dev/null 2>&1)
same "by default: where the program began" 1 "$(ls here | grep -c '\.cft$')"
same "stderr is another file: not written to" "$(LD_PRELOAD=$sanitizer "$helper" errors 2>&1)" "$(traced errors /proc)"
has "it is still what it was: said" "cannot write '/proc/cufence" "$(traced mask /proc)"

# All that the program maps is to be locked in memory: what the recorder only reserves is not.
mkdir null
ln -s "${helper%/*}/libnullcuda.so" null/libcuda.so.1
want=$(LD_LIBRARY_PATH=null "$helper" memory)
[ $? -ne 0 ] || sanitized ||
	same "memory: as much" "$want" "$(mkdir memory; LD_LIBRARY_PATH=null CUFENCE_CUPTI=off traced memory memory)"

mkdir two
same "another library with calls of these names" "0 1 0" "$(CUFENCE_OUT=two LD_PRELOAD="$sanitizer $recorder" \
	"${helper%/*}/two_drivers" "${helper%/*}/libnullcuda.so")"

# Whoever defines the C library's functions of these names sees the program's requests alone.
same "the kernel is asked past the C library" "" "$(nm -D --undefined-only "$recorder" | sed 's/@.*//' |
	grep -xE ' *U (p?(read|write)(64|v)?|open(at)?(64)?|close|fallocate(64)?|m(un)?map(64)?|madvise|fcntl(64)?|dup[23]?|rename(at2?)?|unlink|access|nanosleep|usleep|f?(printf|puts|write|open|stat)|malloc|calloc|realloc|free)')"
has "nothing but calls and hooks is exported" '^0$' "$(nm -D --defined-only "$recorder" |
	awk '{ print $3 }' | grep -cvE '^(cu|nccl|__cuda|dlsym|_exit$|_Exit$|abort$|pthread_|thrd_|clock(_gettime)?$|gettimeofday$|time$|timespec_get$|prctl$|sigaction$|(__sysv_|bsd_|sysv_|s)?signal$|InitializeInjection|GLIBC_|libcudart|__odr_asan\.)')"
finish
