/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the number of preloaded links: see liblink.c. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	int (*length)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "link_length");

	printf("%d\n", length ? length() : 0);
	return 0;
}
