/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers shared by loop*.c. */
#ifndef CUFENCE_LOOP_PARTS_H
#define CUFENCE_LOOP_PARTS_H

#define LOOP_TURNS_LEAST 3
#define LOOP_BRANCHES_MOST 8 /* of one function, that exclude each other */
#define LOOP_OWN_PART 4       /* the part of its thread's weight that a loop covers at least */
#define LOOP_INNER_PART 3     /* the part of its thread's tokens that a nested loop has at least */
#define LOOP_INNER_LEAST 3    /* turns of a nested loop in each turn */
#define LOOP_LAST_TIMES 2     /* the mean turn */

#endif
