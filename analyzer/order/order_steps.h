/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the parts of the order engine work together: order.c decides what a call means,
 * order_device.c does what it means for streams and events, order_legacy.c for what the legacy
 * stream adds, order_host.c for threads, order_graph.c for executable graphs.  Each function: 0, or
 * -1 after a message.
 */
#ifndef CUFENCE_ORDER_STEPS_H
#define CUFENCE_ORDER_STEPS_H

#include "order_agents.h"

/* Nothing is known of the stepped call. */
void order_begin_step(struct order *order);

/* The stepped call starts out knowing what state says. */
void order_begin(struct order *order, const struct order_state *state);

/* Adds a direct edge from the stepped call alone. */
int order_edge(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason);

/* Adds a direct edge from the stepped call, and what the earlier node knew. */
int order_need(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason);

/* Adds a state's clock to a clock, no surer than cap. */
int order_learn(struct order *order, struct order_clock **clock, const struct order_epoch *own,
	const struct order_state *state, enum order_strength cap);

/* Anything earlier may be ordered before the stepped call. */
int order_doubt(struct order *order, struct order_clock **clock);

/* The stepped call as a node: after all it needs, and its own operation with it; its clock is
 * the order's. */
struct order_state order_node(struct order *order, const struct walk_call *call);

/* Makes the call the stream's next node; overlap: its operation may start before the last one
 * ends. */
int order_submit(struct order *order, struct order_stream *stream, const struct walk_call *call,
	int overlap);

/* The stream's next node comes after this too. */
int order_add_pending(struct order *order, struct order_stream *stream, struct order_state state,
	enum order_reason reason);

/* What the stream's next node comes after: each as its own reason, or all as one. */
int order_need_pending(struct order *order, const struct walk_call *call,
	const struct order_stream *stream, enum order_reason as);

/* What the legacy stream's rule has the stream's next node come after. */
int order_need_legacy(struct order *order, const struct walk_call *call,
	struct order_stream *stream, int overlap);

/* Whether that is more than what its last node came after, for a blocking stream. */
int order_has_legacy_news(const struct order_stream *stream);

/* The stream's last node is legacy work of other contexts, too, if it copies from or to them. */
void order_keep_legacy(struct order *order, const struct walk_call *call,
	const struct order_stream *stream);

/* A call by another thread entered before the stream's last one had returned. */
int order_is_contested(const struct order_stream *stream, const struct walk_call *call);

/* Others may learn from the stream's last node without a call, if it is of that kind. */
int order_tell_host(struct order *order, const struct walk_call *call,
	const struct order_stream *stream);

int order_step_submit(struct order *order, const struct walk_call *call);
int order_step_record(struct order *order, const struct walk_call *call);
int order_step_wait(struct order *order, const struct walk_call *call);
int order_step_context_record(struct order *order, const struct walk_call *call);
int order_step_context_wait(struct order *order, const struct walk_call *call);
int order_step_alloc(struct order *order, const struct walk_call *call);
int order_step_free(struct order *order, const struct walk_call *call);

/* Around every call: what its thread learns before it, what others may learn from it. */
int order_hear(struct order *order, const struct walk_call *call);
int order_tell(struct order *order, const struct walk_call *call, int64_t at,
	const struct order_state *state);

/* Reports what a state has observed to the process. */
int order_add_told(struct order *order, struct order_process *process,
	const struct order_state *state);

/* The stepped call starts out knowing what a thread has heard of that. */
int order_need_told(struct order *order, const struct order_thread *thread);
int order_knows_told(const struct order *order, const struct order_clock *clock,
	const struct order_thread *thread);

/* order_clock_strength(), with what clocks contain through reports to processes. */
enum order_strength order_strength(const struct order *order, const struct order_clock *clock,
	const struct order_epoch *own, const struct order_epoch *epoch);
enum order_strength order_told_strength(const struct order_process *process, uint32_t told,
	const struct order_epoch *epoch);

/* The thread has observed the state: complete, or up to its start; surely, or not quite. */
int order_let_know(struct order *order, const struct walk_call *call,
	const struct order_state *state, enum order_strength cap);
/* The thread has also observed the state complete, without a step of the call. */
int order_note_known(struct order *order, const struct walk_call *call,
	const struct order_state *state);
int order_step_join(struct order *order, const struct walk_call *call);
int order_step_incident(struct order *order, const struct walk_call *call);
int order_step_thread(struct order *order, const struct walk_call *call);

int order_step_graph(struct order *order, const struct walk_call *call);

#endif
