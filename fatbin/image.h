/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code in programs: fat binaries, the cubins and PTX in them, and the kernels of a cubin
 * with the layout of their parameters.
 *
 * A fat binary is a container of entries, one per architecture, some of them compressed.  nvcc puts
 * one per translation unit into section .nv_fatbin, and a wrapper that points to it into
 * .nvFatBinSegment.  NVIDIA documents neither these nor the .nv.info sections of a cubin; this code
 * relies on the output of nvcc 11 to 13 (fatbin.c, cubin.c).
 *
 * Input is untrusted: nothing outside of the given bytes is read, and every size is checked.  The
 * bytes remain the caller's and must outlive the image.  Functions that return int return 0, or -1
 * with a message in error and nothing to release.  No state is shared: any thread may call.
 */
#ifndef CUFENCE_IMAGE_H
#define CUFENCE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define IMAGE_ERROR_SIZE 256

/* Writes the message.  Returns -1, so that a check and its message are one statement. */
int image_fail(char error[IMAGE_ERROR_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Offset and size in the parameter buffer of a launch, bytes. */
struct image_parameter {
	uint32_t offset, size;
};

struct image_kernel {
	char *name;                        /* mangled */
	struct image_parameter *parameter; /* in order of declaration */
	uint32_t parameter_count;
	uint32_t parameter_bytes; /* size of the whole buffer */
	/* static; from sm_90 on including the 1024 bytes that CUDA reserves */
	uint32_t shared_bytes;
	uint32_t local_bytes; /* stack frame per thread */
	int prints;           /* 1: may call printf; 0: does not; -1: unknown */
	int described;        /* 0: no .nv.info, so that parameters are unknown */
};

enum image_kind {
	IMAGE_PTX = 1,
	IMAGE_CUBIN = 2,
};

/* One entry, decompressed. */
struct image_code {
	enum image_kind kind;
	uint32_t arch;    /* 90 for sm_90; 0: unknown */
	const void *data; /* PTX has no terminating NUL */
	size_t size;
	void *unpacked;              /* NULL, or data if allocated here */
	struct image_kernel *kernel; /* for a cubin, sorted by name */
	size_t kernel_count;
};

struct image {
	struct image_code *code;
	size_t count;
};

/* The place of an image: at data, or in an open file at offset. */
struct image_bytes {
	const void *data;
	int file; /* -1: at data */
	uint64_t offset, size;
};

/* Opens a regular file that is not empty, for image_bytes.file.  Returns a descriptor, or -1. */
int image_open(const char *path, uint64_t *size, char error[IMAGE_ERROR_SIZE]);

/* An entry of an image, not decompressed. */
struct image_entry {
	enum image_kind kind;
	uint32_t arch;         /* 0: unknown */
	uint32_t packing;      /* compression; 0: none */
	uint64_t offset, size; /* of the stored bytes, relative to the image's start */
	uint64_t unpacked;     /* bytes; equal to size without compression */
};

/* Limits decompression: a few bytes may unpack to very many. */
struct image_budget {
	uint64_t left; /* bytes that may still be unpacked or read from files */
	uint64_t most; /* limit per entry */
	int reached;   /* 1: something was refused */
};

/*
 * Lists the entries of a fat binary container, a bare cubin or PTX text (not of a file).  Returns
 * their number, or -1.  The caller frees the list, which is NULL if there is none.
 */
long image_list(const struct image_bytes *bytes, struct image_entry **list,
	char error[IMAGE_ERROR_SIZE]);

/* Reads one entry, within a budget, into image->code[0]. */
int image_read_entry(const struct image_bytes *bytes, const struct image_entry *entry,
	struct image_budget *budget, struct image *image, char error[IMAGE_ERROR_SIZE]);

/* Reads all entries at data. */
int image_read(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_SIZE]);

/*
 * The same for an argument of cuModuleLoadData or __cudaRegisterFatBinary: a pointer without a size
 * to one of those, or to the wrapper of a container, in this process.  Sizes in headers are
 * trusted, as by the driver.
 */
int image_read_loaded(const void *data, struct image *image, char error[IMAGE_ERROR_SIZE]);

/*
 * Returns the kernel with that mangled name in the first code that has and describes it, or NULL.
 */
const struct image_kernel *image_find_kernel(const struct image *image, const char *name);

/* Frees what reading allocated; accepts a zeroed image. */
void image_release(struct image *image);

/* The fat binaries of an executable or shared library, each an input for image_read(). */
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
