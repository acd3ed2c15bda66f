#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The templates of doc/CI.md run as written, on the simulated device: each step's lines, as GitHub's
# and GitLab's runners call them, with a build and a gh that only note how they are called.
. "$(dirname "$0")/lib.sh" "$@"
page=$(cd "$(dirname "$0")/../.." && pwd)/doc/CI.md
needs "$build/bin/cufence" "$build/testapps/free_in_loop_fixed" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1

mkdir bin
cat >bin/cufence <<END
#!/bin/sh
[ "\$1" != run ] || { shift && set -- run --sim "\$@"; }
exec "$build/bin/cufence" "\$@"
END
cat >bin/make <<'END'
#!/bin/sh
[ "$*" = test_pipeline ] && cp "$APP" test_pipeline
END
cat >bin/gh <<'END'
#!/bin/sh
echo "$*" >gh.called
[ "$1 $2 $3" = "pr comment 7" ] && for file; do :; done && cp "$file" gh.body
END
chmod +x bin/*
export PATH=$tmp/bin:$PATH GITHUB_STEP_SUMMARY=$tmp/summary

block() { # HEADING: the first block of its chapter
	awk -v heading="## $1" '$0 == heading { inside = 1; next } /^## / { inside = 0 }
		inside && /^    / { started = 1; print substr($0, 5); next } inside && started && NF { exit }' "$page"
}

# Steps of GitHub, as step.N: "run: LINE" or the lines below "run: |".
block "GitHub Actions" | awk '
	/^ *- / { lines = 0 }
	lines && match($0, /^ */) && RLENGTH >= indent { print substr($0, indent + 1) >file; next }
	/ run: / { file = "step." ++count; line = $0; sub(/.* run: /, "", line); lines = line == "|"
		match($0, /^ */); indent = RLENGTH + 2 + ($0 ~ /^ *- / ? 2 : 0)
		if (!lines) print line >file }'
sed -i 's/\${{ github.event.number }}/7/' step.*
same "steps that run something" 5 "$(ls step.* | wc -l)"
same "the rest of the workflow needs nothing else" "" "$(grep -h '\${{' step.*)"
# What shellcheck asks of a script that has a first line.
if command -v shellcheck >/dev/null; then
	same "shellcheck" "" "$(shellcheck -s bash step.*)"
else
	echo "skipped: no shellcheck"
fi

statuses() { # APP: of the steps; all run, as after a failed one those with always() do
	local step
	export APP=$build/testapps/$1
	rm -rf run.db* summary gh.* cufence.* test_pipeline
	for step in step.1 step.2 step.3 step.4 step.5; do
		bash --noprofile --norc -eo pipefail "$step" >"$step.out" 2>&1
		printf '%s ' $?
	done
}
same "GitHub: the check alone fails" "0 0 1 0 0 " "$(statuses free_in_loop)"
has "GitHub: a line is annotated" '^::error file=.*free_in_loop.cu,line=22,title=blocking-free #1::' "$(cat step.3.out)"
has "GitHub: the summary" '^### cufence: 1 finding$' "$(cat summary)"
same "GitHub: the comment is the same" "$(cat summary)" "$(cat gh.body)"
has "GitHub: a file for code scanning" '"version": *"2.1.0"' "$(cat cufence.sarif)"
same "GitHub: a clean program passes" "0 0 0 0 0 " "$(statuses free_in_loop_fixed)"
has "GitHub: and is said to be" '^### cufence: no finding$' "$(cat summary)"

# GitLab ends a job at the first line that fails.
block GitLab | sed -n '/^  script:/,/^  artifacts:/s/^    - //p' >script
same "lines of GitLab's job" 3 "$(wc -l <script)"
job() { # APP
	export APP=$build/testapps/$1
	rm -rf run.db* cufence.* test_pipeline
	bash --noprofile --norc -eo pipefail script >out 2>&1
	echo $?
}
same "GitLab: a finding fails the job" 1 "$(job free_in_loop)"
has "GitLab: a test case failed" '<testcase classname="blocking" name="blocking-free" time="0\.[0-9]*" .*<failure ' "$(cat cufence.xml)"
[ -s run.db ]
ok "GitLab: the database is kept" $?
same "GitLab: a clean program passes" 0 "$(job free_in_loop_fixed)"
if python3 -c 'import yaml' 2>/dev/null; then
	for heading in "GitHub Actions" GitLab; do
		block "$heading" | python3 -c 'import sys, yaml; sys.exit(not isinstance(yaml.safe_load(sys.stdin), dict))'
		ok "$heading: YAML" $?
	done
else
	echo "skipped: no python3 with yaml"
fi
finish
