/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's settings: environment variables, most of them set by options of "cufence run".
 * Both programs parse values with these functions, so both accept the same values.  Parsing ignores
 * the locale, whose decimal point belongs to the program.
 */
#ifndef CUFENCE_SETTINGS_H
#define CUFENCE_SETTINGS_H

#include <stdint.h>
#include <string.h>

/* Each returns 1 and the value, or 0 if the text is invalid. */
static inline int setting_number(const char *text, uint64_t *number)
{
	*number = 0;
	if (!*text)
		return 0;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (*number > (UINT64_MAX - 9) / 10)
			return 0;
		*number = *number * 10 + (uint64_t)(*text - '0');
	}
	return !*text;
}

/* Decimal seconds such as "1.5", to the nanosecond; less than 30 years. */
static inline int setting_seconds(const char *text, uint64_t *ns)
{
	uint64_t unit = 1000000000, whole = 0, part = 0;
	const char *first = text;

	for (; *text >= '0' && *text <= '9' && whole < unit; text++)
		whole = whole * 10 + (uint64_t)(*text - '0');
	if (*text == '.')
		for (text++, first++; *text >= '0' && *text <= '9'; text++) {
			unit /= 10;
			part += unit * (uint64_t)(*text - '0');
		}
	*ns = whole * 1000000000 + part;
	return !*text && text > first && whole < 1000000000;
}

/* Bytes, with an optional suffix K, M or G; 1M or more. */
static inline int setting_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmg";
	size_t length = strlen(text);
	const char *unit = length ? strchr(units, text[length - 1] | 32) : NULL;
	char digits[24] = "";
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	length -= unit != NULL;
	if (length >= sizeof(digits))
		return 0;
	memcpy(digits, text, length);
	if (!setting_number(digits, bytes) || *bytes >= UINT64_C(1) << (63 - shift))
		return 0;
	*bytes <<= shift;
	return *bytes >= 1 << 20;
}

static inline int setting_is_mode(const char *text)
{
	return !strcmp(text, "full") || !strcmp(text, "host");
}

static inline int setting_is_level(const char *text)
{
	return !strcmp(text, "graph") || !strcmp(text, "node");
}

static inline int setting_is_number(const char *text)
{
	uint64_t number;

	return setting_number(text, &number);
}

static inline int setting_is_seconds(const char *text)
{
	uint64_t ns;

	return setting_seconds(text, &ns);
}

static inline int setting_is_size(const char *text)
{
	uint64_t bytes;

	return setting_size(text, &bytes);
}

static inline int setting_is_name(const char *text)
{
	return *text != 0;
}

/* Fits into the header of a trace. */
static inline int setting_is_session(const char *text)
{
	return *text && strlen(text) < 48;
}

static inline int setting_is_anything(const char *text)
{
	return 1;
}

/*
 * Variable after CUFENCE_, option of run or NULL, check, description; an empty variable counts as
 * not set.
 */
#define SETTINGS(X) \
	X("MODE", "--mode", setting_is_mode, "full or host") \
	X("GRAPHS", "--graphs", setting_is_level, "graph or node") \
	X("DELAY", "--delay", setting_is_seconds, "a number of seconds") \
	X("DURATION", "--duration", setting_is_seconds, "a number of seconds") \
	X("NVTX", "--nvtx", setting_is_name, "the name of a range") \
	X("TURNS", "--turns", setting_is_number, "a number of ranges") \
	X("SESSION", "--session", setting_is_session, "a name of at most 47 letters") \
	X("PAUSED", "--paused", setting_is_anything, NULL) \
	X("MAX_SIZE", "--max-size", setting_is_size, "a number of bytes, 1M or more") \
	X("PROFILER", "--profiler", setting_is_anything, NULL) \
	X("GUARD_HOST", "--guard-host", setting_is_anything, NULL) \
	X("HOLD", NULL, setting_is_name, "the name of a file") \
	X("FLUSH_MS", NULL, setting_is_number, "a number of milliseconds") \
	X("SIM_DEVICES", NULL, setting_is_number, "a number of devices") \
	X("SIM_KERNEL_US", NULL, setting_is_number, "a number of microseconds") \
	X("SIM_NO_WAIT_VALUE", NULL, setting_is_anything, NULL)

#endif
