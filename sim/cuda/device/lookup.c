/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls without driver state, and cuGetProcAddress, which returns the newest variant of a name up
 * to the requested version, or its per-thread entry point if the flag asks for it and it exists.
 * The result is always the address of an exported symbol.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdbool.h>
#include <string.h>

#include "cuda_calls.h"
#include "sim.h"

struct entry {
	const char *base;
	int since;
	bool per_thread;
	void *address;
};

#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status);

static const struct entry entries[] = {
	{ "cuGetProcAddress", 11030, false, cuGetProcAddress },
	{ "cuGetProcAddress", 12000, false, cuGetProcAddress_v2 },
	{ "cuDriverGetVersion", 2020, false, cuDriverGetVersion },
	{ "cuGetErrorName", 6000, false, cuGetErrorName },
	{ "cuGetErrorString", 6000, false, cuGetErrorString },
	{ "cuGetExportTable", 3000, false, cuGetExportTable },
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	{ #base, since, false, symbol },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	{ #base, since, false, symbol }, { #base, pt_since, true, symbol##suffix },
#include "calls.def"
#define MORE(symbol, base, since, params, args) { #base, since, false, symbol },
#define MORE_PT(symbol, base, since, suffix, pt_since, params, args) \
	{ #base, since, false, symbol }, { #base, pt_since, true, symbol##suffix },
#include "cuda_more.def"
};

bool cufence_sim_supports(const char *symbol)
{
	static const struct {
		const char *symbol;
		void *function; /* NULL: undefined */
	} rows[] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	{ #symbol, (void *)do_##symbol },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	{ #symbol, (void *)do_##symbol },
#include "calls.def"
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!strcmp(rows[i].symbol, symbol))
			return rows[i].function;
	}
	return false;
}

/* *known: some variant of that name exists, even if newer. */
static const struct entry *newest(const char *name, int version, bool per_thread, bool *known)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *e = &entries[i];

		if (e->per_thread != per_thread || strcmp(e->base, name))
			continue;
		*known = true;
		if (e->since <= version && (!best || e->since > best->since))
			best = e;
	}
	return best;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult unused;
	const struct entry *entry = NULL;
	bool known = false;

	if (!symbol || !function || flags & ~3ull)
		return CUDA_ERROR_INVALID_VALUE;
	if (!status)
		status = &unused;
	*function = NULL;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		entry = newest(symbol, version, true, &known);
	if (!entry)
		entry = newest(symbol, version, false, &known);
	*status = entry ? CU_GET_PROC_ADDRESS_SUCCESS
		: known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			: CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (!entry)
		return CUDA_ERROR_NOT_FOUND;
	*function = entry->address;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = SIM_DRIVER_VERSION;
	return CUDA_SUCCESS;
}
