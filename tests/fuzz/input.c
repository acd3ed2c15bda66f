/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of inputs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "record.h"
#include "text.h"

int fuzz_memory_file(char name[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0) {
		perror("memfd_create");
		exit(2);
	}
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return fd;
}

int fuzz_read(const char *path, struct fuzz_input *input)
{
	FILE *in = fopen(path, "rb");
	long size = -1;

	*input = (struct fuzz_input){ 0 };
	if (!in)
		return -1;
	if (!fseek(in, 0, SEEK_END))
		size = ftell(in);
	rewind(in);
	if (size >= 0 && (input->data = malloc((size_t)size + 1)))
		input->size = fread(input->data, 1, (size_t)size, in);
	fclose(in);
	return input->data && input->size == (size_t)size ? 0 : -1;
}

/* A trace of version 1.1, whole: of a closed one it says how much is written. */
static void close_trace(struct file_header *header, const uint8_t *chunk, uint32_t count)
{
	header->version_minor = 1;
	header->chunks = count;
	header->written = 0;
	for (uint32_t i = 0; header->closed && i < count; i++, chunk += header->chunk_size)
		header->written += ((const struct chunk_header *)chunk)->committed;
}

/*
 * The header's page and the last chunk are mostly zeros, where mutations would be wasted.  Only a
 * copy may end with its records.
 */
static int compact(struct fuzz_input *trace)
{
	struct file_header *header = (struct file_header *)trace->data;
	struct chunk_header *last;
	size_t header_size, unused;

	if (trace->size <= TRACE_HEADER_SIZE || !header->chunk_size ||
		(trace->size - TRACE_HEADER_SIZE) % header->chunk_size)
		return -1;
	close_trace(header, trace->data + header->header_size,
		(uint32_t)((trace->size - header->header_size) / header->chunk_size));
	last = (struct chunk_header *)(trace->data + trace->size - header->chunk_size);
	last->home = header->chunks > 1;
	unused = header->chunk_size - sizeof(*last) - last->committed;
	header_size = (sizeof(*header) + TRACE_ALIGN - 1) & ~(size_t)(TRACE_ALIGN - 1);
	memmove(trace->data + header_size, trace->data + header->header_size,
		trace->size - header->header_size);
	trace->size -= header->header_size - header_size + unused;
	header->header_size = (uint32_t)header_size;
	return 0;
}

int fuzz_read_trace(const char *path, struct fuzz_input *input)
{
	char name[32];
	int fd = fuzz_memory_file(name), rc = -1;
	FILE *in = fopen(path, "r");

	if (in && !text_undump(in, path, name) && !fuzz_read(name, input))
		rc = compact(input);
	if (in)
		fclose(in);
	close(fd);
	return rc;
}
