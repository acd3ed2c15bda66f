/* SPDX-License-Identifier: Apache-2.0 */
#include "broad_credit.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"

int credits_add(struct credits *credits, const struct credit *credit)
{
	struct credit *more = array_room(credits->credit, credits->count, sizeof(*more));

	if (!more)
		return -1;
	credits->credit = more;
	more[credits->count++] = *credit;
	return 0;
}

void credits_use(struct credits *credits, int64_t ns, const struct order *order)
{
	int64_t rest = ns;

	for (size_t i = 0; i < credits->count && ns > 0; i++) {
		struct instance *instance = &credits->credit[i].instance;
		int64_t left = instance->cost - instance->saving;
		int64_t used = rest < left ? rest : left;

		if (order && order_before(order, credits->credit[i].behind) == ORDER_GUARANTEED)
			continue;
		credits->credit[i].usable += ns;
		instance->saving += used;
		rest -= used;
	}
}

size_t credits_used_up(const struct credits *credits)
{
	size_t count = 0;

	while (count < credits->count &&
		credits->credit[count].instance.saving >= credits->credit[count].instance.cost)
		count++;
	return count;
}

int credits_settle(struct credits *credits, size_t count, struct credits *found)
{
	for (size_t i = 0; i < count; i++) {
		struct credit *credit = &credits->credit[i];

		credit->place->broad += credit->usable >= BLOCKED_MIN_NS;
		if (credit->instance.saving >= BLOCKED_MIN_NS && credits_add(found, credit))
			return -1;
	}
	credits->count -= count;
	if (count)
		memmove(credits->credit, credits->credit + count,
			credits->count * sizeof(*credits->credit));
	return 0;
}

void credits_release(struct credits *credits)
{
	free(credits->credit);
	*credits = (struct credits){ NULL, 0 };
}
