/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol Buffers messages, written field by field into memory: the wire format of
 * https://protobuf.dev/programming-guides/encoding.  A message within a message is written first
 * and then added as a field.  The first failure of an allocation is remembered in failed; what is
 * written later is left out.
 */
#ifndef CUFENCE_PROTO_H
#define CUFENCE_PROTO_H

#include <stddef.h>
#include <stdint.h>

struct proto {
	uint8_t *data;
	size_t length, room;
	int failed; /* after a message */
};

/* Types int32, int64, uint32, uint64, bool and enum. */
void proto_number(struct proto *proto, unsigned field, uint64_t value);
void proto_fixed64(struct proto *proto, unsigned field, uint64_t value);

/* A string; characters that print() would escape are escaped, so that it is UTF-8. */
void proto_text(struct proto *proto, unsigned field, const char *text);

/* The message inner as a field; inner is empty afterwards. */
void proto_message(struct proto *proto, unsigned field, struct proto *inner);

void proto_release(struct proto *proto);

#endif
