/* SPDX-License-Identifier: Apache-2.0 */
/* All thresholds of the analyzer; the table has units and sources. */
#ifndef CUFENCE_CONSTANTS_H
#define CUFENCE_CONSTANTS_H

enum constant {
#define CONSTANT(name, value, unit, source) name = value,
#include "constants.def"
};

#endif
