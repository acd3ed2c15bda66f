/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that go to the columns of the run (run_build.h) as well, if db->run is to be filled. */
#ifndef CUFENCE_LOAD_COLUMNS_H
#define CUFENCE_LOAD_COLUMNS_H

#include "loader.h"

/* Each 0, or -1 after a message.  Times: ns, DB_NULL for NULL; ids likewise. */
int loader_keep_call(struct loader *loader, const struct loaded_call *call, int64_t enter,
	int64_t exit, int64_t site);
int loader_keep_operation(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call, int64_t start, int64_t end, int64_t context,
	int64_t stream);
int loader_keep_operand(struct loader *loader, int64_t call, const char *role, int64_t offset,
	uint64_t address, int64_t allocation);
int loader_keep_launch(struct loader *loader, int64_t call, int64_t shape);

#endif
