/* SPDX-License-Identifier: Apache-2.0 */
#include "proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static void fail(struct proto *proto)
{
	if (!proto->failed)
		fputs("cufence: out of memory\n", stderr);
	proto->failed = 1;
}

static void put(struct proto *proto, const void *data, size_t length)
{
	size_t room = proto->room ? proto->room : 256;

	if (proto->failed)
		return;
	while (room - proto->length < length)
		room *= 2;
	if (room != proto->room) {
		uint8_t *more = realloc(proto->data, room);

		if (!more) {
			fail(proto);
			return;
		}
		proto->data = more;
		proto->room = room;
	}
	memcpy(proto->data + proto->length, data, length);
	proto->length += length;
}

static void put_varint(struct proto *proto, uint64_t value)
{
	uint8_t bytes[10];
	size_t length = 0;

	do {
		bytes[length++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
		value >>= 7;
	} while (value);
	put(proto, bytes, length);
}

static void put_key(struct proto *proto, unsigned field, enum wire_type type)
{
	put_varint(proto, (uint64_t)field << 3 | type);
}

void proto_number(struct proto *proto, unsigned field, uint64_t value)
{
	put_key(proto, field, WIRE_VARINT);
	put_varint(proto, value);
}

void proto_fixed64(struct proto *proto, unsigned field, uint64_t value)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	put_key(proto, field, WIRE_FIXED64);
	put(proto, bytes, sizeof(bytes));
}

void proto_text(struct proto *proto, unsigned field, const char *text)
{
	char *shown = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&shown, &length);

	if (memory)
		print(memory, "%s", text);
	if (!memory || fclose(memory)) {
		fail(proto);
		free(shown);
		return;
	}
	put_key(proto, field, WIRE_LENGTH);
	put_varint(proto, length);
	put(proto, shown, length);
	free(shown);
}

void proto_message(struct proto *proto, unsigned field, struct proto *inner)
{
	put_key(proto, field, WIRE_LENGTH);
	put_varint(proto, inner->length);
	if (inner->length)
		put(proto, inner->data, inner->length);
	proto->failed |= inner->failed;
	inner->length = 0;
}

void proto_release(struct proto *proto)
{
	free(proto->data);
	*proto = (struct proto){ 0 };
}
