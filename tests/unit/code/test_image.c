/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "image.h"
#include "image_samples.h"

static char error[IMAGE_ERROR_SIZE];

/* Reading either gives a whole image or an error text and nothing to release. */
static int read_checked(const void *data, size_t size, struct image *image)
{
	int result;

	error[0] = 0;
	result = image_read(data, size, image, error);
	if (result) {
		assert_int_equal(result, -1);
		assert_int_not_equal(error[0], 0);
		assert_null(image->code);
		assert_int_equal(image->count, 0);
	}
	return result;
}

static void assert_sample_kernel(const struct image *image)
{
	static const struct image_parameter expected[] = { { 0, 8 }, { 8, 8 }, { 16, 8 },
		{ 24, 4 } };
	const struct image_kernel *kernel = image_find_kernel(image, SAMPLE_KERNEL);

	assert_non_null(kernel);
	assert_string_equal(kernel->name, SAMPLE_KERNEL);
	assert_int_equal(kernel->parameter_count, 4);
	assert_memory_equal(kernel->parameter, expected, sizeof(expected));
	assert_int_equal(kernel->parameter_bytes, 28);
	assert_int_equal(kernel->shared_bytes, 512);
	assert_int_equal(kernel->local_bytes, 320);
	assert_null(image_find_kernel(image, "_ZN7cufence5scaleEyPfm"));
	assert_null(image_find_kernel(image, ""));
}

TEST(a_bare_cubin_gives_its_kernel)
{
	struct bytes cubin;
	struct image image;

	make_cubin(&cubin);
	assert_int_equal(read_checked(cubin.data, cubin.size, &image), 0);
	assert_int_equal(image.count, 1);
	assert_int_equal(image.code[0].kind, IMAGE_CUBIN);
	assert_int_equal(image.code[0].arch, 90);
	assert_sample_kernel(&image);
	image_release(&image);
}

TEST(every_packing_gives_the_same)
{
	static const enum sample_packing packings[] = { RAW, LZ4, ZSTD };
	struct bytes container;
	struct image image;

	for (size_t i = 0; i < 3; i++) {
		make_container(&container, packings[i]);
		assert_int_equal(read_checked(container.data, container.size, &image), 0);
		assert_int_equal(image.count, 2);
		assert_int_equal(image.code[0].arch, 75);
		assert_sample_kernel(&image);
		assert_int_equal(image.code[1].kind, IMAGE_PTX);
		assert_int_equal(image.code[1].size, strlen(sample_ptx));
		assert_memory_equal(image.code[1].data, sample_ptx, strlen(sample_ptx));
		image_release(&image);
	}
}

/* prints of the sample's kernel, with a name of the sample replaced by another of that length. */
static int prints(const char *name, const char *other)
{
	struct bytes cubin;
	struct image image;
	int found;
	char *at;

	make_cubin(&cubin);
	at = memmem(cubin.data, cubin.size, name, strlen(name));
	assert_non_null(at);
	memcpy(at, other, strlen(name));
	assert_int_equal(read_checked(cubin.data, cubin.size, &image), 0);
	found = image.code[0].kernel[0].prints;
	image_release(&image);
	return found;
}

TEST(calls_tell_who_prints)
{
	assert_int_equal(prints("vprintf", "vprintf"), 1);
	assert_int_equal(prints("vprintf", "malloc\0"), 0);
	assert_int_equal(prints("vprintf", "another"), -1);
	assert_int_equal(prints(".nv.callgraph", ".nv.something"), -1);
}

TEST(an_unknown_kind_of_entry_is_skipped)
{
	struct bytes container, cubin;
	struct image image;

	make_cubin(&cubin);
	begin_container(&container);
	append_entry(&container, 64, RAW, "whatever", 8);
	append_entry(&container, 2, RAW, cubin.data, cubin.size);
	end_container(&container);
	assert_int_equal(read_checked(container.data, container.size, &image), 0);
	assert_int_equal(image.count, 1);
	assert_sample_kernel(&image);
	image_release(&image);
}

TEST(loaded_data_is_measured_by_its_headers)
{
	struct bytes container, cubin;
	struct image image;
	struct {
		uint32_t magic, version;
		const void *container;
		void *more;
	} wrapper = { 0x466243b1, 1, container.data, NULL };

	make_container(&container, ZSTD);
	make_cubin(&cubin);
	assert_int_equal(image_read_loaded(&wrapper, &image, error), 0);
	assert_int_equal(image.count, 2);
	assert_sample_kernel(&image);
	image_release(&image);
	assert_int_equal(image_read_loaded(container.data, &image, error), 0);
	assert_int_equal(image.count, 2);
	image_release(&image);
	assert_int_equal(image_read_loaded(cubin.data, &image, error), 0);
	assert_int_equal(image.code[0].size, cubin.size);
	assert_sample_kernel(&image);
	image_release(&image);
	assert_int_equal(image_read_loaded(sample_ptx, &image, error), 0);
	assert_int_equal(image.code[0].kind, IMAGE_PTX);
	image_release(&image);
	wrapper.container = &wrapper;
	assert_int_equal(image_read_loaded(&wrapper, &image, error), -1);
}

TEST(what_is_no_device_code_is_refused)
{
	struct image image;
	struct bytes cubin;

	assert_int_equal(read_checked("", 0, &image), -1);
	assert_int_equal(read_checked("\x50\xed\x55", 3, &image), -1);
	assert_int_equal(read_checked("int main() { }", 14, &image), -1);
	make_cubin(&cubin);
	((Elf64_Ehdr *)cubin.data)->e_machine = EM_X86_64;
	assert_int_equal(read_checked(cubin.data, cubin.size, &image), -1);
}

/* Containers name their size, and the section headers of a cubin are its end: nothing is spare. */
TEST(every_truncation_is_an_error)
{
	static const enum sample_packing packings[] = { RAW, LZ4, ZSTD };
	struct guarded guarded;
	struct bytes bytes;
	struct image image;

	guarded_init(&guarded);
	for (size_t i = 0; i < 3; i++) {
		make_container(&bytes, packings[i]);
		for (size_t size = 0; size < bytes.size; size++)
			assert_int_equal(read_checked(guarded_put(&guarded, bytes.data, size), size,
						 &image),
				-1);
	}
	make_cubin(&bytes);
	for (size_t size = 0; size < bytes.size; size++)
		assert_int_equal(read_checked(guarded_put(&guarded, bytes.data, size), size,
					 &image),
			-1);
	guarded_release(&guarded);
}

/* Each byte in turn gets values that make sizes huge, zero or slightly wrong. */
static void damage_everywhere(const struct bytes *bytes, struct guarded *guarded)
{
	static const uint8_t flips[] = { 0xff, 0x01, 0x80, 0x10, 0x04 };
	uint8_t *data = guarded_put(guarded, bytes->data, bytes->size);
	struct image image;

	for (size_t at = 0; at < bytes->size; at++) {
		for (size_t i = 0; i < sizeof(flips); i++) {
			data[at] = bytes->data[at] ^ flips[i];
			if (read_checked(data, bytes->size, &image) == 0) {
				image_find_kernel(&image, SAMPLE_KERNEL);
				image_release(&image);
			}
		}
		data[at] = bytes->data[at];
	}
}

TEST(damaged_bytes_are_never_followed_out_of_bounds)
{
	static const enum sample_packing packings[] = { RAW, LZ4, ZSTD };
	struct guarded guarded;
	struct bytes bytes;

	guarded_init(&guarded);
	make_cubin(&bytes);
	damage_everywhere(&bytes, &guarded);
	for (size_t i = 0; i < 3; i++) {
		make_container(&bytes, packings[i]);
		damage_everywhere(&bytes, &guarded);
	}
	guarded_release(&guarded);
}

static void refuse_with(struct bytes *bytes, size_t at, uint64_t value, size_t width)
{
	struct bytes copy = *bytes;
	struct image image;

	memcpy(copy.data + at, &value, width);
	assert_int_equal(read_checked(copy.data, copy.size, &image), -1);
}

TEST(impossible_sizes_are_refused)
{
	struct bytes container;

	make_container(&container, ZSTD);
	refuse_with(&container, 6, 8, 2); /* the container's header */
	refuse_with(&container, 6, UINT16_MAX, 2);
	refuse_with(&container, 8, UINT64_MAX, 8); /* its size */
	refuse_with(&container, 8, UINT64_MAX - 15, 8);
	refuse_with(&container, 16 + 4, 0, 4); /* the first entry's header */
	refuse_with(&container, 16 + 4, UINT32_MAX, 4);
	refuse_with(&container, 16 + ENTRY_SIZE_AT, UINT64_MAX, 8);
	refuse_with(&container, 16 + ENTRY_SIZE_AT, UINT64_MAX - 63, 8);
	refuse_with(&container, 16 + ENTRY_PACKED_AT, 0, 4);
	refuse_with(&container, 16 + ENTRY_PACKED_AT, UINT32_MAX, 4);
	refuse_with(&container, 16 + ENTRY_UNPACKED_AT, 0, 8);
	refuse_with(&container, 16 + ENTRY_UNPACKED_AT, 100, 8);
	refuse_with(&container, 16 + ENTRY_UNPACKED_AT, UINT64_MAX, 8);
	make_container(&container, LZ4);
	refuse_with(&container, 16 + ENTRY_PACKED_AT, UINT32_MAX, 4);
	refuse_with(&container, 16 + ENTRY_UNPACKED_AT, 100, 8);
	refuse_with(&container, 16 + ENTRY_UNPACKED_AT, 1u << 20, 8);
}

/* The unpacked size counts, of one entry and of all entries read before. */
TEST(more_than_the_budget_is_refused)
{
	struct image_budget budget = { .left = 1 << 20, .most = 1 << 20 };
	struct image_entry *list;
	struct bytes container;
	struct image image;

	make_container(&container, LZ4);
	struct image_bytes bytes = { .file = -1, .data = container.data, .size = container.size };

	assert_int_equal(image_list(&bytes, &list, error), 2);
	budget.left = 2 * list[0].unpacked - 1;
	assert_int_equal(image_read_entry(&bytes, &list[0], &budget, &image, error), 0);
	image_release(&image);
	assert_int_equal(budget.reached, 0);
	assert_int_equal(image_read_entry(&bytes, &list[0], &budget, &image, error), -1);
	assert_int_equal(budget.reached, 1);
	budget = (struct image_budget){ .left = 1 << 20, .most = list[0].unpacked - 1 };
	assert_int_equal(image_read_entry(&bytes, &list[0], &budget, &image, error), -1);
	assert_int_equal(budget.reached, 1);
	free(list);
}

/* Offset of the first word of that value in the bytes. */
static size_t find_u32(const struct bytes *bytes, uint32_t value)
{
	for (size_t at = 0; at + 4 <= bytes->size; at += 4)
		if (memcmp(bytes->data + at, &value, sizeof(value)) == 0)
			return at;
	fail_msg("no word 0x%x", value);
	return 0;
}

TEST(impossible_parameters_are_refused)
{
	struct bytes cubin;
	size_t last, bytes_at;

	make_cubin(&cubin);
	last = find_u32(&cubin, 3 | 24 << 16);
	bytes_at = find_u32(&cubin, info_word(3, 0x19, 28));
	refuse_with(&cubin, last, 4 | 24 << 16, 4); /* ordinal too high */
	refuse_with(&cubin, last, 0 | 24 << 16, 4); /* one twice, one missing */
	refuse_with(&cubin, last, 3 | 25 << 16, 4); /* beyond the buffer's end */
	refuse_with(&cubin, last + 4, 0, 4);        /* no size */
	refuse_with(&cubin, bytes_at, info_word(3, 0x19, 27), 4);
	refuse_with(&cubin, bytes_at, info_word(9, 0x19, 28), 4); /* no such format */
	refuse_with(&cubin, bytes_at, info_word(4, 0x19, 28), 4); /* longer than the section */
	refuse_with(&cubin, find_u32(&cubin, info_word(4, 0x11, 8)) + 4, 4, 4); /* no symbol */
}

static Elf64_Shdr *section_header(struct bytes *cubin, enum sample_section number)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)cubin->data;

	return (Elf64_Shdr *)(cubin->data + header->e_shoff) + number;
}

TEST(attributes_cut_short_are_refused)
{
	struct guarded guarded;
	struct bytes cubin;
	struct image image;
	uint8_t *data;
	size_t end;

	guarded_init(&guarded);
	for (unsigned less = 1; less < 4; less++) {
		make_cubin(&cubin);
		section_header(&cubin, KERNEL_INFO)->sh_size -= less;
		assert_int_equal(read_checked(cubin.data, cubin.size, &image), -1);
	}
	/* The same with the section at the very end of the bytes. */
	make_cubin(&cubin);
	end = append(&cubin, (uint8_t[]){ 3, 0x19 }, 2);
	section_header(&cubin, KERNEL_INFO)->sh_offset = end;
	section_header(&cubin, KERNEL_INFO)->sh_size = 2;
	data = guarded_put(&guarded, cubin.data, cubin.size);
	assert_int_equal(read_checked(data, cubin.size, &image), -1);
	guarded_release(&guarded);
}

TEST(attributes_given_twice_are_refused)
{
	struct bytes cubin;
	struct image image;

	make_cubin(&cubin);
	*section_header(&cubin, SHARED) = *section_header(&cubin, KERNEL_INFO);
	assert_int_equal(read_checked(cubin.data, cubin.size, &image), -1);
}

TEST(a_device_function_is_no_kernel)
{
	struct bytes cubin;
	struct image image;
	Elf64_Sym *symbol;

	make_cubin(&cubin);
	symbol = (Elf64_Sym *)(cubin.data + section_header(&cubin, SYMBOLS)->sh_offset) + 1;
	symbol->st_other = 0;
	assert_int_equal(read_checked(cubin.data, cubin.size, &image), 0);
	assert_int_equal(image.code[0].kernel_count, 0);
	image_release(&image);
}

TEST(a_kernel_without_attributes_is_not_found)
{
	struct bytes cubin;
	struct image image;

	make_cubin(&cubin);
	section_header(&cubin, KERNEL_INFO)->sh_name = 0;
	assert_int_equal(read_checked(cubin.data, cubin.size, &image), 0);
	assert_int_equal(image.code[0].kernel_count, 1);
	assert_null(image_find_kernel(&image, SAMPLE_KERNEL));
	image_release(&image);
}
