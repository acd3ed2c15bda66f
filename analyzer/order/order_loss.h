/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table loss for a run whose order was not analyzed to the end. */
#ifndef CUFENCE_ORDER_LOSS_H
#define CUFENCE_ORDER_LOSS_H

#include "db.h"

#define ORDER_LOSS "order_given_up"

/*
 * Adds rows for an order that was given up at this call (order.given_up), 0: it was not, of the
 * calls before end.  Returns 0, or -1 after a message.
 */
int order_loss_add(struct db *db, int64_t call, int64_t end);

#endif
