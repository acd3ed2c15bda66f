/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the host has waited for each stream, as the program did it: what a wait is for, and what
 * it kept back that had nothing to do with that.
 */
#ifndef CUFENCE_FED_STREAMS_H
#define CUFENCE_FED_STREAMS_H

#include "idmap.h"
#include "map.h"
#include "order.h"
#include "relax.h"
#include "scope.h"

/* Work that a stream was given. */
struct fed {
	int64_t call, end; /* call 0: none */
	struct order_epoch loose;
};

struct fed_stream {
	int64_t context;
	enum stream_kind kind;
	struct fed last;
	int64_t waited; /* the last call whose work the host has waited for */
	int64_t row;    /* of waits (pass_needless_wait.c) that did last */
	int64_t kept;   /* a wait that is needed covers its work up to this call */
	int joins;      /* it has waited for an event, so that who waits for it waits for others */
};

struct fed_event {
	int64_t stream;
	struct fed last; /* what it stands for */
};

/* Zero-initialized is empty. */
struct feeds {
	struct idmap streams, events;
	struct map timed; /* events of which a time is taken, and of which none */
};

/* What a wait is for. */
struct cover {
	enum scope scope;
	int64_t stream, context;
	struct fed last; /* of what was not waited for yet that which ended last; call 0: nothing */
};

enum covers { COVERS_NOT, COVERS_PERHAPS, COVERS_SURELY };

/* Finds the events of which times are taken; 0, or -1 after a message. */
int feeds_open(struct feeds *feeds, const struct run *run);
void feeds_close(struct feeds *feeds);

/* The next call as relax.h has seen it, unless it is a wait; 0, or -1 after a message. */
int feeds_note(struct feeds *feeds, const struct relax *relax, const struct walk_call *call);

/* A wait in a row of waits; a query that came through is one. */
void feeds_wait(struct feeds *feeds, const struct walk_call *call, int64_t row,
	struct cover *cover);

/* Whether the wait was one for that operation. */
enum covers feeds_covers(const struct feeds *feeds, const struct cover *cover,
	const struct touch *touch);

/* A wait, which surely covers the operation, is needed; and whether such a one does. */
void feeds_keep(struct feeds *feeds, const struct touch *touch, const struct cover *cover,
	int64_t wait);
int feeds_is_kept(const struct feeds *feeds, const struct touch *touch);

/* All that the stream was given the host had waited for before a row of waits, if anything. */
int feeds_idled(const struct feeds *feeds, int64_t stream, int64_t row);

int feeds_is_timed(const struct feeds *feeds, int64_t event);

#endif
