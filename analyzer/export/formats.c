/* SPDX-License-Identifier: Apache-2.0 */
#include "formats.h"

#include <string.h>

#include "export.h"
#include "forbidden.h"
#include "html.h"
#include "print.h"
#include "summary.h"

static const struct format formats[] = {
#define REPORT_FORMAT(name, endings, what, report, check, calls, top) \
	{ #name, endings, report, check, NULL, calls, top },
#define CHECK_FORMAT(name, endings, what, calls) \
	{ #name, endings, NULL, export_##name, NULL, calls, 0 },
#define EXPORT_FORMAT(name, endings, what) { #name, endings, NULL, NULL, export_##name, NULL, 0 },
#include "formats.def"
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

static int is_offered(const struct format *format, const char *command)
{
	return strcmp(command, "check") || format->check;
}

static int has_ending(const struct format *format, const char *ending)
{
	size_t length = strlen(ending);

	for (const char *e = format->endings; *e; e += strcspn(e, " ") + 1)
		if (strcspn(e, " ") == length && !strncmp(e, ending, length))
			return 1;
	return !strcmp(format->name, ending);
}

const char *format_ending(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;
	const char *dot = name ? strrchr(name, '.') : NULL;

	return dot && dot != name ? dot + 1 : NULL;
}

static void list_names(const char *command)
{
	const char *separator = "";

	for (size_t i = 0; i < FORMATS; i++)
		if (is_offered(&formats[i], command)) {
			print(stderr, "%s%s", separator, formats[i].name);
			separator = ", ";
		}
}

static void list_endings(const char *command)
{
	const char *separator = "";

	for (size_t i = 0; i < FORMATS; i++) {
		const char *ending = formats[i].endings;

		if (!is_offered(&formats[i], command))
			continue;
		print(stderr, "%s.%s", separator, formats[i].name);
		separator = ", ";
		for (; *ending; ending += strcspn(ending, " ") + 1) {
			fputs(", .", stderr);
			fwrite(ending, 1, strcspn(ending, " "), stderr);
		}
	}
}

static const struct format *find_name(const char *command, const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (is_offered(&formats[i], command) && !strcmp(formats[i].name, name))
			return &formats[i];
	print(stderr, "cufence %s: --format is not '%s', but one of: ", command, name);
	list_names(command);
	fputc('\n', stderr);
	return NULL;
}

const struct format *format_find(const char *command, const char *name, const char *path)
{
	const char *ending = format_ending(path);

	if (name || !ending)
		return find_name(command, name ? name : "text");
	for (size_t i = 0; i < FORMATS; i++)
		if (is_offered(&formats[i], command) && has_ending(&formats[i], ending))
			return &formats[i];
	print(stderr,
		"cufence %s: '%s': no format has the ending '.%s'; give --format, or one of: ",
		command, path, ending);
	list_endings(command);
	fputc('\n', stderr);
	return NULL;
}

int format_is_text(const struct format *format)
{
	return format == formats;
}
