/* SPDX-License-Identifier: Apache-2.0 */
/* How a stream is ordered with others: column kind of table stream. */
#ifndef CUFENCE_STREAM_KIND_H
#define CUFENCE_STREAM_KIND_H

enum stream_kind {
	STREAM_KIND_UNKNOWN,
	STREAM_KIND_LEGACY, /* the legacy default stream of a context */
	STREAM_KIND_THREAD, /* a per-thread default stream: blocking with respect to legacy */
	STREAM_KIND_BLOCKING,
	STREAM_KIND_NON_BLOCKING,
	/*
	 * In no recorded run: "cufence try" moves work of the legacy stream there to see what else
	 * kept order.  The stream and the legacy one come after each other, as in fix/moved.c.
	 */
	STREAM_KIND_MOVED,
};

/* Returns UNKNOWN for NULL. */
static inline enum stream_kind stream_kind_of(const char *name)
{
	switch (name ? name[0] : '\0') {
	case 'l':
		return STREAM_KIND_LEGACY;
	case 'p':
		return STREAM_KIND_THREAD;
	case 'b':
		return STREAM_KIND_BLOCKING;
	case 'n':
		return STREAM_KIND_NON_BLOCKING;
	case 'm':
		return STREAM_KIND_MOVED;
	}
	return STREAM_KIND_UNKNOWN;
}

/*
 * Blocking streams are ordered with the legacy stream: their work and legacy work do not overlap.
 */
static inline int stream_is_blocking(enum stream_kind kind)
{
	return kind == STREAM_KIND_BLOCKING || kind == STREAM_KIND_THREAD;
}

#endif
