/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are not replayed, or whose savings are bounds, for what the database says. */
#include "constants.h"
#include "losses.h"
#include "order_loss.h"
#include "remote_kernels.h"
#include "replay.h"

#define IS_REMOTE WAITS_FOR_OTHER_DEVICES("name")
#define REMOTE_SQL "SELECT EXISTS (SELECT 1 FROM kernel WHERE process = ?1 AND " IS_REMOTE ")"

/*
 * The end of a sentence, and a query of process ?1: it applies if the value is at least that.
 * Refusals come before bounds.
 */
static const struct {
	enum { REFUSAL, BOUND } of;
	const char *text;
	int least;
	const char *sql;
} reasons[] = {
	{ REFUSAL, "no operation of the device was recorded", 1,
		"SELECT NOT EXISTS (SELECT 1 FROM stream_use WHERE process = ?1)" },
	{ REFUSAL, "a part of the run was not recorded", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##work(reason)
#include "losses.def"
		LOSS_NONE "))" },
	{ REFUSAL, "its order was not analyzed to the end", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason = "
		"'" ORDER_LOSS "')" },
	/* Their kernels stretch those of this process. */
	{ REFUSAL, "other programs computed on the device at the same time", OTHER_USE_MIN_PERCENT,
		"SELECT max(busy) FROM other_use WHERE process = ?1 AND device IN "
		"(SELECT device FROM stream_use WHERE process = ?1)" },
	/* By where devices sit, if that is known: CUDA_VISIBLE_DEVICES changes ordinals. */
	{ REFUSAL, "several processes used the device at the same time", 1,
		"WITH place AS (SELECT process, ordinal, group_concat(value) AS slot FROM"
		" (SELECT * FROM device_attribute WHERE name IN ('pci_domain_id', 'pci_bus_id',"
		"  'pci_device_id') ORDER BY name) GROUP BY 1, 2)"
		" SELECT EXISTS (SELECT 1 FROM device_use a JOIN device_use b"
		"  ON a.process <> b.process AND b.first < a.last AND a.first < b.last"
		"  LEFT JOIN place p ON p.process = a.process AND p.ordinal = a.device"
		"  LEFT JOIN place q ON q.process = b.process AND q.ordinal = b.device"
		"  WHERE a.process = ?1 AND ifnull(p.slot = q.slot, a.device = b.device))" },
	{ BOUND,
		"other ranks may come no earlier to collectives than now; cufence merge replays "
		"all of them together",
		1,
		REMOTE_SQL " AND EXISTS (SELECT 1 FROM collective l JOIN communicator m"
			   " ON m.id = l.communicator WHERE l.process = ?1 AND m.ranks > 1)" },
	{ BOUND, "kernels wait for other devices", 1, REMOTE_SQL },
};

int replay_find_refusal(struct replay *replay, struct db *db)
{
	int rc = 0;

	/* The first reason that applies. */
	for (size_t i = 0;
		i < sizeof(reasons) / sizeof(*reasons) && !rc && !replay->refusal && !replay->bound;
		i++) {
		sqlite3_stmt *q = db_prepare(db, reasons[i].sql);

		rc = !q || db_bind(q, "i", replay->process) || db_step(q) < 0 ? -1 : 0;
		if (!rc && sqlite3_column_int(q, 0) >= reasons[i].least)
			*(reasons[i].of == BOUND ? &replay->bound : &replay->refusal) =
				reasons[i].text;
		sqlite3_finalize(q);
	}
	return rc;
}
