/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

int main(void)
{
	return cases_main("report/test_pace.txt", NULL, 0);
}
