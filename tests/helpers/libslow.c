/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose loading never ends: the loading thread holds the loader's lock. */
#include <unistd.h>

__attribute__((constructor)) static void wait_for_ever(void)
{
	for (;;)
		pause();
}
