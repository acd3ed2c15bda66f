/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reuse of memory by allocators that ask events whether it is in use (callers.def).
 *
 * Such an allocator records events when memory is given back, and hands the memory out again once
 * they are complete: "the allocator will not reuse the memory until all operations recorded are
 * finished" (PyTorch, Tensor.record_stream).  The
 * allocator goes on whatever the answer, so a query orders nothing for it (order_host.c).  This
 * module keeps what each allocator has observed complete.
 *
 * Which block an event stands for is not recorded.  A write may be the first use of a block that
 * was handed out again if the allocator knew the earlier access complete, and if it does not read
 * what it overwrites: from there on the bytes have another life, and the earlier access is compared
 * with nothing any more.  A read of what the earlier operation wrote is never that.
 */
#ifndef CUFENCE_REUSE_H
#define CUFENCE_REUSE_H

#include "callers.h"
#include "order.h"

/* Empty when zero-initialised. */
struct reuse {
	struct id_map known; /* process and allocator -> struct reuse_known */
};

void reuse_release(struct reuse *reuse);

/*
 * Adds what an allocator's query found complete, after order_step().  Returns 0, or -1 after a
 * message.
 */
int reuse_process_call(struct reuse *reuse, struct order *order, const struct walk_call *call);

/*
 * Returns 1 if the allocator that made this memory knows the operation complete, as far as called;
 * -1 after a message.
 */
int reuse_is_known(const struct reuse *reuse, struct callers *callers, int64_t process,
	int64_t allocation, const struct order_epoch *operation);

#endif
