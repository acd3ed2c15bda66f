/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates a total from parts of which the amount is known: the amounts of the parts, divided by
 * their length, stand for the whole length (a ratio estimator; Cochran, Sampling Techniques, 3rd
 * edition, 6.3 to 6.5).  The error follows from how the parts differ.
 */
#ifndef CUFENCE_RATIO_H
#define CUFENCE_RATIO_H

#include <stddef.h>

struct ratio_part {
	double length, amount;
};

struct ratio {
	double about;
	double error; /* half of a 95 % interval; NAN: not known, with fewer than two parts */
};

/* length: of all parts, at most whole. */
struct ratio ratio_estimate(const struct ratio_part *part, size_t count, double length,
	double whole);

#endif
