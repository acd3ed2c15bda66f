/* SPDX-License-Identifier: Apache-2.0 */
#include "fix_file.h"

#include <stdlib.h>

#include "calls.h"

const char *const fix_treatment_names[FIX_TREATMENT_COUNT] = {
#define X(symbol, name, what) name,
	FIX_TREATMENTS(X)
#undef X
};

const char *const fix_surprise_words[FIX_SURPRISE_COUNT] = {
#define X(symbol, words) words,
	FIX_SURPRISES(X)
#undef X
};

static const struct {
	enum fix_treatment treatment;
	const char *name;
} sides[FIX_SIDE_COUNT] = {
#define X(symbol, treatment, name) { FIX_##treatment, name },
	FIX_SIDES(X)
#undef X
};

const char *fix_side_name(enum fix_treatment treatment, unsigned side)
{
	return side < FIX_SIDE_COUNT && sides[side].treatment == treatment ? sides[side].name : "";
}

/* Ends the word at *at, and moves to the next one. */
static char *next_word(char **at)
{
	char *word = *at;

	*at += strcspn(*at, " ");
	if (**at)
		*(*at)++ = '\0';
	return word;
}

static int read_number(const char *text, int base, uint64_t *number)
{
	char *end;

	*number = strtoull(text, &end, base);
	return *text && *text != '-' && !*end ? 0 : -1;
}

static enum fix_treatment treatment_named(const char *name)
{
	for (int i = 0; i < FIX_TREATMENT_COUNT; i++)
		if (!strcmp(fix_treatment_names[i], name))
			return (enum fix_treatment)i;
	return FIX_NOTHING;
}

static const char *read_fix(struct fix_plan *plan, char *rest)
{
	struct fix_finding *finding = &plan->findings[plan->findings_count];
	uint64_t number;

	if (plan->findings_count == FIX_FINDINGS)
		return "there are too many fixes";
	if (read_number(next_word(&rest), 10, &number) || number > UINT32_MAX)
		return "a fix has a number";
	finding->number = (uint32_t)number;
	finding->treatment = (uint32_t)treatment_named(next_word(&rest));
	if (finding->treatment == FIX_NOTHING)
		return "this version does not know that treatment";
	finding->reuses_host = !strcmp(rest, "reuse-host");
	plan->findings_count++;
	return *rest && !finding->reuses_host ? "a fix ends with its treatment" : NULL;
}

/* 0, or -1: its treatment has no such side. */
static int read_side(struct fix_place *place, const char *name)
{
	int has_sides = 0;

	for (uint8_t side = 0; side < FIX_SIDE_COUNT; side++) {
		const char *known = fix_side_name((enum fix_treatment)place->treatment, side);

		has_sides |= *known != '\0';
		if (*known && !strcmp(known, name)) {
			place->side = side;
			return 0;
		}
	}
	return has_sides || *name ? -1 : 0;
}

static const char *read_call(struct fix_plan *plan, char *rest)
{
	struct fix_place *place = &plan->places[plan->count];
	enum call_id call = call_named(next_word(&rest));

	if (!plan->findings_count)
		return "a call belongs to a fix, which comes before it";
	if (plan->count == FIX_PLACES)
		return "there are too many calls";
	if (call == CALL_COUNT)
		return "this version does not know that function";
	*place = (struct fix_place){ .place = { BYTE_HASH_SEED, (uint32_t)call, 0 },
		.finding = (uint8_t)(plan->findings_count - 1),
		.treatment = (uint8_t)plan->findings[plan->findings_count - 1].treatment };
	if (read_side(place, rest))
		return "a call ends with its function, and its side if the treatment has sides";
	plan->count++;
	return NULL;
}

/* 40 hexadecimal digits or fewer, or "-". */
static int read_build_id(const char *text, uint8_t id[20])
{
	static const char digits[] = "0123456789abcdef";
	size_t length = strlen(text);

	memset(id, 0, 20);
	if (!strcmp(text, "-"))
		return 0;
	if (!length || length % 2 || length > 40 || strspn(text, digits) != length)
		return -1;
	for (size_t i = 0; i < length; i++)
		id[i / 2] |= (uint8_t)((strchr(digits, text[i]) - digits) << (i % 2 ? 0 : 4));
	return 0;
}

static const char *note_module(struct fix_file *file, const char *name, const uint8_t id[20])
{
	uint32_t finding = UINT32_C(1) << (file->plan.findings_count - 1);
	struct fix_module *module = file->module;

	for (unsigned i = 0; i < file->modules_count; i++, module++)
		if (!strcmp(module->name, name) && !memcmp(module->build_id, id, 20)) {
			module->findings |= finding;
			return NULL;
		}
	if (file->modules_count == FIX_MODULES)
		return "there are too many files";
	*module = (struct fix_module){ .name = name, .findings = finding };
	memcpy(module->build_id, id, 20);
	file->modules_count++;
	return NULL;
}

static const char *read_frame(struct fix_file *file, char *rest)
{
	struct fix_plan *plan = &file->plan;
	uint64_t offset;
	uint8_t id[20];

	if (!plan->count || plan->places[plan->count - 1].finding + 1u != plan->findings_count)
		return "a frame belongs to a call, which comes before it";
	if (read_build_id(next_word(&rest), id))
		return "a build id has up to 40 hexadecimal digits";
	if (read_number(next_word(&rest), 16, &offset))
		return "an offset is hexadecimal";
	plan->places[plan->count - 1].place.place =
		hold_place_add(plan->places[plan->count - 1].place.place, rest, id, offset);
	return *rest ? note_module(file, rest, id) : NULL;
}

static const char *read_image(struct fix_plan *plan, char *rest)
{
	if (plan->images_count == FIX_IMAGES)
		return "there are too many images";
	return read_number(rest, 16, &plan->images[plan->images_count++])
		? "the hash of an image is hexadecimal"
		: NULL;
}

static const char *read_error(struct fix_file *file, char *rest)
{
	enum call_id call = call_named(next_word(&rest));
	uint64_t result;

	if (read_number(rest, 10, &result) || result > INT32_MAX)
		return "a result is a number";
	if (call == CALL_COUNT || file->errors_count == FIX_ERRORS)
		return NULL;
	file->error[file->errors_count].call = (uint32_t)call;
	file->error[file->errors_count++].result = (int)result;
	return NULL;
}

static const char *read_line(struct fix_file *file, char *line)
{
	char *rest = line, *word = next_word(&rest);

	if (!strcmp(word, "fix"))
		return read_fix(&file->plan, rest);
	if (!strcmp(word, "call"))
		return read_call(&file->plan, rest);
	if (!strcmp(word, "at"))
		return read_frame(file, rest);
	if (!strcmp(word, "image"))
		return read_image(&file->plan, rest);
	if (!strcmp(word, "error"))
		return read_error(file, rest);
	return "this version does not know such a line";
}

static int comes_after(const struct fix_place *a, const struct fix_place *b)
{
	if (a->place.place != b->place.place)
		return a->place.place > b->place.place;
	return a->place.call > b->place.call;
}

static int is_same(const struct fix_place *a, const struct fix_place *b)
{
	return a->place.place == b->place.place && a->place.call == b->place.call &&
		a->treatment == b->treatment && a->side == b->side &&
		(a->treatment != FIX_FENCE || a->finding == b->finding);
}

/* By insertion: nothing is allocated.  Of two findings with one call the first one has it. */
void fix_plan_sort(struct fix_plan *plan)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		struct fix_place place = plan->places[i];
		uint32_t to = kept;
		int is_there = 0;

		for (uint32_t k = 0; k < kept; k++)
			is_there |= is_same(&plan->places[k], &place);
		if (is_there)
			continue;
		for (; to && comes_after(&plan->places[to - 1], &place); to--)
			plan->places[to] = plan->places[to - 1];
		plan->places[to] = place;
		kept++;
	}
	plan->count = kept;
}

const char *fix_file_read(struct fix_file *file, char *text, unsigned *line)
{
	const char *wrong = NULL;

	memset(file, 0, sizeof(*file));
	file->plan.magic = FIX_MAGIC;
	*line = 1;
	if (strncmp(text, FIX_FILE_HEAD "\n", sizeof(FIX_FILE_HEAD)))
		return "the first line is not \"" FIX_FILE_HEAD "\"";
	for (char *at = text + sizeof(FIX_FILE_HEAD), *end; *at && !wrong; at = end) {
		end = at + strcspn(at, "\n");
		if (*end)
			*end++ = '\0';
		++*line;
		if (*at && *at != '#')
			wrong = read_line(file, at);
	}
	if (!wrong && !file->plan.findings_count)
		wrong = "there is no fix in it";
	fix_plan_sort(&file->plan);
	return wrong;
}
