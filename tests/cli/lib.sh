# SPDX-License-Identifier: Apache-2.0
# Sourced by the test scripts with their arguments: BUILD.  Gives $build, a scratch folder $tmp
# and the words a test is written in; finish prints "N passed, N failed" and exits accordingly.
set -u
build=$(cd "${1:?usage: $0 BUILD}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
# No test uses or fills the user's cache.
export XDG_CACHE_HOME=$tmp/.cache
# Traced programs are not ours to check for leaks, nor is the order of libraries.  A short process
# spends most of its time on pages that a larger quarantine of freed memory asks for.
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:quarantine_size_mb=1

ok() { # TEXT STATUS
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $1"
	fi
}

same() { # TEXT WANTED GOT
	[ "$2" = "$3" ]
	ok "$1" $?
	[ "$2" = "$3" ] || diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed 's/^/#   /' | head -n 20
}

has() { # TEXT PATTERN GOT
	printf '%s\n' "$3" | grep -qE -- "$2"
	local status=$?
	ok "$1" $status
	[ $status -eq 0 ] || printf '%s\n' "$3" | sed 's/^/#   /' | head -n 20
}

schema_of_sarif() { # FOLDER: its *.sarif
	local said
	said=$("${golden%/*}/formats/sarif_schema" "$build" "$1")
	case $? in
	0) ok "SARIF: its schema" 0 ;;
	3) echo "$said" ;;
	*) ok "SARIF: its schema: $said" 1 ;;
	esac
}

# For at_once (tests/helpers/at_once.c): what "cufence COMMAND ARGUMENT..." prints is for FILE.
line() { # FILE COMMAND ARGUMENT...
	local IFS=$'\t'
	echo "${*//$'\t'/ }"
}

needs() { # FILE...: without it (no CUDA toolkit) there is nothing to test
	local file
	for file in "$@"; do
		[ -e "$file" ] || { echo "not built: ${file#"$build"/}"; finish; }
	done
}

sanitized() { # whether the recorder was built with SAN=address
	nm -D "$build/lib/libcufence.so" | grep -q __asan_init
}

# The text traces of tests/golden share the table of calls, which stands in front of each; one of a
# recorder that had other calls has its own.
golden=$(cd "$(dirname "${BASH_SOURCE[0]}")/../golden" && pwd)
golden_text() { # NAME
	if sed -n 3p "$golden/$1.txt" | grep -q '^calltype '; then
		cat "$golden/$1.txt"
	else
		sed "2r $golden/calls.table" "$golden/$1.txt"
	fi
}

finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	exit
}
