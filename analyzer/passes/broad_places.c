/* SPDX-License-Identifier: Apache-2.0 */
#include "broad_places.h"

#include <stdlib.h>

#include "constants.h"

struct broad_place *broad_place_need(struct broad_places *places, struct findings *findings,
	int64_t call)
{
	int64_t id = findings_place(findings, call);

	return id > 0 ? idmap_need(&places->map, id, sizeof(struct broad_place)) : NULL;
}

struct broad_place *broad_place_get(const struct broad_places *places, struct findings *findings,
	int64_t call)
{
	int64_t id = findings_place(findings, call);

	return id > 0 ? idmap_get(&places->map, id) : NULL;
}

void broad_place_add_second(struct broad_place *place, struct broad_place *second)
{
	for (size_t i = 0; i < place->second_count; i++)
		if (place->second[i] == second)
			return;
	if (place != second && place->second_count < BROAD_SECONDS)
		place->second[place->second_count++] = second;
}

static struct broad_place *place_in(const struct broad_places *places, size_t slot)
{
	return places->map.slot[slot].object;
}

void broad_places_spoil(struct broad_places *places)
{
	for (size_t i = 0; i < places->map.size; i++)
		if (place_in(places, i) && place_in(places, i)->narrowed)
			place_in(places, i)->needed = 1;
}

int broad_place_is_found(const struct broad_place *place)
{
	return !place->needed && place->broad >= FINDING_MIN_COUNT;
}

static int is_candidate(const struct broad_places *places, const struct broad_place *place)
{
	return place->waits >= FINDING_MIN_COUNT && (!places->with_seconds || place->second_count);
}

static void narrow(const struct broad_places *places, struct broad_place *place)
{
	place->narrowed = 1;
	for (size_t i = 0; places->with_seconds && i < place->second_count; i++)
		place->second[i]->narrowed = 1;
}

int broad_places_choose(struct broad_places *places, int alone)
{
	int count = 0, number = 0;

	places->alone = NULL;
	for (size_t i = 0; i < places->map.size; i++)
		if (place_in(places, i))
			place_in(places, i)->narrowed = 0;
	for (size_t i = 0; i < places->map.size; i++) {
		struct broad_place *place = place_in(places, i);

		if (!place || !is_candidate(places, place))
			continue;
		if (alone >= 0 &&
			(!place->needed || place->broad < FINDING_MIN_COUNT || number++ != alone))
			continue;
		narrow(places, place);
		count++;
		if (alone >= 0)
			places->alone = place;
	}
	return count;
}

void broad_places_forget(struct broad_places *places)
{
	for (size_t i = 0; i < places->map.size; i++)
		if (place_in(places, i) && place_in(places, i)->narrowed)
			place_in(places, i)->needed = place_in(places, i)->broad = 0;
}

int broad_places_take_seconds(struct broad_places *places)
{
	int any = 0;

	places->with_seconds = 1;
	for (size_t i = 0; i < places->map.size; i++) {
		struct broad_place *place = place_in(places, i);

		if (place)
			place->needed = place->broad = 0;
		any |= place && is_candidate(places, place);
	}
	return any;
}

void broad_places_release(struct broad_places *places)
{
	idmap_release(&places->map, free);
}
