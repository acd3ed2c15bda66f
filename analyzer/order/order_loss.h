/* SPDX-License-Identifier: Apache-2.0 */
/* What the database says of an order that could not be followed to the end: rows of table loss. */
#ifndef CUFENCE_ORDER_LOSS_H
#define CUFENCE_ORDER_LOSS_H

#include "db.h"

#define ORDER_LOSS "order_given_up"

/* An order was given up at this call (order.given_up), 0: it was not.  0, or -1 after a message. */
int order_loss_add(struct db *db, int64_t call);

#endif
