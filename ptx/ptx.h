/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel does with the memory that its parameters point to, read from its PTX.
 *
 * The kernel is interpreted over sets of possible values: a register holds an interval of numbers,
 * or an interval of bytes around the word of the parameter buffer that a pointer came from.  Every
 * access of memory is then a claim on a word: "reads bytes 0 to 4096 of what word 8 points to".
 * That can be done with nothing known of a launch (what the kernel can do at all), or with a grid,
 * a block and scalar parameters (what this launch does): branches that those decide are followed,
 * and the intervals are as narrow as the kernel's own comparisons make them.
 *
 * A claim may be too wide, never too narrow, as far as ptx_access.complete says so: then every
 * access of the kernel is in a claim, or is to shared or local memory.  Taken for
 * granted: 64-bit addresses do not wrap, a loop that ends by "!=" hits its limit, threads do not
 * pass pointers through memory other than their own (such a pointer makes an access incomplete).
 *
 * Text is hostile: time and memory are bounded by its size and the limits below; where a limit is
 * met, the answer is "incomplete".  PTX is documented in NVIDIA's "PTX ISA", 9.0.
 * No state is shared: a module belongs to one thread at a time.
 */
#ifndef CUFENCE_PTX_H
#define CUFENCE_PTX_H

#include "image.h"

/* Bytes of a kernel's parameters, CUDA's limit since 12.1 with room to spare. */
#define PTX_PARAMETER_LIMIT 32768

struct ptx_module;

/* Reads what the text declares; the text must outlive the module.  NULL after error. */
struct ptx_module *ptx_open(const char *text, size_t size, char error[IMAGE_ERROR_SIZE]);
void ptx_close(struct ptx_module *module);

/*
 * The device's architecture, 90 for 9.0: where parameters that are aligned to more than 16 bytes
 * lie depends on it.  Before any kernel is asked for.
 */
void ptx_set_arch(struct ptx_module *module, unsigned arch);

/* The kernels, in the order of the text. */
size_t ptx_kernel_count(const struct ptx_module *module);

/* Number of the kernel of that name, or -1. */
long ptx_find(const struct ptx_module *module, const char *name, size_t length);

/*
 * The parameters as declared, in order: their number, of which at most room are stored.  -1 if the
 * declaration is not understood.
 */
int ptx_parameters(struct ptx_module *module, size_t kernel, struct image_parameter *parameter,
	unsigned room);

/* 1: the kernel, or a function that it may call, calls printf; 0: none does; -1: not known. */
int ptx_prints(struct ptx_module *module, size_t kernel);

/*
 * Programmatic dependent launch: whether the kernel, or a function that it may call, waits for the
 * kernels before it (griddepcontrol.wait), and lets those after it begin (launch_dependents).
 */
struct ptx_dependence {
	int waits, triggers; /* 1: it does; 0: it does not; -1: not known */
};
struct ptx_dependence ptx_dependence(struct ptx_module *module, size_t kernel);

enum ptx_byte {
	PTX_UNKNOWN = 0, /* not recorded; of a word: a pointer or not */
	PTX_KNOWN,       /* the byte's value is that */
	PTX_POINTER,     /* all eight of a word: it points into known memory; the first one's value
			  * is how many of the address's lowest bits are 0 */
};

/* What is known of a launch; zeros: nothing. */
struct ptx_launch {
	uint32_t grid[3], block[3]; /* 0: not known */
	uint32_t size;              /* of the two arrays */
	const uint8_t *value;       /* the parameter buffer */
	const uint8_t *state;       /* enum ptx_byte for each */
};

/*
 * A variable of the module is to a kernel like a parameter that points to it: claims on it have an
 * offset from PTX_PARAMETER_LIMIT on.
 */
struct ptx_variable_name {
	const char *name; /* as the driver knows it; not terminated */
	size_t length;
	uint64_t bytes; /* 0: not declared here */
};

/* 0; -1: the offset is a parameter's. */
int ptx_variable(const struct ptx_module *module, uint32_t offset,
	struct ptx_variable_name *variable);

enum ptx_direction { PTX_LOAD, PTX_STORE, PTX_ATOMIC, PTX_DIRECTIONS };

/* No bound that is known. */
#define PTX_NO_LOW INT64_MIN
#define PTX_NO_HIGH INT64_MAX

/*
 * The kernel accesses memory from the address in a parameter word on: bytes low up to, without,
 * high.  With strides, only runs of so many bytes in them: at low, and as often as counted at each
 * stride from there.  Without, all of them are accessed as far as exact says so.
 */
#define PTX_STRIDES 3

/* What a word is whose memory is accessed. */
enum ptx_object {
	PTX_ADDRESS,
	PTX_TEXTURE, /* an object that stands for memory, which the word does not say */
	PTX_SURFACE,
};

struct ptx_claim {
	uint32_t offset; /* of the word in the parameter buffer, or a variable's: ptx_variable() */
	uint8_t direction; /* enum ptx_direction */
	uint8_t sure;      /* 0: this word or others, which could not be distinguished */
	uint8_t exact;     /* 0: at most these bytes */
	uint8_t loaded;    /* which ones depends on what lies in memory */
	uint8_t early;     /* surely before any griddepcontrol.wait */
	uint8_t spins;     /* in a loop that ends by what others write there */
	uint8_t object;    /* enum ptx_object; of others than addresses no bounds are known */
	uint8_t stride_count;
	int64_t low, high;
	int64_t run; /* bytes; high - low without strides */
	struct ptx_stride {
		int64_t bytes, count;
	} stride[PTX_STRIDES]; /* longest first */
};

/* Memory that no parameter points to: bits. */
enum ptx_reach {
	PTX_REACH_POINTER = 1, /* at addresses out of memory, textures that are no parameters */
	PTX_REACH_POINTER_STORE = 2,
	PTX_REACH_VARIABLE = 4, /* variables of the module, constants aside */
	PTX_REACH_VARIABLE_STORE = 8,
	PTX_REACH_CONSTANT = 16,
	PTX_REACH_CONSTANT_STORE = 32, /* no kernel's: a copy to a symbol may be one */
};

struct ptx_access {
	struct ptx_claim *claim; /* by offset, then direction */
	size_t count;
	int complete;
	const char *why;  /* it is not complete, a constant string; NULL: it is */
	unsigned reaches; /* enum ptx_reach, as far as is known */
	uint8_t *scalar;  /* per parameter byte: 1 if its value was asked for */
	uint32_t scalar_count;
	unsigned long steps; /* instructions interpreted */
	int limited;         /* with more of them more might have been found */
};

/* The default for ptx_interpret: a second, about. */
#define PTX_STEPS 10000000ul

/* Why, where memory ran out. */
extern const char ptx_no_memory[];

/*
 * Interprets a kernel for a launch, at most that many instructions.  0, or -1 when the text is not
 * understood, memory or steps run out; then there are no claims, and why says it.
 */
int ptx_interpret(struct ptx_module *module, size_t kernel, const struct ptx_launch *launch,
	unsigned long steps, struct ptx_access *access);
void ptx_access_release(struct ptx_access *access);

#endif
