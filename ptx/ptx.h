/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds how a kernel uses the memory that its parameters point to, from its PTX.
 *
 * The kernel is interpreted over sets of possible values: a register holds an interval of numbers,
 * or an interval of bytes around the address in a word of the parameter buffer.  Every memory
 * access then becomes a claim on a word: "reads bytes 0 to 4096 of what word 8 points to".  This
 * works without a launch (anything the kernel can do), or with a grid, a block and scalar
 * parameters (what this launch does): branches that depend on these are decided, and intervals are
 * as narrow as the kernel's own comparisons make them.
 *
 * A claim may be too wide, but not too narrow if ptx_access.complete is set: then every access of
 * the kernel is in a claim, or is to shared or local memory.  Assumptions: 64-bit addresses do not
 * wrap, a loop that ends by "!=" reaches its limit, threads do not pass pointers through memory
 * other than their own (such a pointer makes an access incomplete).
 *
 * Text is untrusted: time and memory are bounded by its size and the limits below; at a limit, the
 * result is "incomplete".  PTX is documented in NVIDIA's "PTX ISA", 9.0.  No state is shared: a
 * module belongs to one thread at a time.
 */
#ifndef CUFENCE_PTX_H
#define CUFENCE_PTX_H

#include "image.h"

/* Limit of a kernel's parameters, bytes; CUDA's is 32764 since 12.1: none is beyond. */
#define PTX_PARAMETER_LIMIT 32768

struct ptx_module;

/*
 * Reads the declarations of a text, which must outlive the module.  Returns NULL with a message in
 * error.
 */
struct ptx_module *ptx_open(const char *text, size_t size, char error[IMAGE_ERROR_SIZE]);
void ptx_close(struct ptx_module *module);

/*
 * Sets the device's architecture, 90 for 9.0, which determines the place of parameters aligned to
 * more than 16 bytes.  Called before any kernel is queried.
 */
void ptx_set_arch(struct ptx_module *module, unsigned arch);

/* Returns the number of kernels, which are in the order of the text. */
size_t ptx_kernel_count(const struct ptx_module *module);

/* Returns the index of the kernel with that name, or -1. */
long ptx_find(const struct ptx_module *module, const char *name, size_t length);

/*
 * Returns the number of declared parameters and stores up to room of them, in order; -1 if the
 * declaration could not be parsed.
 */
int ptx_parameters(struct ptx_module *module, size_t kernel, struct image_parameter *parameter,
	unsigned room);

/*
 * Returns 1 if the kernel, or a function that it may call, calls printf; 0: none does; -1: unknown.
 */
int ptx_prints(struct ptx_module *module, size_t kernel);

/*
 * Programmatic dependent launch: whether the kernel, or a function that it may call, waits for
 * previous kernels (griddepcontrol.wait) and triggers the launch of dependents (launch_dependents).
 */
struct ptx_dependence {
	int waits, triggers; /* 1: yes; 0: no; -1: unknown */
};
struct ptx_dependence ptx_dependence(struct ptx_module *module, size_t kernel);

enum ptx_byte {
	PTX_UNKNOWN = 0, /* not recorded; a word with it may be a pointer */
	PTX_KNOWN,       /* the byte has this value */
	/*
	 * on all eight bytes of a word: it points into known memory; the first byte's value is the
	 * number of lowest address bits that are 0
	 */
	PTX_POINTER,
};

/* Known properties of a launch; zeros: none. */
struct ptx_launch {
	uint32_t grid[3], block[3]; /* 0: unknown */
	uint32_t size;              /* of both arrays, bytes */
	const uint8_t *value;       /* the parameter buffer */
	const uint8_t *state;       /* enum ptx_byte of each byte */
};

/*
 * For a kernel, a variable of the module is like a parameter that points to it: claims on it have
 * an offset from PTX_PARAMETER_LIMIT on.
 */
struct ptx_variable_name {
	const char *name; /* as the driver knows it; without a terminating NUL */
	size_t length;
	uint64_t bytes; /* 0: not declared here */
};

/* Returns 0; -1 if the offset is a parameter's. */
int ptx_variable(const struct ptx_module *module, uint32_t offset,
	struct ptx_variable_name *variable);

enum ptx_direction { PTX_LOAD, PTX_STORE, PTX_ATOMIC, PTX_DIRECTIONS };

/* Values for an unknown bound. */
#define PTX_NO_LOW INT64_MIN
#define PTX_NO_HIGH INT64_MAX

/*
 * An access to bytes low to high (excluded), relative to the address in a parameter word.  With
 * strides, only runs of `run` bytes: at low, and repeated at each stride.  Without strides, all
 * bytes; exact tells whether all are accessed.
 */
#define PTX_STRIDES 3

/* The kind of a word whose memory is accessed. */
enum ptx_object {
	PTX_ADDRESS,
	PTX_TEXTURE, /* an object for memory that the word does not name */
	PTX_SURFACE,
};

struct ptx_claim {
	uint32_t offset; /* of the word in the parameter buffer, or of a variable: ptx_variable() */
	uint8_t direction; /* enum ptx_direction */
	uint8_t sure;      /* 0: this word or another one, not distinguishable */
	uint8_t exact;     /* 0: at most these bytes */
	uint8_t loaded;    /* the bytes depend on values in memory */
	uint8_t early;     /* surely before any griddepcontrol.wait */
	uint8_t spins;     /* in a loop that waits for a value written by others */
	uint8_t object;    /* enum ptx_object; bounds are known for addresses only */
	uint8_t stride_count;
	int64_t low, high;
	int64_t run; /* bytes; high - low without strides */
	struct ptx_stride {
		int64_t bytes, count;
	} stride[PTX_STRIDES]; /* sorted, longest first */
};

/* Memory that no parameter points to, as bits. */
enum ptx_reach {
	/* at addresses loaded from memory; textures that are no parameters */
	PTX_REACH_POINTER = 1,
	PTX_REACH_POINTER_STORE = 2,
	PTX_REACH_VARIABLE = 4, /* variables of the module, except constants */
	PTX_REACH_VARIABLE_STORE = 8,
	PTX_REACH_CONSTANT = 16,
	PTX_REACH_CONSTANT_STORE = 32, /* set for copies to a symbol only, not for kernels */
	PTX_REACH_ONLY = 64, /* nothing else is unknown: not what it does with parameters */
};

struct ptx_access {
	struct ptx_claim *claim; /* sorted by offset, then by direction */
	size_t count;
	int complete;
	const char *why;  /* why it is not complete, a constant string; NULL: it is complete */
	unsigned reaches; /* enum ptx_reach, as far as known */
	uint8_t *scalar;  /* by parameter byte, 1: its value was read */
	uint32_t scalar_count;
	unsigned long steps; /* instructions interpreted */
	int limited;         /* a higher limit of steps might give more claims */
};

/* Default limit of steps for ptx_interpret(): about a second.  Code beyond it is not known. */
#define PTX_STEPS 10000000ul

/* The value of why after an allocation failed. */
extern const char ptx_no_memory[];

/*
 * Interprets a kernel for a launch, with a limit of instructions.  Returns 0; or -1 with why set
 * and no claims if the text cannot be interpreted, or if memory or steps run out.
 */
int ptx_interpret(struct ptx_module *module, size_t kernel, const struct ptx_launch *launch,
	unsigned long steps, struct ptx_access *access);
void ptx_access_release(struct ptx_access *access);

#endif
