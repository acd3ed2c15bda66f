/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

#define FORWARD(symbol, params, driver, args) \
	cudaError_t symbol params \
	{ \
		CALL(simrt_driver.driver args); \
	}
#define FORWARD_PT(symbol, suffix, params, driver, args) \
	FORWARD(symbol, params, driver, args) \
	cudaError_t symbol##suffix params; \
	FORWARD(symbol##suffix, params, driver##suffix, args)
#include "cudart_forward.def"
