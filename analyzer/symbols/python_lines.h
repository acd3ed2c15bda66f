/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's line tables: which line of the source an instruction is of.  Their formats are
 * described in cpython/Objects/lnotab_notes.txt (3.9: pairs of deltas; 3.10: PEP 626) and
 * Objects/locations.md (from 3.11: PEP 657).
 */
#ifndef CUFENCE_PYTHON_LINES_H
#define CUFENCE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at an offset, in bytes, of a code object of that version (major << 8
 * | minor) that starts in first_line; 0: not known.  Instructions without a line have the one
 * before them.  The table may be damaged or cut off.
 */
int python_line(unsigned version, uint32_t first_line, const uint8_t *table, size_t length,
	uint32_t offset);

#endif
