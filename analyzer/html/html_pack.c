/* SPDX-License-Identifier: Apache-2.0 */
#include "html_pack.h"

#include <stdlib.h>
#include <zlib.h>

enum { ROOM = 1 << 16 };

struct pack {
	z_stream stream;
	FILE *out;
	int failed;
	unsigned char plain[ROOM], packed[ROOM];
	size_t count;          /* bytes in plain */
	unsigned char rest[3]; /* of base64: less than three bytes */
	size_t rests;
};

struct pack *pack_open(FILE *out)
{
	struct pack *pack = calloc(1, sizeof(*pack));

	/* No zlib header: the window's bits as a negative number (zlib.h). */
	if (pack &&
		deflateInit2(&pack->stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
			Z_OK) {
		free(pack);
		pack = NULL;
	}
	if (!pack)
		fputs("cufence: out of memory\n", stderr);
	else
		pack->out = out;
	return pack;
}

static void put_rest(struct pack *pack)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)(pack->rest[0] << 16 | pack->rest[1] << 8 | pack->rest[2]);
	char text[4] = { digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63],
		digits[bits & 63] };

	for (size_t i = pack->rests + 1; i < sizeof(text); i++)
		text[i] = '=';
	fwrite(text, 1, sizeof(text), pack->out);
	pack->rests = 0;
	pack->rest[0] = pack->rest[1] = pack->rest[2] = 0;
}

static void flush(struct pack *pack, int how)
{
	z_stream *stream = &pack->stream;

	stream->next_in = pack->plain;
	stream->avail_in = (uInt)pack->count;
	do {
		stream->next_out = pack->packed;
		stream->avail_out = sizeof(pack->packed);
		if (deflate(stream, how) == Z_STREAM_ERROR)
			pack->failed = 1;
		size_t count = sizeof(pack->packed) - stream->avail_out;

		for (size_t i = 0; i < count; i++) {
			pack->rest[pack->rests++] = pack->packed[i];
			if (pack->rests == sizeof(pack->rest))
				put_rest(pack);
		}
	} while (!stream->avail_out && !pack->failed);
	pack->count = 0;
}

void pack_number(struct pack *pack, int64_t number)
{
	uint64_t bits = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

	if (pack->count + 10 > sizeof(pack->plain))
		flush(pack, Z_NO_FLUSH);
	for (; bits > 127; bits >>= 7)
		pack->plain[pack->count++] = (unsigned char)(bits | 128);
	pack->plain[pack->count++] = (unsigned char)bits;
}

void pack_step(struct pack *pack, int64_t number, int64_t before)
{
	pack_number(pack, (int64_t)((uint64_t)number - (uint64_t)before));
}

int pack_close(struct pack *pack)
{
	int failed;

	flush(pack, Z_FINISH);
	if (pack->rests)
		put_rest(pack);
	failed = pack->failed;
	if (failed)
		fputs("cufence: cannot compress the timeline\n", stderr);
	deflateEnd(&pack->stream);
	free(pack);
	return failed ? -1 : 0;
}
