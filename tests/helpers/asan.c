/* SPDX-License-Identifier: Apache-2.0 */
/* Built with -fsanitize=address by the Makefile; its start is the test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *text = strdup("asan");

	printf("%s\n", text);
	free(text);
	return 0;
}
