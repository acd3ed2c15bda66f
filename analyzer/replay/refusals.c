/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are not replayed, or whose savings are bounds, for what the database says. */
#include "constants.h"
#include "losses.h"
#include "order_loss.h"
#include "remote_kernels.h"
#include "replay.h"

/* The end of a sentence, and a query of process ?1: it applies if the value is at least that. */
struct reason {
	const char *text;
	int least;
	const char *sql;
};

static const struct reason refusals[] = {
	{ "no operation of the device was recorded", 1,
		"SELECT NOT EXISTS (SELECT 1 FROM stream_use WHERE process = ?1)" },
	{ "a part of the run was not recorded", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##work(reason)
#include "losses.def"
		LOSS_NONE "))" },
	{ "its order was not analyzed to the end", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason = "
		"'" ORDER_LOSS "')" },
	/* Their kernels stretch those of this process. */
	{ "other programs computed on the device at the same time", OTHER_USE_MIN_PERCENT,
		"SELECT max(busy) FROM other_use WHERE process = ?1 AND device IN "
		"(SELECT device FROM stream_use WHERE process = ?1)" },
	/* By where devices sit, if that is known: CUDA_VISIBLE_DEVICES changes ordinals. */
	{ "several processes used the device at the same time", 1,
		"WITH place AS (SELECT process, ordinal, group_concat(value) AS slot FROM"
		" (SELECT * FROM device_attribute WHERE name IN ('pci_domain_id', 'pci_bus_id',"
		"  'pci_device_id') ORDER BY name) GROUP BY 1, 2)"
		" SELECT EXISTS (SELECT 1 FROM device_use a JOIN device_use b"
		"  ON a.process <> b.process AND b.first < a.last AND a.first < b.last"
		"  LEFT JOIN place p ON p.process = a.process AND p.ordinal = a.device"
		"  LEFT JOIN place q ON q.process = b.process AND q.ordinal = b.device"
		"  WHERE a.process = ?1 AND ifnull(p.slot = q.slot, a.device = b.device))" },
};

#define IS_REMOTE WAITS_FOR_OTHER_DEVICES("name")
#define REMOTE_SQL "SELECT EXISTS (SELECT 1 FROM kernel WHERE process = ?1 AND " IS_REMOTE ")"

static const struct reason bounds[] = {
	{ "other ranks may come no earlier to collectives than now; cufence merge replays all of "
	  "them together",
		1,
		REMOTE_SQL " AND EXISTS (SELECT 1 FROM collective l JOIN communicator m"
			   " ON m.id = l.communicator WHERE l.process = ?1 AND m.ranks > 1)" },
	{ "kernels wait for other devices", 1, REMOTE_SQL },
};

/* Sets the first reason that applies; NULL: none.  Returns 0, or -1 after a message. */
static int find(struct db *db, int64_t process, const struct reason *reason, size_t count,
	const char **text)
{
	int rc = 0;

	*text = NULL;
	for (size_t i = 0; i < count && !rc && !*text; i++) {
		sqlite3_stmt *q = db_prepare(db, reason[i].sql);

		rc = !q || db_bind(q, "i", process) || db_step(q) < 0 ? -1 : 0;
		if (!rc && sqlite3_column_int(q, 0) >= reason[i].least)
			*text = reason[i].text;
		sqlite3_finalize(q);
	}
	return rc;
}

int replay_find_refusal(struct replay *replay, struct db *db)
{
	int rc = find(db, replay->process, refusals, sizeof(refusals) / sizeof(*refusals),
		&replay->refusal);

	if (!rc && !replay->refusal)
		rc = find(db, replay->process, bounds, sizeof(bounds) / sizeof(*bounds),
			&replay->bound);
	return rc;
}
