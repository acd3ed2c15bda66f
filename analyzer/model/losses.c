/* SPDX-License-Identifier: Apache-2.0 */
#include "losses.h"

#include <string.h>

static const struct loss losses[] = {
#define LOSS(reason, effect, calls, work, numbers, found, text) { reason, LOSS_##effect, text },
#include "losses.def"
};

/* Texts of a count of 1, where they differ. */
static const struct {
	const char *reason, *text;
} singular[] = {
	{ "late_ends", "1 operation's end was impossible and was corrected" },
	{ "lost_times", "1 operation's times were impossible and are not known" },
	{ "other_namespaces",
		"CUDA was used in another link namespace (dlmopen), whose calls are not recorded" },
};

const char *loss_wording(const struct loss *loss, int64_t count)
{
	for (size_t i = 0; i < sizeof(singular) / sizeof(*singular) && count == 1; i++)
		if (!strcmp(singular[i].reason, loss->reason))
			return singular[i].text;
	return loss->text;
}

const struct loss *loss_find(const char *reason)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (!strcmp(losses[i].reason, reason))
			return &losses[i];
	return NULL;
}

enum loss_effect loss_effect(const char *reason)
{
	const struct loss *loss = loss_find(reason);

	return loss ? loss->effect : LOSS_INCOMPLETE;
}

int losses_effect(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT reason FROM loss");
	int gravest = LOSS_NOTE, step = -1;

	while (q && (step = db_step(q)) > 0) {
		int effect = (int)loss_effect(db_text(q, 0));
		gravest = effect > gravest ? effect : gravest;
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : gravest;
}
