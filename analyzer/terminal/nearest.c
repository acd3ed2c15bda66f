/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <string.h>

#define LONGEST 48 /* longer words are not compared */

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: Levenshtein's distance, and a swap of neighbours counts 1. */
static int distance(const char *a, const char *b)
{
	int rows = (int)strlen(a), columns = (int)strlen(b);
	int d[LONGEST + 1][LONGEST + 1];

	for (int i = 0; i <= rows; i++)
		d[i][0] = i;
	for (int j = 0; j <= columns; j++)
		d[0][j] = j;
	for (int i = 1; i <= rows; i++)
		for (int j = 1; j <= columns; j++) {
			int replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = least(replaced, 1 + least(d[i - 1][j], d[i][j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[rows][columns];
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t typed = strlen(nearest->word);
	int far;

	if (typed > LONGEST || strlen(word) > LONGEST)
		return;
	far = distance(nearest->word, word);
	if (far * 3 > (int)typed || (nearest->best && far >= nearest->distance))
		return;
	nearest->best = word;
	nearest->distance = far;
}
