/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated CUPTI, whose opening takes until there is a file named CUPTI_LATE: for
 * CUFENCE_CUPTI.  That it has begun, a file of that name and .begun says.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) CUptiResult
cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user)
{
	void *simulated = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	__typeof__(&cuptiSubscribe) subscribe =
		(__typeof__(&cuptiSubscribe))dlsym(simulated, "cuptiSubscribe");
	char begun[4096];

	snprintf(begun, sizeof(begun), "%s.begun", getenv("CUPTI_LATE"));
	close(open(begun, O_CREAT | O_WRONLY, 0644));
	while (access(getenv("CUPTI_LATE"), F_OK))
		usleep(1000);
	return subscribe(subscriber, callback, user);
}
