/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of NCCL.  The program reaches them by our exports or by dlsym() of libnccl.  Each is one
 * record, written when the function returns, with the time of entry as a field: the driver's calls
 * within it are recorded as if nothing were around them, so that their sites are as deep.
 *
 * A communicator is known by its handle in one process, and by an identity in all of its ranks.
 * Its collectives are counted here, also those that are not recorded: ranks number them alike.
 *
 * Where NCCL is linked into the program its profiler interface announces the calls
 * (nccl_profiler.c).
 *
 * Any thread may call.  At most NCCL_COMMUNICATORS are followed at a time; collectives of others
 * have no number, and where their size depends on the number of ranks, that is unknown.
 */
#ifndef CUFENCE_NCCL_H
#define CUFENCE_NCCL_H

#include "nccl_api.h"
#include "shim.h"

#define NCCL_COMMUNICATORS 256

/* Rows of calls.def, in their order. */
enum nccl_function {
#define NCCL(symbol, params, args, fields, kind) NCCL_##symbol,
#include "calls.def"
	NCCL_COUNT
};

struct nccl_entry {
	const char *name;
	void *wrapper;
};
extern const struct nccl_entry nccl_entries[NCCL_COUNT];

/*
 * The real function, for the caller with that return address; NULL: there is none.  As the dynamic
 * linker does, it is looked for in the global scope and then in the caller's own library.
 */
void *nccl_real(enum nccl_function function, const void *caller);

/* Whether the program reaches NCCL by the wrappers. */
int nccl_is_wrapped(void);

/* A function of libnccl by its name, for the recorder's own questions; NULL: there is none. */
void *nccl_symbol(const char *name);

/* Result of the dlsym hook for a name that begins with "nccl", as dlsym_answer(). */
void *nccl_answer(void *handle, const char *name);

/* The number of the communicator's next collective, from 1; 0: unknown. */
uint64_t nccl_next(ncclComm_t comm);

/*
 * Bytes of count elements, times the ranks of the communicator unless that is NULL; UINT64_MAX:
 * unknown.
 */
uint64_t nccl_bytes(ncclComm_t comm, uint64_t count, int datatype);

/* bytes if the caller's rank is the root, or is not, else 0; UINT64_MAX: its rank is unknown. */
uint64_t nccl_at_root(ncclComm_t comm, int root, uint64_t bytes);
uint64_t nccl_at_others(ncclComm_t comm, int root, uint64_t bytes);

/*
 * Identities: of a communicator made with an id, NULL: unknown; of one whose ranks are all in this
 * process; of the next one that is made from another by a split.  0: unknown.
 */
uint64_t nccl_identity(const ncclUniqueId *id);
uint64_t nccl_own_identity(void);
uint64_t nccl_announced_identity(uint64_t hash);
uint64_t nccl_part_of(ncclComm_t comm, int color);

/* A communicator with what is known of it. */
struct nccl_communicator {
	uint64_t handle, identity;
	int32_t ranks, rank, device; /* -1: unknown */
};

/* It has been made: its collectives are counted from 1.  Asks NCCL for what is -1. */
void nccl_add(struct nccl_communicator *made);
/* As nccl_add(), for one of the profiler interface, whose handle is none of NCCL's. */
void nccl_follow(const struct nccl_communicator *made);
void nccl_remove(ncclComm_t comm);

/* Ticks, 0: nothing is recorded. */
static inline uint64_t nccl_now(void)
{
	return shim.stage == SHIM_ON ? clock_read() : 0;
}

/* A call that the profiler interface announced. */
struct nccl_announced {
	enum nccl_function function; /* NCCL_COUNT: unknown */
	ncclComm_t comm;             /* the handle of its communicator */
	CUstream stream;
	size_t count;
	int datatype, peer; /* -1: unknown */
	uint64_t began;     /* nccl_now() */
	int has_buffers;
	const void *from;
	void *to;
};

/* The function of calls.def with that name after "nccl", NCCL_COUNT: there is none. */
enum nccl_function nccl_function_named(const char *name);

/*
 * Record what the profiler interface announced, once its thread has submitted it: a communicator
 * and its end, a call, and the end of a group of count calls whose launches came after began.
 */
void nccl_record_communicator(const struct nccl_communicator *made, void *frame_address);
void nccl_record_end(ncclComm_t comm, void *frame_address);
void nccl_record_call(const struct nccl_announced *call, int grouped, void *frame_address);
void nccl_record_group(uint64_t count, uint64_t began, void *frame_address);

/* A call that is not recorded: its communicator counts it. */
void nccl_count_call(const struct nccl_announced *call);

#endif
