/* SPDX-License-Identifier: Apache-2.0 */
#include "ratio.h"

#include <math.h>

/* The factor of a 95 % interval (Student's t) by the degrees of freedom. */
static double student(size_t freedom)
{
	static const double few[] = { 0, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26 };

	return freedom < sizeof(few) / sizeof(*few) ? few[freedom] : 1.96 + 2.6 / (double)freedom;
}

struct ratio ratio_estimate(const struct ratio_part *part, size_t count, double length,
	double whole)
{
	double sum = 0, squares = 0, fraction = length / whole, rate, n = (double)count;
	struct ratio ratio = { .error = NAN };

	for (size_t i = 0; i < count; i++)
		sum += part[i].amount;
	rate = sum / length;
	ratio.about = rate * whole;
	if (count < 2)
		return ratio;
	for (size_t i = 0; i < count; i++) {
		double differs = part[i].amount - rate * part[i].length;

		squares += differs * differs;
	}
	/* The amount of the parts themselves is known. */
	ratio.error = sqrt(n * squares / (n - 1) * (1 - fraction)) / fraction * student(count - 1);
	return ratio;
}
