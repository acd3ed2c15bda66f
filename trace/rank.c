/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

static const struct launcher {
	const char *name, *rank, *local_rank, *world;
} launchers[] = {
#define LAUNCHER(name, rank, local_rank, world) { name, rank, local_rank, world },
#include "launchers.def"
};

/* -1: it is not set, or no number. */
static int64_t number(rank_variable *variable, void *of, const char *name)
{
	const char *text = *name ? variable(of, name) : NULL;
	uint64_t value;

	return text && setting_number(text, &value) && value <= INT32_MAX ? (int64_t)value : -1;
}

const char *rank_of_environment(void *unused, const char *name)
{
	return getenv(name);
}

struct rank rank_find(rank_variable *variable, void *of)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const struct launcher *launcher = &launchers[i];
		struct rank found = {
			.launcher = launcher->name,
			.rank = number(variable, of, launcher->rank),
			.local_rank = number(variable, of, launcher->local_rank),
			.world = number(variable, of, launcher->world),
		};

		if (found.rank >= 0 && (!*launcher->world || found.world > found.rank))
			return found;
	}
	return (struct rank){ NULL, -1, -1, -1 };
}
