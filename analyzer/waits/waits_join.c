/* SPDX-License-Identifier: Apache-2.0 */
/* What the walks over the parts of a run found, together. */
#include "large.h"
#include "wait.h"
#include "waits.h"

void waits_join(struct waits *waits, struct waits *later)
{
	for (size_t i = 0; i < later->count; i++)
		*large_push(waits->wait, waits->count) = later->wait[i];
	large_free(later->wait);
	later->wait = NULL;
	later->count = 0;
	samples_join(&waits->samples, &later->samples);
	pool_trims_join(&waits->trims, &later->trims, waits->evidence->trim_count);
	for (struct id_map_slot *at = NULL; (at = id_map_next(&later->uses, at));) {
		const struct wait_use *use = at->object;
		struct wait_use *sum = id_map_need(&waits->uses, at->id, sizeof(*sum));

		sum->count += use->count;
		sum->waited += use->waited;
	}
}
