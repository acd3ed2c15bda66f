/* SPDX-License-Identifier: Apache-2.0 */
/* Subscription to driver calls, and queries of ids and time. */
#include "cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "older_cuda.h"

#define CBIDS 1024

static const CUpti_CallbackId cbids[CALL_COUNT][2] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { CUPTI_DRIVER_TRACE_CBID_##symbol },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { CUPTI_DRIVER_TRACE_CBID_##symbol, \
		CUPTI_DRIVER_TRACE_CBID_##symbol##suffix },
#include "calls.def"
};

static const char *const names[CALL_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) [CALL_##symbol] = #symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = #symbol,
#include "calls.def"
};

static const bool launches[CALL_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CALL_##symbol] = (kind) == KIND_LAUNCH,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = (kind) == KIND_LAUNCH,
#include "calls.def"
};

/* The only subscriber; the handle is its address. */
static struct CUpti_Subscriber_st {
	bool active;
	CUpti_CallbackFunc callback;
	void *userdata;
	_Atomic bool enabled[CBIDS];
} subscriber;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_ActivityThreadIdType thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

const struct simtool_driver *simtool_driver(void)
{
	static struct simtool_driver driver;
	static bool ready;
	void *library;

	pthread_mutex_lock(&lock);
	library = ready ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
	if (library) {
		*(void **)&driver.clock = dlsym(library, "cufence_sim_clock");
		*(void **)&driver.install = dlsym(library, "sim_tool_install");
		*(void **)&driver.finalize = dlsym(library, "sim_tool_finalize");
		*(void **)&driver.context_id = dlsym(library, "sim_context_id");
		*(void **)&driver.stream_id = dlsym(library, "sim_stream_id");
		ready = driver.clock && driver.install && driver.finalize && driver.context_id &&
			driver.stream_id;
	}
	pthread_mutex_unlock(&lock);
	return ready ? &driver : NULL;
}

static void notify(struct sim_call *call, CUpti_ApiCallbackSite site)
{
	CUpti_CallbackId cbid = cbids[call->number][call->per_thread];
	CUpti_CallbackData data = {
		.callbackSite = site,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = site == CUPTI_API_EXIT ? &call->result : NULL,
		.context = call->context,
		.contextUid = call->context_id,
		.correlationData = &call->correlation_data,
		.correlationId = call->correlation,
	};

	if (cbid < CBIDS && subscriber.enabled[cbid] && subscriber.callback)
		subscriber.callback(subscriber.userdata, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

/*
 * As CUPTI 13.0 on an H200: it cannot be opened again after work was submitted between the end of
 * the activities and cuptiFinalize().
 */
static _Atomic bool worked_disabled, broken;

static void enter(struct sim_call *call)
{
	if (launches[call->number] && simtool_disabled())
		worked_disabled = true;
	notify(call, CUPTI_API_ENTER);
}

static void leave(struct sim_call *call)
{
	notify(call, CUPTI_API_EXIT);
}

bool simtool_attach(void)
{
	static const struct sim_tool tool = { enter, leave, simtool_record };
	const struct simtool_driver *driver = simtool_driver();

	if (driver)
		driver->install(&tool);
	return driver;
}

void simtool_detach(void)
{
	if (simtool_driver())
		simtool_driver()->install(NULL);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
	void *userdata)
{
	if (!handle)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!simtool_attach())
		return CUPTI_ERROR_UNKNOWN;
	if (broken)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (subscriber.active)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber.active = true;
	subscriber.callback = callback;
	subscriber.userdata = userdata;
	*handle = &subscriber;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if (handle != &subscriber || !subscriber.active)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < CBIDS; i++)
		subscriber.enabled[i] = false;
	subscriber.active = false;
	subscriber.callback = NULL;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (handle != &subscriber || !subscriber.active)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (!cbid || cbid >= CUPTI_DRIVER_TRACE_CBID_SIZE || cbid >= CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	subscriber.enabled[cbid] = enable;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
	CUpti_CallbackDomain domain)
{
	CUptiResult result = CUPTI_SUCCESS;

	for (CUpti_CallbackId i = 1; i < CUPTI_DRIVER_TRACE_CBID_SIZE && !result; i++)
		result = cuptiEnableCallback(enable, handle, domain, i);
	return result;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !name || !cbid)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < CALL_COUNT; i++) {
		*name = names[i];
		if (cbids[i][0] == cbid || cbids[i][1] == cbid)
			return CUPTI_SUCCESS;
	}
	*name = NULL;
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	const struct simtool_driver *driver = simtool_driver();

	if (!timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!driver)
		return CUPTI_ERROR_UNKNOWN;
	*timestamp = driver->clock();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!simtool_driver())
		return CUPTI_ERROR_UNKNOWN;
	*id = simtool_driver()->context_id(context);
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!simtool_driver())
		return CUPTI_ERROR_UNKNOWN;
	*id = simtool_driver()->stream_id(context, stream, per_thread);
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	thread_id_type = type;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*type = thread_id_type;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	static const struct {
		CUptiResult result;
		const char *text;
	} texts[] = {
		{ CUPTI_SUCCESS, "CUPTI_SUCCESS" },
		{ CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER" },
		{ CUPTI_ERROR_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT" },
		{ CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY" },
		{ CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED" },
		{ CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND" },
		{ CUPTI_ERROR_INVALID_STREAM, "CUPTI_ERROR_INVALID_STREAM" },
		{ CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED" },
		{ CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
			"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
		{ CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN" },
	};

	if (!text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		*text = texts[i].text;
		if (texts[i].result == result)
			return CUPTI_SUCCESS;
	}
	*text = "<unknown>";
	return CUPTI_ERROR_INVALID_PARAMETER;
}

/* NVIDIA's CUPTI crashes if another thread is in a call, sooner or later. */
CUptiResult cuptiFinalize(void)
{
	if (simtool_driver() && simtool_driver()->finalize()) {
		fprintf(stderr, "cufence simulator: cuptiFinalize() while a call is in progress\n");
		abort();
	}
	broken = worked_disabled;
	simtool_finalize();
	simtool_detach();
	if (subscriber.active)
		cuptiUnsubscribe(&subscriber);
	return CUPTI_SUCCESS;
}
