/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with NCCL linked in, as some builds of PyTorch: its calls reach whichever function of
 * that name the dynamic linker finds first, and must end in its own.
 */
#include <stddef.h>

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
	void *stream);
int reduce_within(void);

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
	void *stream)
{
	return (int)count;
}

int reduce_within(void)
{
	return ncclAllReduce(NULL, NULL, 4711, 0, 0, NULL, NULL);
}
