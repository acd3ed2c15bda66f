/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a program: savings are bounds as long as the others are not known (savings_bound_of()).
 * "cufence merge" replays all of them together, and needs the steps of each, and how a fix of each
 * place changes them.
 */
#include <stdlib.h>

#include "findings_internal.h"
#include "pass.h"
#include "rows.h"

int findings_are_of_ranks(struct db *db)
{
	return (int)db_int(db,
		"SELECT EXISTS (SELECT 1 FROM collective l JOIN communicator m"
		" ON m.id = l.communicator WHERE m.ranks > 1)",
		0);
}

/* Is it shown, of that process, and about time? */
static int has_part(const struct finding *finding, int64_t process)
{
	return finding->process == process && !finding->masked && !rule_is_fence(finding->rule) &&
		finding_is_shown(finding);
}

int64_t findings_bound_together(const struct findings *findings, int64_t process)
{
	struct replay *replay = savings_bound_of(findings->savings, process);
	int64_t most = INT64_MAX;
	int are_bounded = 1;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		for (size_t k = 0; k < finding->count && has_part(finding, process); k++) {
			const struct finding_place *place = finding->place[k];

			are_bounded &= finding->is_bounded;
			savings_change(replay, place->changed, place->changed_count);
		}
	}
	return savings_estimate_best(replay, SEARCH_FINDING, &most) && are_bounded ? most
										   : INT64_MAX;
}

int findings_pack_ranks(struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(findings->db, "SELECT id FROM process");
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0);
		struct replay *replay = savings_bound_of(findings->savings, process);
		struct packed packed = replay ? joint_pack(replay) : (struct packed){ NULL, 0 };

		step = 0;
		if (!packed.data)
			continue;
		step = db_add(findings->db,
			ROW(rank_replay, process, cell_bytes(packed.data, packed.size)));
		free(packed.data);
		for (size_t i = 0; i < findings->count && !step; i++) {
			const struct finding *finding = findings->finding[i];

			for (size_t k = 0; k < finding->count && has_part(finding, process); k++) {
				struct finding_place *place = finding->place[k];

				savings_change(replay, place->changed, place->changed_count);
				place->changes = joint_pack_changes(replay);
			}
		}
	}
	sqlite3_finalize(q);
	return step;
}
