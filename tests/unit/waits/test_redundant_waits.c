/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

int main(void)
{
	return cases_main("waits/test_redundant_waits.txt", NULL, 0);
}
