/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "stage.h"

#include "account.h"
#include "handovers.h"
#include "report_facts.h"
#include "report_internal.h"

static int measure(struct db *db)
{
	return handovers_find(db) || account_measure(db);
}

/* The rest of the line behind these words of the report. */
static const char *behind(struct program *p, const char *words)
{
	static char found[256];
	char *text = NULL, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(mini_stage(&p->m, measure), 0);
	assert_int_equal(report_functions(&p->m.db), 0);
	assert_int_equal(report_account(&p->m.db, out), 0);
	fclose(out);
	line = strstr(text, words);
	assert_non_null(line);
	line += strlen(words);
	snprintf(found, sizeof(found), "%.*s", (int)strcspn(line, "\n"), line);
	free(text);
	return found;
}

ANSWER(pace)
{
	return behind(p, " the host needs ");
}

ANSWER(functions)
{
	return behind(p, "    outside CUDA: ");
}

ANSWER(busy)
{
	return behind(p, "    busy     ");
}
