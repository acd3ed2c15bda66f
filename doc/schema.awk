# SPDX-License-Identifier: Apache-2.0
# awk -f doc/schema.awk analyzer/store/schema.sql >doc/SCHEMA.md: the schema's comments as a page.
function flush_row() {
	if (column != "")
		printf "| `%s` | %s | %s |\n", column, type, note
	column = ""
}
BEGIN {
	print "# The database\n"
	print "Made from analyzer/store/schema.sql by doc/schema.awk; do not edit.\n"
	print "SQLite, one database per run. Raw tables hold what was recorded; the tables under"
	print "\"Derived\" hold what the analyzer concluded, and `cufence analyze` rebuilds them."
	print "All times are integer nanoseconds since `run.start_unix_ns`."
}
/^-- Derived/ { print "\n# Derived" }
/^CREATE TABLE/ {
	name = $3
	note = $0
	sub(/^[^-]*-- /, "", note)
	inside = 1
	column = ""
	about = note
	next
}
# What a table is may take several lines: its heading waits for the first column.
inside && about != "" && /^[ \t]+-- / { sub(/^[ \t]*-- */, ""); about = about " " $0; next }
inside && about != "" {
	printf "\n## %s\n\n%s\n\n| column | type | meaning |\n|---|---|---|\n", name, about
	about = ""
}
/^CREATE VIEW/ {
	note = $0
	sub(/^[^-]*-- /, "", note)
	printf "\n## %s\n\nA view, %s:", $3, note
	view = 1
	next
}
view && /^\t-- / { sub(/^\t-- /, ""); printf " %s", $0; next }
view { print ""; view = 0 }
inside && /^\)/ { flush_row(); inside = 0; next }
inside && /^\t+--/ { sub(/^\t+-- */, ""); note = note " " $0; next }
inside && /^\t *-- / { sub(/^[ \t]*-- */, ""); note = note " " $0; next }
inside && /^\t[a-z_]+ / {
	flush_row()
	text = $0
	note = ""
	if (match(text, /-- /)) {
		note = substr(text, RSTART + 3)
		text = substr(text, 1, RSTART - 1)
	}
	gsub(/^\t+|[ \t]+$/, "", text)
	# Several short columns may share a line and a comment.
	parts = split(text, part, /, */)
	for (i = 1; i <= parts; i++) {
		if (part[i] == "")
			continue
		flush_row()
		column = part[i]
		sub(/ .*/, "", column)
		type = part[i]
		sub(/^[a-z_]+ /, "", type)
		sub(/ NOT NULL.*| AS .*| REFERENCES.*| DEFAULT.*| PRIMARY KEY.*/, "", type)
		if (match(part[i], /REFERENCES [a-z_]+/))
			type = type ", [" substr(part[i], RSTART + 11, RLENGTH - 11) "](#" \
				substr(part[i], RSTART + 11, RLENGTH - 11) ")"
		else if (part[i] !~ /NOT NULL|PRIMARY KEY/)
			type = type ", may be NULL"
	}
}
