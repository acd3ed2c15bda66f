/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes NVIDIA's machine code (SASS) of sm_75 and later, 16 bytes per instruction, into data.
 *
 * Operands are in the order of NVIDIA's disassembler, but at fixed places: operands that it omits
 * because they have no effect (a carry that is PT, a base that is RZ) are present here.  The list
 * of opcodes names the places.  RZ, URZ, PT and UPT, whose numbers differ, are SASS_NONE: as a
 * source zero or true, as a destination nothing.
 *
 * For an unknown opcode, sass_decode() reports failure and decodes nothing: it never guesses.
 * NVIDIA does not document the format: it was derived from compiled kernels and from disassembly.
 * Bytes are untrusted: any 16 bytes decode to something or to "unknown".  No state; any thread.
 */
#ifndef CUFENCE_SASS_H
#define CUFENCE_SASS_H

#include <stddef.h>
#include <stdint.h>

#define SASS_BYTES 16
#define SASS_NONE 0xffff /* RZ, URZ, PT or UPT */

/*
 * to: what is written; from: what is read, both in order.  Here d is the register written, a b c
 * are values (registers, constants, immediates), p q r predicates; what stands in brackets is there
 * for some forms only: to_count, from_count and the operands' kinds tell.  Instructions of the
 * uniform path (UIADD3) are of the same class: their registers are uniform.
 */
/* clang-format off */
#define SASS_OPCODES(X) \
	X(UNKNOWN)  /* nothing else of the instruction is set but "number" */ \
	X(OTHER)    /* writes all of "to"; sources may be missing; neither memory nor control */ \
	/* moves */ \
	X(MOV)      /* [p] d = a; also UMOV, R2UR (general to uniform); is_64 */ \
	X(SEL)      /* d = p ? a : b: from a b p; is_64; a and b of FSEL may be negated, absolute \
	               */ \
	X(PRMT)     /* d = bytes of c:a by selector: from a selector c; "variant" 0: by index */ \
	X(SPECIAL)  /* d = special register: S2R, S2UR, CS2R (d.count 2: 64 bits) */ \
	X(P2R)      /* d = a with the bits of mask replaced by predicates: from a mask; */ \
	            /* "variant": the byte of d that they are in */ \
	X(R2P)      /* predicates = bits of a: from a mask; to has each that is written; */ \
	            /* "variant": the byte of a */ \
	X(LDC)      /* d = constant, of "bytes": from SASS_OPERAND_CONSTANT; also LDCU, ULDC */ \
	X(SHFL)     /* p d = another lane's a: from a lane control */ \
	X(VOTE)     /* d p: from q; "variant" */ \
	/* integers */ \
	X(IADD)     /* d [p [q]] = sum of two or three values [and, if is_extended, of the \
	               carries: \
	               one or two predicates behind them]; p q: carry out; is_64 */ \
	X(IMAD)     /* d [p] = a * b + c [+ carry]: from a b c [carry]; is_wide: c and d are of \
	               two \
	               registers; is_high: c too, d is the upper half of the sum; p: carry out */ \
	X(LEA)      /* d p = (a << shift) + b [+ carry]: from a b [carry]; with is_high: \
	               d p = ((c:a) >> (32 - shift)) + b [+ carry]: from a b c [carry]; is_signed: \
	               a's sign is above it instead of c */ \
	X(SHF)      /* d: from low amount high; see "shift_" below */ \
	X(LOP3)     /* p d = table of a b c: from a b c q; p: d is not 0, or q */ \
	X(PLOP3)    /* p q = tables of three predicates: from p q r; "table", "table2" */ \
	X(ISETP)    /* p = (a compare b) combine r, q = !(a compare b) combine r: from a b r [s]; \
	               is_extended: s is the result of the lower halves; is_64 */ \
	X(IMNMX)    /* d = p ? min(a, b) : max(a, b): from a b p [q]; "to" may have predicates \
	               before \
	               or behind d; also VIMNMX; "variant" of VIMNMX: 2, 3: two halves */ \
	X(VIMNMX3)  /* d: from a b c p */ \
	X(VIADDMNMX) /* d = p ? min(a + b, c) : max(a + b, c): from a b c p */ \
	X(IABS)     /* d = |a| */ \
	X(POPC)     /* d = number of bits set in a */ \
	X(FLO)      /* d p = number of the highest bit of a; is_distance: from the top */ \
	X(BREV)     /* d = a, bits reversed */ \
	X(BMSK)     /* d = b ones from bit a on: from a b */ \
	X(SGXT)     /* d = a's lowest b bits, sign- or zero-extended: from a b */ \
	X(I2I)      /* d = a, narrowed */ \
	X(IDP)      /* d = dot product of bytes: from a b c */ \
	/* memory: "address", "bytes" of a thread, "space", "direction", "strength" */ \
	X(LD)       /* [p] d [d] = [address]: from [q]; where q is false, nothing is read; the \
	               two d of \
	               256 bits: upper, lower half; LDGMC: of all devices, combined by \
	               "operation" */ \
	X(ST)       /* [address] = a [b] */ \
	X(ATOM)     /* [p] d = [address], [address] = operation(a [b]): from [a [b]]; "operation" \
	               */ \
	X(RED)      /* [address] = operation([address], a) */ \
	X(LDGSTS)   /* shared [address2] = global [address]: from p; where it is false, zeros */ \
	X(LDSM)     /* d = matrices from shared [address] */ \
	X(STSM)     /* shared [address] = a */ \
	X(CCTL)     /* prefetch, invalidate, discard */ \
	X(TEX)      /* d d = texture: sources may be missing */ \
	X(SULD)     /* d = surface: as TEX */ \
	X(SUST)     /* surface = a: as TEX */ \
	X(SUATOM)   /* [d] = surface, atomically: as TEX; also SURED */ \
	/* bulk copies: uniform registers hold addresses and numbers of bytes; "direction" is \
	               that of \
	   global memory */ \
	X(UBLKCP)   /* copy: from to-address from-address size; \
	               global addresses are of two registers, shared ones in the first; the second \
	               one of a shared destination is its barrier; "space" SASS_SPACE_SHARED: \
	               within \
	               shared memory; size: in units of 16 bytes, in the lower 16 bits */ \
	X(UBLKRED)  /* [to] = operation([to], [from]): the same operands */ \
	X(UBLKPF)   /* prefetch: from address size */ \
	X(UTMALDG)  /* shared memory = memory of a tensor map: from registers of which the first \
	               one \
	               holds shared memory's address and others coordinates, the map's address */ \
	X(UTMASTG)  /* memory of a tensor map = shared memory: the same operands */ \
	X(UTMAREDG) /* memory of a tensor map, reduced with shared memory: the same */ \
	X(UTMAPF)   /* prefetch through a tensor map: the same */ \
	X(SYNCS)    /* barrier objects in shared memory (mbarrier): [d] [p] */ \
	/* control; a label is an operand SASS_OPERAND_LABEL, its value an offset in the section \
	               */ \
	X(BRA)      /* from [a] label p; taken where the guard and p hold, and a: a uniform \
	               predicate; \
	               a uniform register: where threads part */ \
	X(BRX)      /* to label + a (two registers): from a label p; also BRXU */ \
	X(JMP)      /* as BRA, absolute */ \
	X(JMX)      /* as BRX, absolute; also JMXU */ \
	X(CALL)     /* from [a] label p: to label, or a + label; is_relative: in this section; \
	               into the \
	               same function (sm_80 to 89 skip an instruction so) it is a jump */ \
	X(RET)      /* from a label p: to a + label; is_relative: label is relative */ \
	X(EXIT)     /* the thread ends, where the guard and p hold: from p */ \
	X(KILL)     /* as EXIT */ \
	X(BPT)      /* trap or breakpoint */ \
	X(BSSY)     /* threads that diverge join at the label: from barrier label p */ \
	X(BSYNC)    /* waits for them; goes on there: from barrier p */ \
	X(BREAK)    /* threads leave the barrier: from p barrier */ \
	X(BMOV)     /* to and from a barrier */ \
	X(LEPC)     /* d (two registers) = address of the next instruction, or of a label */ \
	X(WARPSYNC) /* from [a] [label]: with a label: goes on there, together */ \
	X(BAR)      /* __syncthreads and its relatives: [d p]; from a b [p] */ \
	X(MEMBAR)   /* fences */ \
	X(DEPBAR)   /* waits; also LDGDEPBAR */ \
	X(NOP)      /* no effect on memory; writes "to": YIELD, NANOSLEEP, ... */
/* clang-format on */

enum sass_opcode {
#define X(opcode) SASS_##opcode,
	SASS_OPCODES(X)
#undef X
};

enum sass_operand_kind {
	SASS_OPERAND_NOTHING,
	SASS_OPERAND_GENERAL,           /* R: number, count */
	SASS_OPERAND_UNIFORM,           /* UR */
	SASS_OPERAND_PREDICATE,         /* P */
	SASS_OPERAND_UNIFORM_PREDICATE, /* UP */
	SASS_OPERAND_BARRIER,           /* B: barrier of BSSY */
	SASS_OPERAND_IMMEDIATE,         /* value: 32 bits as a signed number, or 64 bits */
	/* c[bank][number + value]: number is a register or SASS_NONE; cx[bank_register][...] */
	SASS_OPERAND_CONSTANT,
	SASS_OPERAND_SPECIAL, /* number: enum sass_special */
	SASS_OPERAND_LABEL,   /* value: offset in the section, from its first byte */
};

struct sass_operand {
	uint8_t kind;
	/* number of 32-bit registers; for a constant or immediate, of 32-bit words */
	uint8_t count;
	uint8_t negated;  /* -a; for a predicate: !p */
	uint8_t absolute; /* |a|, applied before negation */
	uint8_t inverted; /* ~a */
	uint8_t bank;
	uint8_t is_uniform;     /* for a constant: the register in number is uniform */
	uint16_t bank_register; /* cx[UR][...]; SASS_NONE: bank is a number */
	uint16_t number;
	int64_t value;
};

/* Memory space. */
enum sass_space {
	SASS_SPACE_NONE,
	SASS_SPACE_GENERIC,
	SASS_SPACE_GLOBAL,
	SASS_SPACE_SHARED,
	SASS_SPACE_LOCAL,
	SASS_SPACE_CONSTANT,
	SASS_SPACE_TEXTURE,
	SASS_SPACE_SURFACE,
};

enum sass_direction {
	SASS_NO_DIRECTION,
	SASS_READS,
	SASS_WRITES,
	SASS_UPDATES, /* both: atomics, reductions */
};

/* The address is base + uniform + offset. */
struct sass_address {
	uint16_t base;          /* R; SASS_NONE: zero */
	uint16_t uniform;       /* UR; SASS_NONE: zero */
	uint16_t descriptor;    /* UR of desc[UR]; SASS_NONE: none */
	uint8_t base_is_64;     /* two registers; else 32 bits, zero-extended: .U32 */
	uint8_t uniform_is_64;  /* two registers */
	uint8_t base_is_signed; /* 32 bits, sign-extended */
	uint8_t scale;          /* factor of base: 1, 4, 8, 16 */
	int32_t offset;
};

enum sass_strength {
	SASS_WEAK,
	SASS_CONSTANT_DATA, /* .CONSTANT: ld.global.nc */
	SASS_STRONG,        /* ld.relaxed, ld.acquire, volatile */
	SASS_MMIO,
};

enum sass_compare {
	SASS_COMPARE_FALSE,
	SASS_COMPARE_LT,
	SASS_COMPARE_EQ,
	SASS_COMPARE_LE,
	SASS_COMPARE_GT,
	SASS_COMPARE_NE,
	SASS_COMPARE_GE,
	SASS_COMPARE_TRUE,
};
enum sass_combine { SASS_COMBINE_AND, SASS_COMBINE_OR, SASS_COMBINE_XOR };

enum sass_operation {
	SASS_OPERATION_ADD,
	SASS_OPERATION_MIN,
	SASS_OPERATION_MAX,
	SASS_OPERATION_INC,
	SASS_OPERATION_DEC,
	SASS_OPERATION_BITS_AND,
	SASS_OPERATION_BITS_OR,
	SASS_OPERATION_BITS_XOR,
	SASS_OPERATION_EXCH,
	SASS_OPERATION_CAS,
	SASS_OPERATION_OTHER,
};

/* Numbered as in S2R. */
enum sass_special {
	SASS_SPECIAL_LANEID = 0x00,
	SASS_SPECIAL_VIRTID = 0x03,
	SASS_SPECIAL_TID = 0x20, /* all three, packed */
	SASS_SPECIAL_TID_X = 0x21,
	SASS_SPECIAL_TID_Y = 0x22,
	SASS_SPECIAL_TID_Z = 0x23,
	SASS_SPECIAL_CTAID_X = 0x25,
	SASS_SPECIAL_CTAID_Y = 0x26,
	SASS_SPECIAL_CTAID_Z = 0x27,
	SASS_SPECIAL_SWINHI = 0x2f, /* upper half of the addresses of shared memory */
	SASS_SPECIAL_EQMASK = 0x38,
	SASS_SPECIAL_LTMASK = 0x39,
	SASS_SPECIAL_LEMASK = 0x3a,
	SASS_SPECIAL_GTMASK = 0x3b,
	SASS_SPECIAL_GEMASK = 0x3c,
	SASS_SPECIAL_CLOCKLO = 0x50,
	SASS_SPECIAL_CLOCKHI = 0x51,
	SASS_SPECIAL_GLOBALTIMERLO = 0x52,
	SASS_SPECIAL_CGA_CTAID = 0x88, /* index of the block in its cluster */
	SASS_SPECIAL_CGA_SIZE = 0x8a,
	SASS_SPECIAL_ZERO_REGISTER = 0xff, /* SRZ */
};

/* Type of a shift, as encoded. */
enum sass_shift_type { SASS_SHIFT_S64, SASS_SHIFT_U64, SASS_SHIFT_S32, SASS_SHIFT_U32 };

#define SASS_TO 7
#define SASS_FROM 8

struct sass_instruction {
	uint8_t opcode;   /* enum sass_opcode */
	uint16_t number;  /* the low 12 bits of the encoding */
	const char *name; /* NVIDIA's name without modifiers: "UIADD3" */

	/* The guard: a predicate that must be (negated: must not be) set; SASS_NONE: always. */
	uint16_t guard;
	uint8_t guard_negated, guard_is_uniform;

	uint8_t to_count, from_count;
	struct sass_operand to[SASS_TO], from[SASS_FROM];

	/* Memory. */
	uint8_t space, direction, strength, operation;
	uint8_t bytes;       /* per thread; for a texture: 0 */
	uint8_t is_signed;   /* ISETP, IMAD, IMNMX, SHF, SGXT; a narrow load is sign-extended */
	uint8_t is_float;    /* ATOM and RED */
	uint8_t has_address; /* 1: address; 2: also address2 */
	struct sass_address address, address2;

	/* Arithmetic. */
	uint8_t is_wide, is_high, is_extended, is_64, is_distance, is_relative;
	uint8_t table, table2;    /* LOP3, PLOP3 */
	uint8_t compare, combine; /* ISETP: enum sass_compare, sass_combine */
	uint8_t shift;            /* LEA */
	/* SHF: (high:low >> amount) or <<; the half of the 64 bits that is the result; the type. */
	uint8_t shift_right, shift_high, shift_type;
	uint8_t shift_wraps; /* the amount is taken modulo the width; else it is clamped */
	uint8_t variant;     /* as described for the opcode */
};

/*
 * Decodes the instruction at "code", at offset "at" in its section; arch: 90 for sm_90. Returns 0,
 * or -1 with opcode SASS_UNKNOWN.
 */
int sass_decode(unsigned arch, const uint8_t code[SASS_BYTES], uint64_t at,
	struct sass_instruction *in);

/* Writes it approximately like NVIDIA's disassembler.  Returns the result of snprintf(). */
int sass_print(const struct sass_instruction *in, char *text, size_t size);

#endif
