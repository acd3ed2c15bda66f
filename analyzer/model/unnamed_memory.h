/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a call that stands for many operations: call_object, "content". */
#ifndef CUFENCE_UNNAMED_MEMORY_H
#define CUFENCE_UNNAMED_MEMORY_H

enum content {
	CONTENT_UNNAMED = 1 << 0, /* may access memory that table operand does not name */
	CONTENT_HOST = 1 << 1,    /* host functions run, or the host can read values written */
};

#endif
