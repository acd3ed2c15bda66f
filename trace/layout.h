/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed part of every record as data.  Dump and undump are driven by the same columns; the tail
 * of a record follows its fixed part.  doc/FORMAT.md describes the fields.
 */
#ifndef CUFENCE_LAYOUT_H
#define CUFENCE_LAYOUT_H

#include <stdint.h>

enum column_format { COLUMN_DECIMAL, COLUMN_SIGNED, COLUMN_HEX, COLUMN_BYTES };

struct column {
	const char *name;
	uint16_t offset;
	uint8_t size;   /* bytes: 1, 2, 4, 8; any number for COLUMN_BYTES */
	uint8_t format; /* enum column_format */
};

enum record_tail {
	TAIL_NONE,
	TAIL_FIELDS,      /* call: named fields, pointers, words */
	TAIL_FIELD_KINDS, /* call type: names of field kinds, then the name */
	TAIL_ADDRESSES,   /* site */
	TAIL_PARAMETERS,  /* function: offset+size pairs, then the name */
	TAIL_TEXT,        /* one string, whose length is length_offset's u32 */
	TAIL_TEXTS,       /* strings; their lengths are consecutive u16 at length_offset */
	TAIL_BYTES,       /* image: as hexadecimal */
	TAIL_OPERAND,     /* enter: one word, since 1.7 */
};

#define MAX_COLUMNS 24
#define MAX_TEXTS 3

struct record_layout {
	const char *name;                /* first word of the line; NULL: no such type */
	uint16_t size;                   /* of the fixed part */
	uint16_t length_offset;          /* TAIL_TEXT, TAIL_BYTES: of the u32 length; TAIL_TEXTS */
	uint8_t tail;                    /* enum record_tail */
	const char *text[MAX_TEXTS + 1]; /* TAIL_TEXTS: names of the strings, then NULL */
	struct column column[MAX_COLUMNS]; /* ends with name NULL */
};

/* The flags of struct record, as the text names them: record_flags. */
extern const struct column head_columns[];

/* Indexed by enum record_type. */
extern const struct record_layout record_layouts[];

/* struct file_header, without magic, version and counters. */
extern const struct column header_columns[];
extern const char *const counter_names[];

uint64_t column_get(const struct column *column, const void *base);
void column_set(const struct column *column, void *base, uint64_t value);

#endif
