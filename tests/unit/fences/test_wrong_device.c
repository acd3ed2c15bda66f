/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

int main(void)
{
	return cases_main("fences/test_wrong_device.txt", NULL, 0);
}
