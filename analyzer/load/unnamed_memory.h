/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the memory of a call that stands for many operations: call_object, "content". */
#ifndef CUFENCE_UNNAMED_MEMORY_H
#define CUFENCE_UNNAMED_MEMORY_H

enum content {
	CONTENT_UNNAMED = 1 << 0, /* it may touch memory that table operand does not name */
	CONTENT_HOST = 1 << 1,    /* functions run on the host, or values are told to it */
};

#endif
