/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface between the parts of the order engine: order.c selects the step for a call,
 * order_device.c handles streams and events, order_legacy.c the legacy stream, order_host.c
 * threads, order_graph.c executable graphs.  Each function that can fail returns 0, or -1 after a
 * message.
 */
#ifndef CUFENCE_ORDER_STEPS_H
#define CUFENCE_ORDER_STEPS_H

#include "order_agents.h"

/* Resets what is known of the stepped call. */
void order_begin_step(struct order *order);

/* Sets what the stepped call is ordered after to a state. */
void order_begin(struct order *order, const struct order_state *state);

/* Adds a direct edge from the stepped call, without the clock. */
int order_edge(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason);

/* Adds a direct edge from the stepped call, and the earlier node's clock. */
int order_need(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason);

/* Adds a state's clock to a clock, with at most strength cap. */
void order_learn(struct order *order, struct order_clock **clock, const struct order_epoch *own,
	const struct order_state *state, enum order_strength cap);

/* Makes everything earlier possibly ordered before the owner of the clock (ORDER_UNKNOWN). */
void order_doubt(struct order *order, struct order_clock **clock);

/*
 * Returns the stepped call as a node: all it needs, and its own operation.  Its clock is
 * order->now.
 */
struct order_state order_node(struct order *order, const struct walk_call *call);

/*
 * Makes the call the stream's next node.  overlap: its operation may start before the last one
 * ends.
 */
int order_submit(struct order *order, struct order_stream *stream, const struct walk_call *call,
	int overlap);

/* Orders the stream's next node after a state too. */
int order_add_pending(struct order *order, struct order_stream *stream, struct order_state state,
	enum order_reason reason);

/* Adds edges to the stream's pending states: each with its own reason, or all with one. */
int order_need_pending(struct order *order, const struct walk_call *call,
	const struct order_stream *stream, enum order_reason as);

/* Adds the edges of the legacy stream's rule to the stream's next node. */
int order_need_legacy(struct order *order, const struct walk_call *call,
	struct order_stream *stream, int overlap);

/* Orders what a call does in the legacy stream after the work that was moved out of it. */
int order_see_moved(struct order *order, const struct walk_call *call);

/* Would that add edges for a blocking stream? */
int order_has_legacy_news(const struct order_stream *stream);

/* Makes the stream's last node legacy work of the other contexts that it copies from or to. */
void order_keep_legacy(struct order *order, const struct walk_call *call,
	const struct order_stream *stream);

/* Did another thread enter the call before the stream's last call had returned? */
int order_is_contested(const struct order_stream *stream, const struct walk_call *call);

/* Reports the stream's last node to other threads, if the host can observe it without a call. */
int order_tell_host(struct order *order, const struct walk_call *call,
	const struct order_stream *stream);

int order_step_submit(struct order *order, const struct walk_call *call);
int order_step_record(struct order *order, const struct walk_call *call);
int order_step_wait(struct order *order, const struct walk_call *call);
int order_step_context_record(struct order *order, const struct walk_call *call);
int order_step_context_wait(struct order *order, const struct walk_call *call);
int order_step_alloc(struct order *order, const struct walk_call *call);
int order_step_free(struct order *order, const struct walk_call *call);

/* Run around every call: receive reports before it, make reports after it. */
int order_receive_reports(struct order *order, const struct walk_call *call);
int order_report_wait(struct order *order, const struct walk_call *call, int64_t at,
	const struct order_state *state);
/* A host function of the call observed a state when it was entered at that time. */
int order_report_run(struct order *order, const struct walk_call *call, int64_t at,
	const struct order_state *state);

/* Adds what a state contains to the process's reports. */
int order_add_report(struct order *order, struct order_process *process,
	const struct order_state *state);

/* Add, and check, that the stepped call is ordered after the reports that a thread has received. */
void order_need_reports(struct order *order, const struct order_thread *thread);
int order_knows_reports(const struct order *order, const struct order_clock *clock,
	const struct order_thread *thread);

/* Like order_clock_strength(), including what clocks contain through reports to processes. */
enum order_strength order_strength(const struct order *order, const struct order_clock *clock,
	const struct order_epoch *own, const struct order_epoch *epoch);
enum order_strength order_reports_strength(const struct order_process *process, uint32_t number,
	const struct order_epoch *epoch);

/*
 * Adds a state to what the thread has observed: complete or up to its start, with at most strength
 * cap.
 */
int order_let_know(struct order *order, const struct walk_call *call,
	const struct order_state *state, enum order_strength cap);
/* Likewise for a state observed complete, without a step of the call. */
int order_note_known(struct order *order, const struct walk_call *call,
	const struct order_state *state);
int order_step_join(struct order *order, const struct walk_call *call);
int order_step_incident(struct order *order, const struct walk_call *call);
int order_step_thread(struct order *order, const struct walk_call *call);

int order_step_graph(struct order *order, const struct walk_call *call);

#endif
