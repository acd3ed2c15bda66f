/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "report.h"
#include "evidence_tables.h"

/* What the summary's first line of that title says, "" if there is none. */
static const char *line_of(struct program *p, const char *title)
{
	static char found[512];
	char *text = NULL, *line, start[32];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	mini_exec(&p->m, "DELETE FROM device_use; DELETE FROM stream_use");
	assert_int_equal(use_measure(&p->m.db), 0);
	assert_int_equal(report_summary(&p->m.db, out), 0);
	fclose(out);
	snprintf(start, sizeof(start), "\n    %s", title);
	line = strstr(text, start);
	found[0] = '\0';
	if (line) {
		line += strlen(start);
		line += strspn(line, ": ");
		snprintf(found, sizeof(found), "%.*s", (int)strcspn(line, "\n"), line);
	}
	free(text);
	return found;
}

#define LINE(name, title) \
	ANSWER(name) \
	{ \
		return line_of(p, title); \
	}
LINE(set, "set ")
LINE(note, "note")
LINE(work, "work")
LINE(device, "device ")
LINE(second, "device   ?,")
LINE(coverage, "coverage")
LINE(streams, "streams")
LINE(waits, "waits")
LINE(shared, "shared ")
LINE(accesses, "accesses ")
