/* SPDX-License-Identifier: Apache-2.0 */
/* What CUPTI records, as selection.h says, is switched on and off. */
#ifndef CUFENCE_SWITCHES_H
#define CUFENCE_SWITCHES_H

#include "cupti_api.h"

/* Enables (1) the callbacks of the selected calls, or disables them but for graph launches. */
CUptiResult switch_callbacks(const struct cupti_api *api, CUpti_SubscriberHandle subscriber,
	uint32_t enable);

/*
 * Operations are recorded from here on; graphs: each graph launch is one.  Call after the callbacks
 * are enabled: an operation without an announced correlation id has no call.
 */
CUptiResult switch_on(const struct cupti_api *api, int graphs);
void switch_off(const struct cupti_api *api);

#endif
