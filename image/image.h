/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code as it lies in programs: fat binaries, the cubins and PTX in them, and the kernels
 * of a cubin with the layout of their parameters.
 *
 * A fat binary is a container of entries, one per architecture, some of them compressed; nvcc
 * puts one per translation unit into section .nv_fatbin and a small wrapper that points to it
 * into .nvFatBinSegment.  NVIDIA documents neither these nor the .nv.info sections of a cubin;
 * what is relied on is what nvcc 11 to 13 write (fatbin.c, cubin.c).
 *
 * Input is hostile: nothing outside the bytes given is read, and every size is checked.  Bytes
 * given stay the caller's and must outlive the image.  Functions that return int give 0, or -1
 * with a message in error and nothing to release.  No state is shared: any thread may call.
 */
#ifndef CUFENCE_IMAGE_H
#define CUFENCE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define IMAGE_ERROR_SIZE 256

/* Where a parameter lies in the parameter buffer of a launch; bytes. */
struct image_parameter {
	uint32_t offset, size;
};

struct image_kernel {
	char *name;                        /* mangled */
	struct image_parameter *parameter; /* in the order of the declaration */
	uint32_t parameter_count;
	uint32_t parameter_bytes; /* of the whole buffer */
	uint32_t shared_bytes;    /* static; from sm_90 with the 1024 that CUDA reserves */
	uint32_t local_bytes;     /* stack frame of a thread */
	int prints;               /* 1: it may call printf; 0: not; -1: not known */
	int described;            /* 0: no .nv.info, parameters are unknown */
};

enum image_kind {
	IMAGE_PTX = 1,
	IMAGE_CUBIN = 2,
};

/* One entry, decompressed. */
struct image_code {
	enum image_kind kind;
	uint32_t arch;    /* 90 for sm_90, 0: not known */
	const void *data; /* PTX is not NUL-terminated */
	size_t size;
	void *unpacked;              /* data, when it is ours */
	struct image_kernel *kernel; /* of a cubin, sorted by name */
	size_t kernel_count;
};

struct image {
	struct image_code *code;
	size_t count;
};

/* Where an image is: at data, or in an open file from offset on. */
struct image_bytes {
	const void *data;
	int file; /* -1: at data */
	uint64_t offset, size;
};

/* Opens a regular file that is not empty, for image_bytes.file: a descriptor, or -1. */
int image_open(const char *path, uint64_t *size, char error[IMAGE_ERROR_SIZE]);

/* What an image has, before anything is unpacked. */
struct image_entry {
	enum image_kind kind;
	uint32_t arch;         /* 0: not known */
	uint32_t packing;      /* 0: none */
	uint64_t offset, size; /* of the bytes as they are, from the image's first on */
	uint64_t unpacked;     /* bytes; size where nothing is packed */
};

/* A few bytes may unpack to very many. */
struct image_budget {
	uint64_t left; /* bytes that may still be unpacked or read from files */
	uint64_t most; /* of one entry */
	int reached;   /* 1: something was refused */
};

/*
 * The entries of a fat binary container, a bare cubin or PTX text (not of a file): their number, or
 * -1.  The list is the caller's to free, NULL if there is none.
 */
long image_list(const struct image_bytes *bytes, struct image_entry **list,
	char error[IMAGE_ERROR_SIZE]);

/* Reads one of them, within a budget: it is image->code[0]. */
int image_read_entry(const struct image_bytes *bytes, const struct image_entry *entry,
	struct image_budget *budget, struct image *image, char error[IMAGE_ERROR_SIZE]);

/* Reads all of them, at data. */
int image_read(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_SIZE]);

/*
 * The same for what cuModuleLoadData or __cudaRegisterFatBinary are given: a pointer without a
 * size to one of those or to the wrapper of a container, in this process.  The sizes its headers
 * name are believed, as the driver believes them.
 */
int image_read_loaded(const void *data, struct image *image, char error[IMAGE_ERROR_SIZE]);

/* The kernel of that mangled name in the first code that has and describes it, or NULL. */
const struct image_kernel *image_find_kernel(const struct image *image, const char *name);

/* Frees what reading allocated; an image of zeros is fine. */
void image_release(struct image *image);

/* The fat binaries of an executable or shared library, each to be given to image_read(). */
struct image_file {
	void *base; /* the mapped file */
	size_t size;
	struct image_span {
		const void *data;
		size_t size;
	} * container;
	size_t count; /* 0: a host program without device code */
};

int image_file_open(struct image_file *file, const char *path, char error[IMAGE_ERROR_SIZE]);
void image_file_close(struct image_file *file);

#endif
