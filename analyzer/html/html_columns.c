/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the timeline as the script reads it (page/data.js): the columns of each lane, as
 * differences to a prediction from the item before, then arrows, then turns.  Columns of one kind
 * are written together, since similar numbers compress better.
 */
#include "html_timeline.h"

#include "html_arrows.h"
#include "html_pack.h"

static int64_t base_of(const struct html_timeline *timeline)
{
	int64_t base = INT64_MAX;

	for (size_t i = 0; i < timeline->calls.count; i++)
		if (timeline->calls.item[i].start < base)
			base = timeline->calls.item[i].start;
	for (size_t i = 0; i < timeline->operations.count; i++)
		if (timeline->operations.item[i].start < base)
			base = timeline->operations.item[i].start;
	return base == INT64_MAX ? 0 : base;
}

static void write_times(struct pack *pack, const struct html_item *item, size_t count, int64_t base)
{
	for (size_t i = 0; i < count; i++)
		pack_step(pack, item[i].start, i ? item[i - 1].end : base);
	for (size_t i = 0; i < count; i++)
		pack_step(pack, item[i].end, item[i].start);
	for (size_t i = 0; i < count; i++)
		pack_number(pack, item[i].name);
	for (size_t i = 0; i < count; i++)
		pack_number(pack, item[i].category);
	for (size_t i = 0; i < count; i++)
		pack_number(pack, item[i].amount);
}

static void write_sites(struct pack *pack, const struct html_item *item, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pack_number(pack, item[i].site);
}

/* The items of the calls that submitted operations. */
static void write_calls(const struct html_timeline *timeline, struct pack *pack,
	const struct html_item *item, size_t count)
{
	int64_t before = HTML_NO_ITEM;

	for (size_t i = 0; i < count; i++) {
		int64_t call = item[i].call == DB_NULL ? HTML_NO_ITEM
						       : html_item_of_call(timeline, item[i].call);

		pack_number(pack, call - before);
		before = call;
	}
}

int html_timeline_write(const struct html_timeline *timeline, FILE *out)
{
	struct pack *pack = pack_open(out);
	int rc;

	if (!pack)
		return -1;
	const struct html_item *call = timeline->calls.item;
	const struct html_item *operation = timeline->operations.item;
	const struct html_item *range = timeline->ranges.item;
	int64_t base = base_of(timeline);

	pack_number(pack, base);
	for (size_t i = 0; i < timeline->lanes; i++) {
		const struct html_lane *lane = &timeline->lane[i];

		if (!lane->count)
			continue;
		if (lane->is_stream) {
			write_times(pack, operation, lane->count, base);
			write_calls(timeline, pack, operation, lane->count);
			operation += lane->count;
		} else if (lane->depth) {
			write_times(pack, range, lane->count, base);
			range += lane->count;
		} else {
			write_times(pack, call, lane->count, base);
			write_sites(pack, call, lane->count);
			call += lane->count;
		}
	}
	rc = html_arrows_write(timeline, pack);
	return pack_close(pack) || rc ? -1 : 0;
}
