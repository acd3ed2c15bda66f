#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages as their users get them: the wheel in an environment of its own, which traces a
# program on the simulated device; the Debian package, unpacked and looked at by lintian; what "make
# install" installs.  Each has the libraries that are loaded together with the recorder.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
app=$build/testapps/free_in_loop
needs "$build/bin/cufence" "$app" "$build/sim/libcuda.so.1"
if ! [ -e "$build/obj/analyzer/cli/main.o" ] || sanitized; then
	echo "skipped: a build without objects, or with sanitizers: packages"
	finish
fi
# A make of its own: neither the flags nor the job server of the one that runs the tests.
package() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$root" O="$build" "$@" >"$tmp/$1" 2>&1; }

# versions FILE: of glibc that it asks for, of more than 2.31
newer() { objdump -T "$1" 2>/dev/null | sed -n 's/.*\*UND\*.*GLIBC_2\.\([0-9]*\).*/\1/p' | awk '$1 > 31'; }

# proves TEXT CUFENCE: it finds its guard of host memory and its hold of streams.
proves() {
	local early=$build/testapps/early_host_read
	[ -e "$early" ] || return
	timeout 60 "$2" run --sim --quiet --guard-host -o early.db -- "$early" >out 2>err
	same "$1: run --guard-host" "early-host-read" "$("$2" query early.db "SELECT rule FROM finding")"
	has "$1: confirm" "^confirmed: the program's own access " "$(timeout 60 "$2" confirm early.db 1 -- "$early" 2>&1)"
	rm -f early.db*
}

wheel() {
	local library
	package wheel
	ok "make wheel" $?
	[ -s "$tmp/wheel" ] || return
	wheel=$(tail -n 1 "$tmp/wheel")
	# A pip of its own takes seconds: this one's, from version 22.3 on, installs there.
	local pip=(python3 -m pip --python "$tmp/env")
	python3 -m venv --without-pip "$tmp/env" >"$tmp/venv" 2>&1 && "${pip[@]}" --version >"$tmp/pip" 2>&1 ||
		pip=("$tmp/env/bin/python" -m pip)
	[[ ${pip[0]} = python3 ]] || python3 -m venv --clear "$tmp/env" >"$tmp/venv" 2>&1 || {
		echo "skipped: no venv: the wheel is not installed"
		return
	}
	"${pip[@]}" install -q --no-index --disable-pip-version-check "$wheel" >"$tmp/pip" 2>&1
	ok "pip installs it" $?
	for library in "$tmp"/env/lib/cufence/*.so*; do
		same "${library##*/} needs no glibc after 2.31" "" "$(newer "$library")"
	done
	same "the program needs no library" 0 "$(readelf -d "$tmp/env/bin/cufence" | grep -c NEEDED)"
	cd "$tmp" || return
	PATH=$tmp/env/bin:$PATH cufence run --sim -- "$app" >out 2>err
	ok "cufence run" $?
	has "finds what is to be found" "^blocking-free: cudaFree waited" "$(cat err)"
	has "with lines" "free_in_loop.cu:22" "$(cat err)"
	proves "the wheel" env/bin/cufence
	cat >train.py <<-'END'
		import ctypes
		cuda = ctypes.CDLL("libcudart.so.13")
		memory = ctypes.c_void_p()
		for step in range(5):
		    cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 20))
		    cuda.cudaMemset(memory, 0, ctypes.c_size_t(1 << 20))
		    cuda.cudaFree(memory)
	END
	env/bin/cufence run --sim -- env/bin/python train.py >out 2>err
	ok "cufence run -- python train.py" $?
	has "its lines are those of the script" 'train.py:' \
		"$(env/bin/cufence query cufence.db "SELECT DISTINCT text FROM site")"
	"${pip[@]}" uninstall -q -y cufence >pip 2>&1
	same "pip takes all of it away" "" "$(find env -name '*cufence*')"
}

deb() {
	local tool
	for tool in dpkg-deb dpkg-shlibdeps fakeroot; do
		command -v $tool >/dev/null || { echo "skipped: no $tool: the Debian package"; return; }
	done
	package deb
	ok "make deb" $?
	[ -s "$tmp/deb" ] || return
	deb=$(tail -n 1 "$tmp/deb") recorder=$(tail -n 2 "$tmp/deb" | head -n 1)
	has "it depends on what it is linked with" 'libdw1.*cufence-recorder [(]= ' "$(dpkg-deb -f "$deb" Depends)"
	same "the recorder depends on libc alone" "libc6" "$(dpkg-deb -f "$recorder" Depends | sed 's/ *([^)]*)//')"
	dpkg-deb -x "$deb" "$tmp/unpacked" && dpkg-deb -x "$recorder" "$tmp/unpacked"
	ok "they unpack" $?
	cd "$tmp" || return
	unpacked/usr/bin/cufence run --sim -- "$app" >out 2>err
	ok "cufence run from it" $?
	has "finds what is to be found" "^blocking-free: cudaFree waited" "$(cat err)"
	proves "the Debian package" unpacked/usr/bin/cufence
	if command -v lintian >/dev/null; then
		same "lintian" "" "$(lintian "$recorder" "$deb" 2>&1 | grep -E '^[EW]:')"
	else
		echo "skipped: no lintian: the Debian package"
	fi
}

installed() {
	package install DESTDIR="$tmp/root" PREFIX=/opt/cufence
	ok "make install" $?
	cd "$tmp" || return
	proves "make install" root/opt/cufence/bin/cufence
	for file in bash:bash-completion/completions/cufence zsh:zsh/site-functions/_cufence \
		fish:fish/vendor_completions.d/cufence.fish; do
		same "make install: completion of ${file%%:*}" "$("$build/bin/cufence" completion "${file%%:*}")" \
			"$(cat "root/opt/cufence/share/${file#*:}")"
	done
	package uninstall DESTDIR="$tmp/root" PREFIX=/opt/cufence
	same "make uninstall takes all of it away" "" "$(find root -type f)"
}

wheel
deb
installed
finish
