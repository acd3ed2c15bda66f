/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a trace's header that others than the recorder write to: control, and the ring. */
#ifndef CUFENCE_TRACE_CONTROL_H
#define CUFENCE_TRACE_CONTROL_H

#include <stdint.h>

/*
 * How a running process is controlled: the recorder reads requests in its mapped header and answers
 * them at the process's next call (doc/INTERNALS.md, Control).  A process is identified by its pid
 * namespace, its pid there (file_header.pid) and its start; it is alive while it holds a POSIX lock
 * on the whole file, which a forked child does not inherit.
 */
#define TRACE_SESSION 48
/*
 * What is wished: to record, not to, or (a larger number) to record for so many microseconds and
 * then no longer.  The recorder replaces the last one by CONTROL_PAUSE when it begins, so that
 * whoever asked can withdraw it before.  It adds CONTROL_FOUND when a call has found it, and CUPTI
 * is opened for it.
 */
#define CONTROL_RECORD 0u
#define CONTROL_PAUSE 1u
#define CONTROL_FOUND 1u
enum control_state {
	CONTROL_NONE = 0,      /* of a trace before 1.6 */
	CONTROL_RECORDING = 1, /* work is recorded */
	CONTROL_PAUSED = 2,    /* by a request, or from the start: waits for one */
	CONTROL_WAITING = 3,   /* for another reason: enum window_cause */
	CONTROL_OVER = 4,      /* no more will be recorded */
};
struct trace_control {
	uint64_t space;              /* inode of the pid namespace, 0: unknown */
	uint64_t born;               /* field 22 of /proc/PID/stat, 0: unknown */
	char session[TRACE_SESSION]; /* name, ends with a NUL */
	uint32_t state;              /* enum control_state, by the recorder */
	uint32_t answered;           /* the last request that was answered, by the recorder */
	uint32_t windows;            /* that were opened, by the recorder */
	uint32_t asked;              /* number of requests, by those who ask */
	uint32_t wish;               /* the last of them: CONTROL_RECORD and so on */
	/* Since 1.7, futexes: CUPTI's records are asked for, also of who makes no call. */
	uint32_t flushes; /* number of requests, by those who ask */
	uint32_t flushed; /* the last one that was done, by the recorder */
	/*
	 * The call site (site_record.id) with which each turn of a loop begins, by those who ask
	 * for samples; 0: none.  The recorder removes one that no longer comes.
	 */
	uint32_t head;
};

/*
 * A ring, of which only the last part is kept: of its oldest chunks somebody else than the recorder
 * ("cufence run --ring") makes others with what later ones need.  These are copies of window 0,
 * whose round is their generation << 32 and a number.  Those of the header's generation or before
 * count, and a chunk no longer does once it is replaced by such a generation (chunk_header.before):
 * one store of the generation changes all.
 */
#define TRACE_RING_FREE 512
struct trace_ring {
	uint32_t generation; /* 0: all is kept */
	uint32_t reserved;
	int64_t fewer_chunks; /* there are so many fewer than chunks says */
	int64_t fewer_bytes;  /* of records */
	/* 1 + number of a chunk that is no longer used: the recorder takes it.  0: none. */
	uint32_t free[TRACE_RING_FREE];
};

#endif
