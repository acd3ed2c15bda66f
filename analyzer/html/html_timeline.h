/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline: lanes of host threads and streams, with calls, operations and the program's named
 * ranges as items.  If calls are nested, only the program's own, the outermost, is an item.  Items
 * are numbered: calls first, then operations, then ranges, each by lane and time.
 */
#ifndef CUFENCE_HTML_TIMELINE_H
#define CUFENCE_HTML_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "db.h"
#include "map.h"

/* A browser cannot hold more; later ones are left out of the timeline, findings are not. */
enum { HTML_CALL_LIMIT = 3000000, HTML_OPERATION_LIMIT = 2000000, HTML_RANGE_LIMIT = 1000000 };

/* How an item is drawn; the script has the same list. */
enum html_category {
	HTML_KERNEL,
	HTML_COPY,
	HTML_MEMSET,
	HTML_GRAPH,
	HTML_SUBMIT, /* a call that puts work into a stream */
	HTML_WAIT,   /* a call whose purpose is to wait */
	HTML_CALL,   /* another call */
	HTML_RANGE   /* a named range of the program's own */
};

struct html_item {
	int64_t id;         /* of the call or operation */
	int64_t start, end; /* ns */
	int64_t call;       /* of an operation: that submitted it, DB_NULL: not known */
	int64_t amount;     /* of a copy or memset bytes; of a call ns that the device held it */
	uint32_t lane, name, site; /* site: of a call, 0: none */
	enum html_category category;
};

struct html_lane {
	int64_t process;
	int is_stream;
	int depth;      /* of a thread's ranges, from 1 on; 0: not of ranges */
	int64_t device; /* ordinal; of a thread 0 */
	int64_t id;     /* of the thread or stream, DB_NULL: not known which stream */
	char *label;
	int64_t order; /* among those of its process and device */
	size_t count;
};

struct html_items {
	struct html_item *item; /* by lane and time */
	size_t count;
	size_t *by_id; /* their numbers, by id */
};

/* A call that another one made: it is drawn as that. */
struct html_inner {
	int64_t id, outer;
};

struct html_texts {
	char **text;
	size_t count;
	struct map known; /* hash -> number + 1 */
};

struct html_timeline {
	struct db *db;
	struct html_lane *lane;
	size_t lanes;
	struct html_items calls, operations, ranges;
	struct html_inner *inner; /* by id */
	size_t inners;
	struct html_texts names, sites; /* sites: the first is of no site */
	struct map site_number;         /* site.id -> number in sites */
	int64_t end;                    /* ns; what begins later is left out; DB_NULL: nothing is */
};

#define HTML_NO_ITEM ((int64_t)-1)

/* Reads the run: 0, or -1 after a message.  html_timeline_release() in both cases. */
int html_timeline_read(struct html_timeline *timeline, struct db *db);
void html_timeline_release(struct html_timeline *timeline);

/* One more item; NULL after a message, or if the lane or the name is negative. */
struct html_item *html_item_add(struct html_items *items, int64_t lane, int64_t name);

/* The number of a text among those of the list, which gets it if need be; -1 after a message. */
int64_t html_text_number(struct html_texts *texts, const char *text);

/*
 * The item of a call, its own or that of the call it was made from; of an operation; HTML_NO_ITEM
 * where it is not drawn.
 */
int64_t html_item_of_call(const struct html_timeline *timeline, int64_t call);
int64_t html_item_of_operation(const struct html_timeline *timeline, int64_t operation);

/* Writes all of it to the page, in the order that the script reads: 0, or -1 after a message. */
int html_timeline_write(const struct html_timeline *timeline, FILE *out);

#endif
