/* SPDX-License-Identifier: Apache-2.0 */
#include "sharing.h"

#include <stdlib.h>

#include "access.h"

struct sharing {
	sqlite3_stmt *touch;
	struct access_reader *reader;
	const struct accesses *one, *other; /* last lists read */
};

enum touch { TOUCH_NONE, TOUCH_MAYBE, TOUCH_SURELY, TOUCH_GRAPH };

/* clang-format off */
#define LENGTH(operand, call) \
	"ifnull((SELECT x.span FROM extent x WHERE x.call = " operand ".call " \
	"AND x.role = " operand ".role AND x.item = ifnull(" operand ".offset, 0)), " call \
	".bytes)"
/* clang-format on */

/*
 * Compares a launch's pointer with a copy's bytes (in them, or before them), or the bytes of two
 * copies.  Variables are left out: a copy into a variable could be replaced by an argument.
 */
/* clang-format off */
static const char touch_sql[] =
	"SELECT CASE o.role WHEN 'word' THEN"
	"  CASE WHEN o.address < a.address THEN 1"
	"  WHEN o.address < a.address + " LENGTH("a",
		"ac") " THEN 2 ELSE 0 END "
		      " WHEN 'node' THEN 3 "
		      " ELSE CASE WHEN o.address < a.address + " LENGTH(
			      "a", "ac") "  AND o.address + " LENGTH("o",
			      "oc") " > a.address THEN 2 ELSE 0 END END AS touch "
				    "FROM operand a JOIN call ac ON ac.id = a.call "
				    "JOIN operand o ON o.allocation = a.allocation JOIN call oc ON "
				    "oc.id = o.call "
				    "WHERE a.call = ? AND o.call = ? "
				    "AND NOT EXISTS (SELECT 1 FROM variable v "
				    "WHERE v.allocation = a.allocation) "
				    "ORDER BY touch DESC LIMIT 1";
/* clang-format on */

struct sharing *sharing_open(struct db *db)
{
	struct sharing *sharing = calloc(1, sizeof(*sharing));

	if (!sharing)
		return NULL;
	sharing->touch = db_prepare(db, touch_sql);
	sharing->reader = access_open(db);
	if (sharing->touch && sharing->reader)
		return sharing;
	sharing_close(sharing);
	return NULL;
}

void sharing_close(struct sharing *sharing)
{
	if (!sharing)
		return;
	sqlite3_finalize(sharing->touch);
	if (sharing->reader)
		access_close(sharing->reader);
	free(sharing);
}

static int read_both(struct sharing *sharing, int64_t call, int64_t other)
{
	sharing->one = access_read(sharing->reader, call);
	sharing->other = sharing->one ? access_read(sharing->reader, other) : NULL;
	return sharing->other ? 0 : -1;
}

/* Compares the accesses of a graph's nodes with the copy's bytes. */
static int touch_of_graph(struct sharing *sharing, int64_t copy, int64_t call)
{
	enum access_overlap most = OVERLAP_NONE;

	if (read_both(sharing, copy, call))
		return -1;
	for (size_t i = 0; i < sharing->one->count; i++)
		for (size_t k = 0; k < sharing->other->count; k++) {
			enum access_overlap found = access_overlap(&sharing->one->access[i],
				&sharing->other->access[k]);

			most = found > most ? found : most;
		}
	return most == OVERLAP_SURE     ? TOUCH_SURELY
		: most == OVERLAP_MAYBE ? TOUCH_MAYBE
					: TOUCH_NONE;
}

static int touch_of(struct sharing *sharing, int64_t copy, int64_t call)
{
	int rc = db_bind(sharing->touch, "ii", copy, call) ? -1 : db_step(sharing->touch);
	int touch = rc > 0 ? sqlite3_column_int(sharing->touch, 0) : TOUCH_NONE;

	sqlite3_reset(sharing->touch);
	if (rc < 0)
		return -1;
	return touch == TOUCH_GRAPH ? touch_of_graph(sharing, copy, call) : touch;
}

int sharing_between(struct sharing *sharing, int64_t copy, int64_t call, int64_t other)
{
	int touch = touch_of(sharing, copy, call), other_touch;

	if (touch <= TOUCH_NONE)
		return touch;
	other_touch = touch_of(sharing, copy, other);
	if (other_touch <= TOUCH_NONE)
		return other_touch;
	return touch == other_touch;
}

static int writes(const struct memory_access *access)
{
	return access->direction == ACCESS_WRITE || access->direction == ACCESS_ATOMIC;
}

static int matters(const struct memory_access *a, const struct memory_access *b)
{
	enum access_overlap overlap;

	if (a->allocation != b->allocation)
		return 0;
	/* Most unknown accesses are reads, of inputs that all kernels share. */
	if (!writes(a) && !writes(b))
		return 0;
	overlap = access_overlap(a, b);
	/*
	 * The extent of a kernel's access is often unknown; parts of an allocation have other
	 * pointers.
	 */
	return overlap == OVERLAP_SURE || (overlap == OVERLAP_MAYBE && a->start == b->start);
}

int sharing_conflict(struct sharing *sharing, int64_t call, int64_t other)
{
	if (read_both(sharing, call, other))
		return -1;
	for (size_t i = 0; i < sharing->one->count; i++)
		for (size_t k = 0; k < sharing->other->count; k++)
			if (matters(&sharing->one->access[i], &sharing->other->access[k]))
				return 1;
	return 0;
}

/* The driver may not have reported the parameters of a kernel. */
static int is_known(const struct accesses *accesses)
{
	return accesses->named && (accesses->complete || accesses->count);
}

int sharing_nothing(struct sharing *sharing, int64_t call, int64_t other)
{
	int conflict = sharing_conflict(sharing, call, other);

	if (conflict)
		return conflict < 0 ? -1 : 0;
	return is_known(sharing->one) && is_known(sharing->other) &&
		!accesses_may_share(sharing->one, sharing->other);
}
