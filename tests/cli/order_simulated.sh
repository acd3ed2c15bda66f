#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The order cases for a GPU, run on the simulated device: every statement is carried out.  The device
# is independent of the order engine, and keeps every order that the engine guarantees.
. "$(dirname "$0")/lib.sh" "$@"
program=$build/gpu/order_cases_shared
cufence=$build/bin/cufence
consistent=$build/tests/golden/consistent
needs "$cufence" "$consistent" "$program" "$build/sim/libcuda.so.1"

"$cufence" run --sim -o "$tmp/db" -- "$program" >"$tmp/out" 2>"$tmp/report"
same "kernels compute nothing here" 77 $?
has "at least 25 cases" '^([3-9][0-9]|2[5-9]|[1-9][0-9][0-9]) cases' "$(cat "$tmp/out")"
same "every operation has its call" "" "$("$cufence" query "$tmp/db" unmatched)"
got=$("$consistent" "$tmp/db")
ok "the device keeps to the order" $?
has "some ran at once" ' [1-9][0-9]+ pairs at once, 0 violations' "$got"
finish
