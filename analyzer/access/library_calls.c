/* SPDX-License-Identifier: Apache-2.0 */
#include "library_calls.h"

#include "symbols_user.h"

enum { LIBRARY = 1, PROGRAM = 2 };

int library_calls_init(struct library_calls *calls, struct db *db)
{
	*calls = (struct library_calls){ .run = db->run };
	calls->frames = db_prepare(db,
		"SELECT m.path FROM frame f JOIN module m ON m.id = f.module "
		"WHERE f.site = ? ORDER BY f.depth");
	return calls->frames ? 0 : -1;
}

void library_calls_release(struct library_calls *calls)
{
	sqlite3_finalize(calls->frames);
	map_release(&calls->sites);
}

/* Finds the module of the innermost frame outside of the CUDA runtime. */
static int find_maker(struct library_calls *calls, uint32_t site)
{
	int maker = PROGRAM, step = db_bind(calls->frames, "i", (int64_t)site) ? -1 : 1;

	while (step > 0 && (step = db_step(calls->frames)) > 0) {
		const char *path = (const char *)sqlite3_column_text(calls->frames, 0);

		if (!path || module_is_runtime(path))
			continue;
		maker = module_is_library(path) ? LIBRARY : PROGRAM;
		break;
	}
	sqlite3_reset(calls->frames);
	return step < 0 ? -1 : maker;
}

int library_calls_has(struct library_calls *calls, int64_t call)
{
	const struct run_link *link =
		run_call(calls->run, call) ? run_link(calls->run, call) : NULL;
	int maker;

	if (!link || !link->site)
		return 0;
	maker = (int)map_get(&calls->sites, link->site, 0);
	if (!maker) {
		maker = find_maker(calls, link->site);
		if (maker < 0 || map_set(&calls->sites, link->site, (uint64_t)maker))
			return -1;
	}
	return maker == LIBRARY;
}
