/* SPDX-License-Identifier: Apache-2.0 */
#include "html.h"

#include <stdlib.h>
#include <string.h>

#include "html_json.h"
#include "html_texts.h"
#include "html_timeline.h"

/* The Makefile generates these from page/. */
static const char page_html[] =
#include "page_html.inc"
	;
static const char page_css[] =
#include "page_css.inc"
	;
static const char page_js[] =
#include "page_js.inc"
	;
/* The hashes of the only script and style that the page's security policy allows. */
static const char page_js_hash[] =
#include "page_js_hash.inc"
	;
static const char page_css_hash[] =
#include "page_css_hash.inc"
	;

struct page {
	struct db *db;
	const struct report_options *options;
	struct html_timeline timeline;
	FILE *out;
};

static int put_style(struct page *page)
{
	fputs(page_css, page->out);
	return 0;
}

static int put_script(struct page *page)
{
	fputs(page_js, page->out);
	return 0;
}

static void put_hash(FILE *out, const char *hash)
{
	fputs("'sha256-", out);
	fwrite(hash, 1, strcspn(hash, "\n"), out);
	fputc('\'', out);
}

static int put_style_hash(struct page *page)
{
	put_hash(page->out, page_css_hash);
	return 0;
}

static int put_script_hash(struct page *page)
{
	put_hash(page->out, page_js_hash);
	return 0;
}

/* A function's JSON output, escaped for a script element. */
static int put_json(struct page *page, int (*write)(struct page *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? write(page, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (!rc)
		json_embed(page->out, text, size);
	free(text);
	return rc;
}

static int write_report(struct page *page, FILE *out)
{
	return report_json(page->db, page->options, out);
}

static int write_texts(struct page *page, FILE *out)
{
	return html_texts_write(&page->timeline, page->options, out);
}

static int put_report(struct page *page)
{
	return put_json(page, write_report);
}

static int put_texts(struct page *page)
{
	return put_json(page, write_texts);
}

static int put_timeline(struct page *page)
{
	return html_timeline_write(&page->timeline, page->out);
}

/* The text report, for browsers without scripts. */
static int put_plain(struct page *page)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? report_text(page->db, page->options, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	for (size_t i = 0; !rc && i < size; i++) {
		const char *entity = text[i] == '<' ? "&lt;"
			: text[i] == '>'            ? "&gt;"
			: text[i] == '&'            ? "&amp;"
						    : NULL;

		if (entity)
			fputs(entity, page->out);
		else
			fputc(text[i], page->out);
	}
	free(text);
	return rc;
}

/* Parts of the page, by their names @NAME@ in page.html. */
static const struct {
	const char *name;
	int (*put)(struct page *);
} parts[] = {
	{ "style", put_style },
	{ "script", put_script },
	{ "style-hash", put_style_hash },
	{ "script-hash", put_script_hash },
	{ "report", put_report },
	{ "texts", put_texts },
	{ "timeline", put_timeline },
	{ "plain", put_plain },
};

/* The part whose @NAME@ text begins with, of *length bytes; NULL: none. */
static int (*find_part(const char *text, size_t *length))(struct page *)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		*length = strlen(parts[i].name);
		if (!strncmp(text, parts[i].name, *length) && text[*length] == '@')
			return parts[i].put;
	}
	return NULL;
}

static int put_page(struct page *page)
{
	for (const char *text = page_html; *text; text++) {
		size_t length;
		int (*put)(struct page *) = *text == '@' ? find_part(text + 1, &length) : NULL;

		if (!put)
			fputc(*text, page->out);
		else if (put(page))
			return -1;
		else
			text += length + 1;
	}
	return 0;
}

int report_html(struct db *db, const struct report_options *options, FILE *out)
{
	struct report_options chosen = *options;
	struct page page = { .db = db, .options = &chosen };
	char *text = NULL;
	size_t size = 0;
	int rc;

	/* The page hides by itself what is below the threshold. */
	if (chosen.level == REPORT_LIKELY)
		chosen.level = REPORT_POSSIBLE;
	chosen.undrawn = 1;
	page.out = open_memstream(&text, &size);
	rc = page.out ? html_timeline_read(&page.timeline, db) || put_page(&page) : -1;
	html_timeline_release(&page.timeline);
	if (!page.out || fclose(page.out)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (!rc)
		fwrite(text, 1, size, out);
	free(text);
	return rc ? -1 : 0;
}
