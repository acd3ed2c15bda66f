#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks of distributed programs: the variables of launchers in the database and the report, names of
# databases with %r and its like, "cufence run" in front of a launcher and inside each rank.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
app=$build/testapps/free_in_loop
needs "$build/sim/libcuda.so.1" "$app"
cd "$tmp" || exit 1
# The launcher of this machine, if any, is none of the test's.
unset RANK LOCAL_RANK WORLD_SIZE SLURM_PROCID SLURM_LOCALID SLURM_STEP_NUM_TASKS PMI_RANK PMI_SIZE PMIX_RANK

# A tiny launcher: N processes of a command, each with its variables.
cat >launch <<'SCRIPT'
n=$1
shift
for ((r = 0; r < n; r++)); do
	RANK=$r LOCAL_RANK=$((r % 2)) WORLD_SIZE=$n NCCL_ALGO=Ring "$@" &
done
wait
SCRIPT

ranks() { # DATABASE: rank, local rank, world and launcher of each process
	"$cufence" query "$1" "SELECT rank || ' ' || local_rank || ' ' || world || ' ' || launcher FROM rank ORDER BY rank"
}

# --- in front of the launcher ---
"$cufence" run --sim -o all.db -- bash launch 3 "$app" >/dev/null 2>report
ok "in front of a launcher" $?
same "one database has all ranks" $'0 0 3 torchrun\n1 1 3 torchrun\n2 0 3 torchrun' "$(ranks all.db)"
same "with the host" "$(cat /proc/sys/kernel/hostname)" "$("$cufence" query all.db 'SELECT DISTINCT host FROM rank')"
same "and the device" 0 "$("$cufence" query all.db 'SELECT DISTINCT device FROM rank')"
same "the report has a row for each, by rank" "0 1 2" \
	"$(awk '/^    device/ { exit } table { print $1 } /^    process  rank  pid/ { table = 1 }' report | paste -sd' ')"
same "but lists no variable of the launcher" 0 "$(grep -cE '^    set .*(RANK|WORLD|NCCL)' report)"
same "other variables of NCCL are recorded" "3 Ring" \
	"$("$cufence" query all.db "SELECT count(*) || ' ' || min(value) FROM property WHERE name = 'env.NCCL_ALGO'")"
same "a query names them" 3 "$("$cufence" query all.db ranks | grep -c torchrun)"

# --- inside each rank ---
bash launch 2 "$cufence" run --sim --quiet -o 'out/%h/%r-of-%q{WORLD_SIZE}.db' -- "$app" >/dev/null 2>err
same "inside each rank: nothing is said" "" "$(cat err)"
host=$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)
same "each has a database, in a folder that was made" "0-of-2.db 1-of-2.db" "$(ls "out/${host%%.*}" | paste -sd' ')"
same "with its own rank" "1 1 2 torchrun" "$(ranks "out/${host%%.*}/1-of-2.db")"
bash launch 2 "$cufence" run --sim --quiet -- "$app" >/dev/null 2>err
same "with one name for all, each says so" 2 "$(grep -c 'rank [01] of 2 writes cufence.db, as others may: -o cufence-%r.db' err)"
bash launch 2 "$cufence" run --sim --quiet -o 'pid-%p-100%%.db' -- "$app" >/dev/null 2>err
same "%p and %%" 2 "$(find . -regex './pid-[0-9]+-100%.db' | wc -l)"

# --- other launchers ---
rank_by() { # VARIABLE=VALUE...: what %r is
	env "$@" "$cufence" run --sim --quiet -o "by-%r.db" -- true >/dev/null 2>err
	if [ -e by-*.db ]; then ls by-*.db; else grep -o 'no launcher has set one' err; fi
	rm -f by-*.db
}
same "Open MPI" by-5.db "$(rank_by OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8)"
same "MPICH" by-2.db "$(rank_by PMI_RANK=2 PMI_SIZE=4)"
same "PMIx, which tells no size" by-7.db "$(rank_by PMIX_RANK=7)"
same "a task of Slurm" by-3.db "$(rank_by SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4)"
same "a batch script of Slurm is no task" "no launcher has set one" "$(rank_by SLURM_PROCID=0 SLURM_NTASKS=4)"
same "torchrun below srun" by-9.db "$(rank_by RANK=9 WORLD_SIZE=16 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2)"
same "a RANK that is no number" "no launcher has set one" "$(rank_by RANK=colonel WORLD_SIZE=2)"
same "a RANK beyond the world" "no launcher has set one" "$(rank_by RANK=2 WORLD_SIZE=2)"
same "a RANK alone" "no launcher has set one" "$(rank_by RANK=2)"
env SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_STEP_NUM_TASKS=4 "$cufence" run --sim --quiet -o slurm.db -- "$app" >/dev/null 2>&1
same "Slurm's local rank" "3 1 4 Slurm" "$(ranks slurm.db)"
"$cufence" run --sim --quiet -o none.db -- "$app" >/dev/null 2>&1
same "without a launcher there is a host" "1 0" "$("$cufence" query none.db 'SELECT host NOT NULL, rank NOT NULL FROM rank' | tr '\t' ' ')"

# --- names that mean nothing ---
name_refused() { # TEXT PATTERN NAME
	"$cufence" run --sim -o "$3" -- true >/dev/null 2>err
	same "$1: the exit status" 125 $?
	has "$1" "$2" "$(cat err)"
}
name_refused "an unknown letter" '% is followed by r \(rank\), h \(host\)' 'x%z.db'
name_refused "a percent sign at the end" '% is followed by r' 'x%'
name_refused "a variable that is not set" "variable 'NOT_SET' of the file's name is not set" 'x%q{NOT_SET}.db'
name_refused "a variable without braces" 'write %q\{NAME\}' 'x%qHOME.db'
NAME=a/b "$cufence" run --sim --quiet -o 'v-%q{NAME}.db' -- true 2>/dev/null
same "a value names no folder" v-a_b.db "$(ls v-*.db)"
touch file # where a folder would be
name_refused "a folder that is a file" "cannot (make the folder|create) 'file" 'file/%h/%p.db'

# --- what leaves the machine ---
same "--redact leaves out the host" 0 "$("$cufence" report --format json --redact all.db | grep -c "\"$host\"")"
finish
