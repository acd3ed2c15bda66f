/* SPDX-License-Identifier: Apache-2.0 */
#include "switches.h"

#include "origin.h"
#include "selection.h"
#include "shim.h"

/*
 * CUPTI 13.0 crashes in the launch of a graph that was instantiated while graphs were not recorded.
 * Graphs are therefore recorded outside of windows too, and launches outside are dropped by
 * correlation id; all launches, if graphs must not be timed (collector.c): some of their nodes
 * might be.  So is all work between a window's end and the closing of CUPTI (passed.h).
 */
static int launches_graph(CUpti_CallbackId id)
{
	return call_types[selected_calls[id].call - 1].kind == KIND_GRAPH_LAUNCH;
}

CUptiResult switch_callbacks(const struct cupti_api *api, CUpti_SubscriberHandle subscriber,
	uint32_t enable)
{
	CUptiResult rc = CUPTI_SUCCESS;

	for (unsigned id = 1; id < SELECTION_CBIDS && rc == CUPTI_SUCCESS; id++) {
		if (selected_callback(id) && (enable || !launches_graph(id)))
			rc = api->cuptiEnableCallback(enable, subscriber,
				CUPTI_CB_DOMAIN_DRIVER_API, id);
		/* The call is newer than this CUPTI, and therefore newer than its driver. */
		if (rc == CUPTI_ERROR_INVALID_PARAMETER)
			rc = CUPTI_SUCCESS;
	}
	return rc;
}

CUptiResult switch_on(const struct cupti_api *api, int graphs)
{
	CUptiResult rc = CUPTI_SUCCESS;

	for (unsigned i = 0; i < SELECTED_KINDS && rc == CUPTI_SUCCESS; i++)
		rc = api->cuptiActivityEnable(selected_kinds[i]);
	if (rc != CUPTI_SUCCESS)
		return rc;
	/* Older versions lack both kinds; the rest is useful without them. */
	api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
	if (selected_graph_nodes(origin_setting("CUFENCE_GRAPHS")))
		shim.writer.header->features |= FEATURE_GRAPH_NODES;
	else if (graphs)
		api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	return rc;
}

void switch_off(const struct cupti_api *api)
{
	for (unsigned i = 0; i < SELECTED_KINDS; i++)
		api->cuptiActivityDisable(selected_kinds[i]);
	api->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_OVERHEAD);
}
