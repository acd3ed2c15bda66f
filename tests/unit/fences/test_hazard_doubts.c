/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

int main(void)
{
	return cases_main("fences/test_hazard_doubts.txt", NULL, 0);
}
