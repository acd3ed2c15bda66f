#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls of NCCL, of a stand-in for it: recorded whichever way they are reached, with their communicators,
# buffers and kernels, while the program gets what it gets untraced.
. "$(dirname "$0")/lib.sh" "$@"
helper=$build/tests/helpers/nccl_calls
cufence=$build/bin/cufence
needs "$helper" "$build/sim/libcuda.so.1" "$build/testapps/libnccl.so.2" "$build/testapps/nccl_input_early"
cd "$tmp" || exit 1
export LD_LIBRARY_PATH=$build/testapps
query() { "$cufence" query "$way.db" "$1"; }

calls="SELECT t.name || ' ' || ifnull(l.sequence, '-') || ' ' || l.elements || ' ' || l.type || ' ' || l.reduction || ' '
	|| ifnull(l.peer, '-') || ' ' || ifnull(l.send_bytes, '-') || ' ' || ifnull(l.receive_bytes, '-') || ' of ' || m.rank FROM collective l
	JOIN communicator m ON m.id = l.communicator JOIN call c ON c.id = l.call JOIN call_type t ON t.id = c.type ORDER BY l.id"
buffers="SELECT role, item, bytes FROM extent e JOIN collective l ON l.launch = e.call WHERE NOT captured
	ORDER BY l.id, item, role"
having() { # CONDITION: the ids of such collectives
	echo "SELECT group_concat(l.id) FROM collective l LEFT JOIN operation o ON o.id = l.operation AND o.call = l.launch WHERE $1"
}
for way in linked dlsym; do
	LD_LIBRARY_PATH=$build/sim:$build/testapps "$helper" $way >bare
	same "$way: untraced" 0 $?
	"$cufence" run --sim -o $way.db -- "$helper" $way >traced 2>report
	same "$way: the exit status" 0 $?
	same "$way: the output" "$(cat bare)" "$(cat traced)"
	same "$way: the calls, without those that NCCL makes itself" "ncclAllReduce 1 4096 float32 2 - 16384 16384 of 2
ncclBcast 2 4096 float32 0 2 16384 0 of 2
ncclReduce 3 4096 float32 0 0 16384 0 of 2
ncclReduceScatter 4 1024 float32 0 - 16384 4096 of 2
ncclAllGather 5 1024 float32 0 - 4096 16384 of 2
ncclSend - 4096 float32 0 3 16384 0 of 2
ncclRecv - 4096 int32 0 1 0 16384 of 2
ncclAllReduce 1 8 float32 0 - 32 32 of 1
ncclAllReduce 6 4096 float32 0 - 16384 16384 of 2
ncclAllReduce 7 4096 float32 0 - 16384 16384 of 2" "$(query "$calls")"
	same "$way: communicators" "4 2 0 0|4 3 0 0|2 1 0 1" "$(query "SELECT group_concat(ranks || ' ' || rank || ' ' || device
		|| ' ' || (destroyed NOT NULL), '|') FROM communicator ORDER BY id")"
	same "$way: two of one id, and a part of it" 2 "$(query "SELECT count(DISTINCT identity) FROM communicator")"
	same "$way: each has its kernel, but one that is a graph's" "9 1 1" "$(query "SELECT count(o.id) || ' ' || sum(l.captured)
		|| ' ' || sum(l.captured AND l.launch NOT NULL) FROM collective l
		LEFT JOIN operation o ON o.id = l.operation AND o.kind = 'kernel' AND o.call = l.launch")"
	same "$way: a group has a kernel for each stream" "6,7 8" "$(query "SELECT group_concat(n, ' ') FROM (SELECT
		group_concat(id) AS n FROM collective WHERE id BETWEEN 6 AND 8 GROUP BY launch ORDER BY id)")"
	same "$way: a kernel's memory is its collectives' buffers" "src 0 16384|dst 1 16384" "$(query "SELECT group_concat(role || ' '
		|| item || ' ' || bytes, '|') FROM (SELECT e.* FROM extent e JOIN collective l ON l.launch = e.call WHERE l.id = 6
		ORDER BY item)")"
	same "$way: a kernel after a collective is none" 1 "$(query "SELECT count(*) FROM call c JOIN kernel k ON k.id = c.kernel
		WHERE k.name LIKE '%spin' AND c.grid NOT NULL AND NOT EXISTS (SELECT 1 FROM extent e WHERE e.call = c.id)")"
	has "$way: their accesses are known" '^    accesses complete for 10 of 10 launches$' "$(cat report)"
	has "$way: that of the graph's node, too" '^    for .*nccl_calls.cu:[0-9]+ in communicate  \(3 times\)$' "$(cat report)"
	query "$calls" >$way.calls
done

way=linked
same "a query lists them" "2 4 ncclAllReduce 4096 float32 3" "$("$cufence" query linked.db collectives | grep 'ncclAllReduce.*4096' |
	cut -f2-7 | tr '\t' ' ')"

# NCCL linked into the program: no wrapper sees its calls, but its profiler interface announces them.
[ -x "$build/tests/helpers/nccl_within" ] && {
	way=within
	export NCCL_PROFILER_PLUGIN=libcufence.so
	same "within: untraced" 0 "$(env -u NCCL_PROFILER_PLUGIN LD_LIBRARY_PATH="$build/sim" "$build/tests/helpers/nccl_within" linked \
		>bare; echo $?)"
	"$cufence" run --sim --quiet -o within.db -- "$build/tests/helpers/nccl_within" linked >traced
	same "within: the exit status" 0 $?
	same "within: the report is silent about it" 0 "$("$cufence" report within.db | grep -c NCCL_PROFILER)"
	same "within: the output" "$(cat bare)" "$(cat traced)"
	same "within: the calls; the buffers of a captured one are unknown" "$(sed 's/^\(.* float32\) 2 - /\1 0 - /; s/ncclBcast/ncclBroadcast/
		/AllReduce 6/s/ 16384 16384 / - - /' linked.calls)" "$(query "$calls")"
	same "within: communicators" "4 2 0|4 3 0|2 1 1" "$(query "SELECT group_concat(ranks || ' ' || rank || ' ' || (destroyed NOT NULL), '|')
		FROM communicator ORDER BY id")"
	same "within: two of one id, and a part of it" 2 "$(query "SELECT count(DISTINCT identity) FROM communicator")"
	for what in "o.kind = 'kernel'" l.captured; do
		same "within: those with $what are as if they were linked" "$("$cufence" query linked.db "$(having "$what")")" \
			"$(query "$(having "$what")")"
	done
	same "within: buffers of kernels" "$("$cufence" query linked.db "$buffers")" "$(query "$buffers")"
	env -u NCCL_PROFILER_PLUGIN "$cufence" run --sim --quiet -o within.db -- "$build/tests/helpers/nccl_within" linked >traced
	same "within: nobody asked" 0 "$(query "SELECT count(*) FROM collective")"
	has "within: the report says how to see them" 'note: NCCL ran kernels, and no call of it was seen: .* NCCL_PROFILER_PLUGIN=' \
		"$("$cufence" report within.db)"
	way=linked
	"$cufence" run --sim --quiet -o linked.db -- "$helper" linked >traced
	same "linked: calls that wrappers see are recorded once" "$(cat linked.calls)" "$(query "$calls")"
	unset NCCL_PROFILER_PLUGIN
}

# A library with NCCL linked in, that is loaded like a module of Python: its calls are its own.
preload="$(sanitized && ${CC:-gcc} -print-file-name=libasan.so) $build/lib/libcufence.so"
same "a library with an NCCL of its own" 4711 "$(LD_PRELOAD=$preload LD_LIBRARY_PATH=$build/sim "$build/tests/helpers/within" \
	"$build/tests/helpers/libcollective.so" reduce_within 2>&1)"

# Libraries below it that name libnccl.so.2, and Python's ctypes: neither is in the scope of all.
reached() { # WAY TEXT COMMAND...
	way=$1
	local text=$2
	shift 2
	same "$text: untraced" 3 "$(LD_LIBRARY_PATH=$build/sim "$@" 2>&1)"
	same "$text: traced" 3 "$(LD_LIBRARY_PATH='' "$cufence" run --sim --quiet -o "$way.db" -- "$@" 2>&1)"
	same "$text: each with its kernel and number" "3 3 1,2,3 2" "$(query "SELECT count(*) || ' ' || count(l.operation) || ' ' ||
		group_concat(l.sequence) || ' ' || max(m.ranks) FROM collective l JOIN communicator m ON m.id = l.communicator")"
}
reached needed "libnccl.so.2 by DT_NEEDED below dlopen" "$build/tests/helpers/within" "$build/tests/helpers/libtorch_like.so" train
if command -v python3 >/dev/null; then
	cat >train.py <<SCRIPT
import ctypes

class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]

cuda = ctypes.CDLL("libcudart.so.13")
nccl = ctypes.CDLL("$build/testapps/libnccl.so.2")
data, comm = ctypes.c_void_p(), ctypes.c_void_p()
bad = cuda.cudaMalloc(ctypes.byref(data), ctypes.c_size_t(4096))
nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
bad |= nccl.ncclCommInitRank(ctypes.byref(comm), 2, Id(b"\x09" * 100), 1)
reduce = nccl.ncclAllReduce
reduce.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_size_t] + [ctypes.c_int] * 2 + [ctypes.c_void_p] * 2
for _ in range(3):
    bad |= reduce(data, data, 1024, 7, 0, comm, None)
bad |= cuda.cudaDeviceSynchronize()
print(0 if bad else 3)
SCRIPT
	reached ctypes "ctypes, by the library's path" python3 train.py
fi

# The kernel of a group of which a part is unknown may access more than what is known.
"$cufence" run --sim --keep-trace --quiet -o way.db -- "$build/testapps/nccl_input_early" >/dev/null 2>&1
way=way
"$cufence" dump way.db.traces-*/*.cft >whole.txt
changed() { # SED-EXPRESSION: kernels whose buffers are known then
	sed "$1" whole.txt | "$cufence" undump - -o changed.cft && "$cufence" load changed.cft -o changed.db 2>/dev/null &&
		"$cufence" query changed.db "SELECT count(*) FROM extent"
}
same "all of a group is recorded" 20 "$(changed '')"
same "a group had more" 0 "$(changed '/^call ncclGroupEnd /s/elements=0x1 /elements=0x2 /')"
same "a size that is unknown" 0 "$(changed 's/send_bytes=0x[0-9a-f]*/send_bytes=0xffffffffffffffff/')"
same "a time that is impossible" "0 10" "$(changed 's/began=0x[0-9a-f]*/began=0xffffffffffffffff/') $("$cufence" query changed.db 'SELECT count(*) FROM collective')"
finish
