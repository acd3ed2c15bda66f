/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which of many earlier operations are surely ordered before the current one.  The position
 * of each agent is looked up once per clock, as operations share clocks.
 */
#ifndef CUFENCE_ORDER_REACHES_H
#define CUFENCE_ORDER_REACHES_H

#include "order.h"

#define ORDER_REACHES 1024

/* Zero-initialize it; call order_reaches_begin() before use. */
struct order_reaches {
	uint64_t step; /* number of the current operation; older values in of_set are stale */
	struct order_reached {
		uint64_t clock; /* by number of clock */
		uint32_t key, seq;
	} reached[ORDER_REACHES];
	struct {
		uint64_t step;
		uint32_t set, seq;
	} of_set;
};

/* Call it after each step of the order. */
static inline void order_reaches_begin(struct order_reaches *reaches)
{
	reaches->step++;
}

/* Agents of one set, such as the streams of a context, are mostly queried in a row. */
static inline uint32_t order_reaches_set(struct order_reaches *reaches, const struct order *order,
	uint32_t set)
{
	if (reaches->of_set.step != reaches->step || reaches->of_set.set != set) {
		reaches->of_set.step = reaches->step;
		reaches->of_set.set = set;
		reaches->of_set.seq = order_reach_set(order, set);
	}
	return reaches->of_set.seq;
}

/* Clocks mostly equal those of earlier operations: positions of agents are cached. */
static inline uint32_t order_reaches_clock(struct order_reaches *reaches, const struct order *order,
	uint32_t key)
{
	uint64_t clock = order->now ? order->now->number : 0;
	struct order_reached *reached = &reaches->reached[(67 * clock + key) % ORDER_REACHES];

	if (!clock || reached->clock != clock || reached->key != key)
		*reached = (struct order_reached){ clock, key, order_reach_clock(order, key) };
	return reached->seq;
}

/*
 * Returns the sequence number of the agent's last epoch for which order_before() is
 * ORDER_GUARANTEED.
 */
static inline uint32_t order_reaches_to(struct order_reaches *reaches, const struct order *order,
	const struct order_epoch *epoch)
{
	uint32_t most, of_set;

	if (order->given_up || !order->epoch.seq)
		return 0;
	if (epoch->key == order->epoch.key && !order->overlaps)
		return UINT32_MAX;
	most = order_reaches_clock(reaches, order, epoch->key);
	if (order->now_own.key == epoch->key && order->now_own.seq > most)
		most = order->now_own.seq;
	of_set = order_reaches_set(reaches, order, epoch->set);
	return of_set > most ? of_set : most;
}

/* Returns 1 if order_before() is ORDER_GUARANTEED, else 0. */
static inline int order_reaches(struct order_reaches *reaches, const struct order *order,
	const struct order_epoch *epoch)
{
	return epoch->seq && epoch->seq <= order_reaches_to(reaches, order, epoch);
}

#endif
