/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

int main(void)
{
	return cases_main("load/test_mappings.txt", NULL, 0);
}
