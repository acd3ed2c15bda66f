/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of instructions for sass_decode.c.  Bits of the 16 bytes:
 *
 * 	0-8 the opcode's number, 9-11 the form, 12-14 the guard, 15 whether it is negated,
 * 	16-23 the destination, 24-31 the first source,
 * 	32-63 by form: a register (32-39), 32 bits, or a constant (38-53 offset, 54-58 bank),
 * 	64-71 another register, 72-104 the rest, 105-127 for the scheduler.
 *
 * By form, the 32 bits from 32 on are the second or the third source, and register 64 is the other:
 * 1 register, third register; 2, 3, 7: second register, third 32 bits, constant, uniform register;
 * 4, 5, 6: second 32 bits, constant, uniform register, third register.
 */
#ifndef CUFENCE_SASS_TABLE_H
#define CUFENCE_SASS_TABLE_H

#include "sass.h"

/* Places of operands. */
enum sass_place {
	PLACE_END,
	PLACE_FROM, /* sources follow */
	/* Registers: first bit. */
	D,  /* 16 */
	D2, /* two of them */
	D4,
	DS,       /* as many as "bytes" */
	DL,       /* two if is_64 */
	DT,       /* number by the shape of a tensor instruction */
	D_TEXELS, /* by the mask of components: the first two, the rest */
	R64_TEXELS,
	A, /* 24 */
	A2,
	AL,
	B, /* the second source */
	B2,
	BL,
	C, /* the third */
	C2,
	CL,
	T, /* the 32 bits from 32 on, as either source */
	T2,
	TL,
	TV,  /* two registers for conversion from 64 bits */
	R32, /* a register at 32 */
	R32S,
	R32_4,
	R32L,
	R64,
	R64_2,
	R64_4,
	R64S,
	R16_4,
	/* Uniform even if other operands of the row are not. */
	UD,
	U24_DIVERGENT, /* in BRA.DIV, BRA.CONV */
	U24,
	U24_2,
	U32,
	U32_2,
	U40_2,
	U64,
	/* Predicates: three bits, and a bit for negation. */
	P81,
	P84,
	P87,
	P77,
	P68,
	P64_INVERTED, /* 7 is encoded as 0 */
	GP81,
	UP81,
	PX68, /* for PLOP3: uniform if bit 67 is set */
	UP24,
	ALL_PREDICATES, /* all in the mask at 32 */
	B16,            /* convergence barriers */
	B24,
	I32,    /* 32 bits at 32 */
	I24_64, /* 64 bits at 24 */
	I40_12, /* 13 bits at 40 */
	I53_5,  /* 5 bits at 53 */
	I42_12, /* 12 bits at 42 */
	I54_4,  /* 4 bits at 54 */
	C38,    /* a constant with the register at 24 */
	C38_PLAIN,
	C38_U, /* with the uniform register at 24 */
	C37_U,
	HANDLE40, /* handle of a texture or surface: a constant or a uniform register */
	SPECIAL72,
	TARGET,    /* a branch's label */
	TARGET_32, /* 32 bits */
	TARGET_ABSOLUTE,
	TARGET_COLLECTIVE, /* for WARPSYNC.COLLECTIVE */
	PLACES
};

/* Fields, a bit each; sass_decode.c has their positions. */
enum sass_field {
	F_X = 1 << 0,   /* is_extended: 74 */
	F_X72 = 1 << 1, /* 72 */
	F_SIGNED73 = 1 << 2,
	F_SIGNED72 = 1 << 3,
	F_64_80 = 1 << 4, /* is_64 */
	F_64_73 = 1 << 5,
	F_64_74 = 1 << 6,
	F_64 = 1 << 7, /* always */
	F_WIDE = 1 << 8,
	F_HIGH = 1 << 9,
	F_HIGH80 = 1 << 10,
	F_TABLE72 = 1 << 11,
	F_SIZE73 = 1 << 12,    /* bytes, is_signed */
	F_COMPARE76 = 1 << 13, /* with combine */
	F_SHIFT75 = 1 << 14,
	F_SHF = 1 << 15,
	F_MODE72 = 1 << 16, /* variant: 3 bits */
	F_PTABLE = 1 << 17,
	F_UNIFORM = 1 << 18,  /* registers and predicates are uniform */
	F_NEGATE_A = 1 << 19, /* 72; with F_X: inverts */
	F_NEGATE_B = 1 << 20, /* 63 */
	F_NEGATE_C = 1 << 21, /* 75 */
	F_ABSOLUTE = 1 << 22, /* 73, 62, 74 */
	F_INVERT_B = 1 << 23, /* 63 */
	F_RELATIVE = 1 << 24, /* bit 85 clear */
	F_ATOM = 1 << 25,     /* operation, type */
	F_ORDER = 1 << 26,    /* strength */
	F_FLOATS = 1 << 27,   /* ATOM: types of floating-point numbers */
	F_OMITS = 1 << 28,    /* sources may be missing */
	F_WIDTH75 = 1 << 29,  /* is_64 if bits 75, 76 are 3: conversions to 64 bits */
	F_DISTANCE74 = 1 << 30,
};
#define F_INTEGERS (F_NEGATE_A | F_NEGATE_B | F_NEGATE_C)
#define F_NUMBERS (F_INTEGERS | F_ABSOLUTE)

/* Layout of an address. */
enum sass_layout {
	NO_ADDRESS,
	LAYOUT_LOAD,      /* base 24, uniform 32, offset 40 */
	LAYOUT_STORE,     /* base 24, uniform 64, offset 40 */
	LAYOUT_ATOMIC,    /* the same, other flags */
	LAYOUT_COPY,      /* LDGSTS: from base 24; to base 16 */
	LAYOUT_WIDE,      /* 256 bits: offsets in units of 32 bytes */
	LAYOUT_UNIFORM24, /* [UR] only */
	LAYOUT_UNIFORM32,
};

#define SASS_PLACES 14
struct sass_row {
	uint16_t number;     /* low 9 bits */
	uint8_t forms;       /* a bit each */
	uint8_t first, last; /* architectures; last 0: all later ones */
	const char *name;
	uint8_t opcode, space, direction, layout;
	uint32_t fields;
	uint8_t place[SASS_PLACES];
};

/* Sorted by number. */
extern const struct sass_row sass_rows[];
extern const size_t sass_row_count;

#endif
