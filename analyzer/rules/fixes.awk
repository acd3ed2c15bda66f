# SPDX-License-Identifier: Apache-2.0
# doc/RULES.md -> rows FIX(symbol, cpp, pytorch): the two blocks of code that fix what a rule finds.
function quoted(line) {
	gsub(/\\/, "\\\\", line)
	gsub(/"/, "\\\"", line)
	return "\t\"" line "\\n\""
}
/^## [a-z-]+$/ { symbol = $2; gsub(/-/, "_", symbol) }
/^Fix in CUDA C\+\+:$/ { wanted = 1; print "FIX(" symbol "," }
/^Fix in PyTorch:$/ { wanted = 2 }
/^```/ {
	if (inside && wanted)
		print wanted == 1 ? "\t," : ")"
	if (inside)
		wanted = 0
	inside = !inside
	next
}
inside && wanted { print quoted($0) }
END { print "#undef FIX" }
