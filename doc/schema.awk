# SPDX-License-Identifier: Apache-2.0
# awk -f doc/schema.awk analyzer/store/schema.def >doc/SCHEMA.md: the schema's notes as a page.
BEGIN {
	print "# The database\n"
	print "Made from analyzer/store/schema.def by doc/schema.awk; do not edit.\n"
	print "SQLite, one database per run. Raw tables hold what was recorded; the tables under"
	print "\"Derived\" hold what the analyzer concluded, and `cufence analyze` rebuilds them."
	print "All times are integer nanoseconds since `run.start_unix_ns`."
}
# A row is joined up to the line that closes it, and its last text is the note.
/^[A-Z_]+\(/ { row = "" }
/^[A-Z_]+\(/ || row != "" {
	sub(/^\t/, "")
	row = row $0
	if (!/\)$/) next
	if (row !~ /, ""\)$/)
		gsub(/""/, "", row)
	kind = row
	sub(/\(.*/, "", kind)
	split(substr(row, length(kind) + 2), word, /, |\)/)
	note = row
	sub(/^[^"]*"/, "", note)
	if (kind == "COMPUTED")
		sub(/^[^"]*", *"/, "", note)
	if (kind == "VIEW") {
		sub(/", *"SELECT.*/, "", note)
		sub(/", *"/, ": ", note)
	}
	sub(/"\)$/, "", note)
	gsub(/\\"/, "\"", note)
	row = ""
}
kind == "TABLE" {
	if (word[2] == "DERIVED" && !derived++)
		print "\n# Derived"
	printf "\n## %s\n\n%s%s\n\n| column | type | meaning |\n|---|---|---|\n", word[1], derived ? "derived: " : "", note
}
kind == "VIEW" { printf "\n## %s\n\nA view, derived: %s\n", word[1], note }
kind == "COLUMN" || kind == "COMPUTED" {
	type = word[2]
	base = kind == "COMPUTED" || type !~ /^(TEXT|BLOB|REAL)/ ? "INTEGER" : substr(type, 1, 4)
	if (match(type, /REF.*\(/)) {
		target = substr(type, RSTART + RLENGTH)
		base = base ", [" target "](#" target ")"
	} else if (kind == "COMPUTED" || type ~ /_NULL$/)
		base = base ", may be NULL"
	printf "| `%s` | %s | %s |\n", word[1], base, note
}
{ kind = "" }
