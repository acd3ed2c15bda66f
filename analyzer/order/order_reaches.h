/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which earlier operations lie surely before the present one, for who asks of many: how far each
 * agent lies before it (order_reach()) is looked up once.
 */
#ifndef CUFENCE_ORDER_REACHES_H
#define CUFENCE_ORDER_REACHES_H

#include "order.h"

#define ORDER_REACHES 256

/* Zero-initialized, it has to begin. */
struct order_reaches {
	uint64_t step; /* of present operations so far; what is of another one is forgotten */
	struct order_reached {
		uint64_t step;
		uint32_t key, set, seq;
	} reached[ORDER_REACHES], of_set; /* by key; key 0 */
};

/* The order has stepped a call. */
static inline void order_reaches_begin(struct order_reaches *reaches)
{
	reaches->step++;
}

/* Agents of one set, as streams of a context, are mostly asked for in a row. */
static inline uint32_t order_reaches_set(struct order_reaches *reaches, const struct order *order,
	uint32_t set)
{
	struct order_reached *of_set = &reaches->of_set;

	if (of_set->step != reaches->step || of_set->set != set)
		*of_set = (struct order_reached){ reaches->step, 0, set,
			order_reach_set(order, set) };
	return of_set->seq;
}

/* The number of the last epoch of an agent of which order_before() says ORDER_GUARANTEED. */
static inline uint32_t order_reaches_to(struct order_reaches *reaches, const struct order *order,
	const struct order_epoch *epoch)
{
	struct order_reached *reached = &reaches->reached[epoch->key % ORDER_REACHES];

	if (reached->step != reaches->step || reached->key != epoch->key ||
		reached->set != epoch->set) {
		uint32_t own = order_reach(order, epoch);
		uint32_t of_set = order_reaches_set(reaches, order, epoch->set);

		*reached = (struct order_reached){ reaches->step, epoch->key, epoch->set,
			own > of_set ? own : of_set };
	}
	return reached->seq;
}

/* 1: order_before() says ORDER_GUARANTEED; 0: it does not. */
static inline int order_reaches(struct order_reaches *reaches, const struct order *order,
	const struct order_epoch *epoch)
{
	return epoch->seq && epoch->seq <= order_reaches_to(reaches, order, epoch);
}

#endif
