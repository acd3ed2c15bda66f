/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_open.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "map.h"
#include "memory.h"

/*
 * Compressed sections take at most so many times the file's size: zlib's of DWARF take 3 to 6.  Of
 * a file with more there are names without lines.
 */
#define INFLATED_MOST 32

int elf_file_open(struct elf_file *file, const char *path)
{
	struct stat st;

	*file = (struct elf_file){ .descriptor = -1 };
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	/* The file may have been replaced since. */
	file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->descriptor < 0 || fstat(file->descriptor, &st) || !S_ISREG(st.st_mode))
		goto fail;
	elf_version(EV_CURRENT);
	file->size = (uint64_t)st.st_size;
	file->elf = elf_begin(file->descriptor, ELF_C_READ_MMAP, NULL);
	file->path = xstrdup(path);
	/* No archives, and no formats that need an external program. */
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF)
		return 0;
fail:
	elf_file_close(file);
	return -1;
}

void elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	if (file->elf || file->descriptor > 0)
		close(file->descriptor);
	free(file->path);
	*file = (struct elf_file){ .descriptor = -1 };
}

Elf_Scn *elf_file_section(const struct elf_file *file, const char *name)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		const char *found;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(file->elf, names, header.sh_name);
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

static void write_hex(char hex[BUILD_ID_SIZE], const unsigned char *bytes, size_t size)
{
	size_t most = (BUILD_ID_SIZE - 1) / 2;

	hex[0] = '\0';
	for (size_t i = 0; i < size && i < most; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

/* The build id among the notes in data. */
static int find_build_id(Elf_Data *data, char hex[BUILD_ID_SIZE])
{
	size_t at = 0, name, value;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &value)) > 0)
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
			!memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU"))) {
			write_hex(hex, (unsigned char *)data->d_buf + value, note.n_descsz);
			return 1;
		}
	return 0;
}

static void read_build_id(const struct elf_file *file, char hex[BUILD_ID_SIZE])
{
	Elf_Scn *section = NULL;
	size_t count;
	GElf_Phdr segment;
	GElf_Shdr header;

	hex[0] = '\0';
	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
			find_build_id(elf_getdata(section, NULL), hex))
			return;
	if (elf_getphdrnum(file->elf, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(file->elf, (int)i, &segment) && segment.p_type == PT_NOTE &&
			find_build_id(elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset,
					      segment.p_filesz,
					      segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				hex))
			return;
}

void debug_link_read(struct debug_link *link, const struct elf_file *file)
{
	Elf_Scn *section = elf_file_section(file, ".gnu_debuglink");
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t length;

	*link = (struct debug_link){ 0 };
	read_build_id(file, link->build_id);
	if (!data || !data->d_buf || !data->d_size)
		return;
	/* A name, then a checksum, aligned to four bytes. */
	length = strnlen(data->d_buf, data->d_size);
	if (length >= sizeof(link->name) || (length + 4) / 4 * 4 + 4 > data->d_size)
		return;
	snprintf(link->name, sizeof(link->name), "%s", (const char *)data->d_buf);
	memcpy(&link->crc, (char *)data->d_buf + (length + 4) / 4 * 4, 4);
}

/* Calls visit for each path that may be the debug file's, until it returns 1. */
static int each_candidate(const char *path, const struct debug_link *link,
	int (*visit)(const char *path, void *argument), void *argument)
{
	const char *folders = getenv("CUFENCE_DEBUGINFO_PATH"), *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0, found = 0;
	const char *id = link->build_id, *next;

	if (!folders)
		folders = ":.debug:/usr/lib/debug";
	for (; folders && !found; folders = next) {
		/* As elfutils reads them: a sign says whether the checksum counts. */
		const char *folder = folders + strspn(folders, "+-");
		int size = (int)strcspn(folder, ":");
		char *at[3] = { NULL };

		next = folder[size] ? folder + size + 1 : NULL;
		if (*folder == '/' && strlen(id) > 2)
			at[0] = xprintf("%.*s/.build-id/%.2s/%s.debug", size, folder, id, id + 2);
		if (link->name[0] && *folder == '/') {
			at[1] = xprintf("%.*s%.*s/%s", size, folder, length, path, link->name);
			at[2] = xprintf("%.*s/%s", size, folder, link->name);
		} else if (link->name[0]) {
			at[1] = xprintf("%.*s/%.*s/%s", length, path, size, folder, link->name);
		}
		for (int i = 0; i < 3; i++) {
			if (at[i] && !found)
				found = visit(at[i], argument);
			free(at[i]);
		}
	}
	return found;
}

/* As .gnu_debuglink has it (CRC-32 of zlib). */
static uint32_t checksum(const struct elf_file *file)
{
	uint32_t table[256], crc = 0xffffffff;
	size_t size;
	const unsigned char *bytes = (const unsigned char *)elf_rawfile(file->elf, &size);

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (size_t i = 0; bytes && i < size; i++)
		crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
	return ~crc;
}

struct search {
	struct elf_file *file;
	const struct debug_link *link;
};

static int opens(const char *path, void *argument)
{
	const struct search *search = argument;
	char id[BUILD_ID_SIZE];

	if (elf_file_open(search->file, path))
		return 0;
	read_build_id(search->file, id);
	if (search->link->build_id[0] ? !strcmp(id, search->link->build_id)
				      : checksum(search->file) == search->link->crc)
		return 1;
	elf_file_close(search->file);
	return 0;
}

int debug_file_open(struct elf_file *file, const char *path, const struct debug_link *link)
{
	struct search search = { file, link };

	return each_candidate(path, link, opens, &search) ? 0 : -1;
}

int shared_debug_open(struct elf_file *file, const struct elf_file *debug, const char *name,
	const unsigned char *id, size_t id_size)
{
	struct debug_link link = { 0 };
	struct search search = { file, &link };
	const char *slash = strrchr(debug->path, '/');
	char *path = *name == '/' || !slash
		? xstrdup(name)
		: xprintf("%.*s/%s", (int)(slash - debug->path), debug->path, name);
	int rc;

	write_hex(link.build_id, id, id_size);
	rc = link.build_id[0] && (opens(path, &search) || each_candidate("", &link, opens, &search))
		? 0
		: -1;
	free(path);
	return rc;
}

static int add_stamp(const char *path, void *argument)
{
	uint64_t *stamp = argument;
	uint64_t identity[5] = { *stamp };
	struct stat st;

	if (!stat(path, &st)) {
		identity[1] = st.st_dev ^ st.st_ino << 16;
		identity[2] = (uint64_t)st.st_size;
		identity[3] = (uint64_t)st.st_mtim.tv_sec;
		identity[4] = (uint64_t)st.st_mtim.tv_nsec;
	}
	*stamp = map_hash((const char *)identity, sizeof(identity));
	return 0;
}

uint64_t debug_stamp(const char *path, const struct debug_link *link)
{
	uint64_t stamp = 0;

	add_stamp(path, &stamp);
	each_candidate(path, link, add_stamp, &stamp);
	return stamp;
}

/* Bytes of all sections that libdw would unpack. */
static uint64_t inflated_size(const struct elf_file *file)
{
	Elf_Scn *section = NULL;
	uint64_t total = 0, size;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return 0;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		GElf_Chdr packed;
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header))
			continue;
		size = 0;
		name = elf_strptr(file->elf, names, header.sh_name);
		if (header.sh_flags & SHF_COMPRESSED)
			size = gelf_getchdr(section, &packed) ? packed.ch_size : 0;
		else if (name && !strncmp(name, ".zdebug", 7) &&
			(data = elf_rawdata(section, NULL)) && data->d_buf && data->d_size >= 12)
			/* "ZLIB" and the size, the highest byte first. */
			for (int i = 4; i < 12; i++)
				size = size << 8 | ((unsigned char *)data->d_buf)[i];
		if (size > UINT64_MAX - total)
			return UINT64_MAX;
		total += size;
	}
	return total;
}

Dwarf *debug_begin(const struct elf_file *file)
{
	if (!elf_file_section(file, ".debug_info") && !elf_file_section(file, ".zdebug_info"))
		return NULL;
	if (inflated_size(file) / INFLATED_MOST > file->size)
		return NULL;
	return dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
}
