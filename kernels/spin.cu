// SPDX-License-Identifier: Apache-2.0
#include "hold.h"

__global__ void cufence::spin(unsigned long long spin_ns)
{
	hold(device_ns(), spin_ns);
}
