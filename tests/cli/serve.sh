# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh, in $tmp: a server that answers requests (tests/helpers/server.c), with pipes.  What
# is started here, or added to $started, is ended here, whatever happens.
server=$build/tests/helpers/server
started=()
trap 'kill -KILL "${started[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
query() { "$cufence" query "$1" "$2"; }
serve() { # COMMAND...: the server under it
	rm -rf in out ./*.traces-*
	mkfifo in out
	"$@" "$server" <in >out 2>err &
	started+=($!)
	exec 4>in 5<out
	total=0 most=0
}
serve_run() { # OPTION...: under "run", without its graph
	serve env --default-signal=INT WITHOUT_GRAPH=1 "$cufence" run --sim --quiet "$@" --
}
turns() { # N: by the server, which must answer
	local answer
	total=$((total + $1))
	echo "$1" >&4
	read -r -t 60 -u 5 answer
	[ "$answer" = "$total" ] || ok "the server answers $total, not '$answer'" 1
}
leave() { # TEXT: the server's input ends: its last line must be 0 failures
	local answer
	exec 4>&-
	read -r -t 60 -u 5 answer
	same "$1: no call failed" 0 "$answer"
	exec 5<&-
}
