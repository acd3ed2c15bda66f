/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_pool.h"

#include <stdio.h>
#include <string.h>

#include "patch_text.h"

static const char get_default[] = "cudaDeviceGetDefaultMemPool(", create[] = "cudaMemPoolCreate(";
static const char variable[] = "release_threshold";

/* The only line with a text, count if there is none or several have it. */
static size_t find_line(const struct patch_place *place, const char *text)
{
	size_t found = place->count;

	for (size_t i = 0; i < place->count; i++) {
		if (!strstr(place->lines[i], text))
			continue;
		if (found < place->count)
			return place->count;
		found = i;
	}
	return found;
}

static int has_text(const struct patch_place *place, const char *text)
{
	for (size_t i = 0; i < place->count; i++)
		if (strstr(place->lines[i], text))
			return 1;
	return 0;
}

/* Memory comes from the device's default pool as long as no other one is set, or one is named. */
size_t patch_pool_line(const struct patch_place *place)
{
	const char *line = place->lines[place->at];
	size_t found = place->count;

	if (strstr(line, "cudaMallocFromPoolAsync("))
		found = has_text(place, get_default) ? place->count : find_line(place, create);
	else if (strstr(line, "cudaMallocAsync(") && !has_text(place, "SetMemPool("))
		found = find_line(place, get_default);
	return found + 1 < place->count ? found + 1 : place->count;
}

const char *patch_keep_pool(const struct patch_place *place, char **changed)
{
	struct patch_place got = *place;
	struct patch_call call;
	const char *line;
	int blanks;

	if (place->at >= place->count)
		return "no line of its file alone gets its pool: add cudaMemPoolSetAttribute(pool, "
		       "cudaMemPoolAttrReleaseThreshold, &threshold) with threshold = UINT64_MAX "
		       "where it is made";
	got.at = place->at - 1;
	line = place->lines[got.at];
	blanks = (int)strspn(line, " \t");
	if (has_text(place, "ReleaseThreshold") || has_text(place, variable))
		return "its file sets a threshold already";
	if ((!patch_read_call(line, get_default, &call) && !patch_read_call(line, create, &call)) ||
		*call.first != '&' || !text_is_name(call.first + 1) ||
		!patch_begins_statement(&got))
		return "the line that gets its pool holds more than the call";
	if (asprintf(changed,
		    "%.*sunsigned long long %s = ~0ull;\n"
		    "%.*s%.*scudaMemPoolSetAttribute(%s, cudaMemPoolAttrReleaseThreshold, &%s)%s;",
		    blanks, line, variable, blanks, line, (int)call.check.length, call.check.at,
		    call.first + 1, variable, call.check.length ? ")" : "") >= 0)
		return NULL;
	*changed = NULL;
	return "out of memory";
}
