/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded for ever: whoever loads it holds the loader's lock. */
#include <unistd.h>

__attribute__((constructor)) static void wait_for_ever(void)
{
	for (;;)
		pause();
}
