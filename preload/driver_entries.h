/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the functions that stand in for the driver's, after their definitions. */
const struct driver_entry driver_entries[CALL_COUNT][VARIANT_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { { #symbol, (void *)symbol } },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { { #symbol, (void *)symbol }, \
		{ #symbol #suffix, (void *)symbol##suffix } },
#include "calls.def"
};
