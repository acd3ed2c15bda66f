/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's answers are kept by the hash of the code and by all of its inputs. */
#include "unit.h"

#include "code_part.h"
#include "image_hash.h"
#include "kept_access.h"

/* clang-format off */
#define KERNEL(body) ".version 7.0\n.target sm_75\n.address_size 64\n" \
	".global .align 4 .b8 table[64];\n" \
	".visible .entry k(.param .u64 p, .param .u32 n, .param .u32 m)\n{\n" \
	".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r2, [n];\n" \
	"mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd2, %rd1, %rd3;\n" body "\nret;\n}\n"
/* clang-format on */
#define STORES KERNEL("st.global.u32 [%rd2], %r1;\nld.global.u32 %r3, [table+8];")
#define LOADS KERNEL("ld.global.u32 %r1, [%rd2];")

/* The answer for the kernel with n = 5, as text. */
static char *ask(struct kept_access *kept, const char *text, uint32_t block, unsigned long steps,
	struct kept_answer *answer)
{
	static const char *const direction[] = { "load", "store", "atomic" };
	uint8_t value[16] = { [8] = 5 }, state[16];
	struct ptx_launch launch = { { 1, 1, 1 }, { block, 1, 1 }, 16, value, state };
	struct ptx_module *module;
	char *said = NULL, error[IMAGE_ERROR_SIZE];
	size_t size;
	FILE *out = open_memstream(&said, &size);

	memset(state, PTX_POINTER, 8);
	memset(state + 8, PTX_KNOWN, 8);
	module = ptx_open(text, strlen(text), error);
	assert_non_null(module);
	kept_access_find(kept, module, 0, "k", &launch, steps, answer);
	if (answer->failed)
		fprintf(out, "failed: %s", answer->why);
	for (size_t i = 0; i < answer->claim_count; i++)
		fprintf(out, "%s %lld..%lld, ", direction[answer->claim[i].direction],
			(long long)answer->claim[i].low, (long long)answer->claim[i].high);
	for (size_t i = 0; i < answer->variable_count; i++)
		fprintf(out, "%.*s of %llu bytes", (int)answer->variable[i].length,
			answer->names + answer->variable[i].name,
			(unsigned long long)answer->variable[i].bytes);
	fclose(out);
	ptx_close(module);
	return said;
}

static void expect(const char *digest, const char *text, uint32_t block, unsigned long steps,
	const char *wanted)
{
	struct kept_access *kept = kept_access_open(digest);
	struct kept_answer answer;
	char *said;

	assert_non_null(kept);
	said = ask(kept, text, block, steps, &answer);
	assert_string_equal(said, wanted);
	free(said);
	kept_access_close(kept);
}

#define STORED "store 20..24, load 8..12, table of 64 bytes"

/* The second time the text says something else, which shows that it is not read. */
TEST(an_answer_lasts)
{
	expect("1", STORES, 32, 1000, STORED);
	expect("1", LOADS, 32, 1000, STORED);
	expect("1", LOADS, 64, 1000, "load 20..24, ");
	expect("1", STORES, 64, 1000, "load 20..24, ");
	expect("1", LOADS, 32, 1000, STORED);
	expect("2", LOADS, 32, 1000, "load 20..24, ");
}

/* A limit under which the interpreter had gone on is as if it were asked. */
TEST(limits_hold)
{
	expect("3", STORES, 32, 1000, STORED);
	expect("3", STORES, 32, 3, "failed: too long");
	expect("3", LOADS, 32, 3, "failed: too long");
	expect("3", LOADS, 32, 1000, "load 20..24, ");
}

/* So that a run has the same answers whether they were kept or not. */
TEST(steps_are_counted_again)
{
	struct kept_access *kept = kept_access_open("4");
	struct kept_answer first, second;

	free(ask(kept, STORES, 32, 1000, &first));
	kept_access_close(kept);
	kept = kept_access_open("4");
	free(ask(kept, STORES, 32, 1000, &second));
	assert_true(first.steps > 0);
	assert_int_equal(first.steps, second.steps);
	kept_access_close(kept);
}

#define WORD sizeof(uint64_t)
#define FORGED_SIZE 1024

static uint64_t step(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* The hash before step(). */
static uint64_t step_back(uint64_t hash, uint64_t word)
{
	uint64_t inverse = 0x9e3779b97f4a7c15u;

	for (int i = 0; i < 5; i++)
		inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
	hash ^= hash >> 29 ^ hash >> 58;
	return hash * inverse ^ word;
}

/* Fills the text with a comment; the last word but one becomes what gives it that image_hash(). */
static void forge(char text[FORGED_SIZE], const char *code, uint64_t wanted)
{
	uint64_t word, hash, *hole = (uint64_t *)(void *)text + FORGED_SIZE / WORD - 2;

	for (int nonce = 0;; nonce++) {
		snprintf(text, FORGED_SIZE, "%s\n// %d ", code, nonce);
		memset(text + strlen(text), '.', FORGED_SIZE - strlen(text));
		text[FORGED_SIZE - 1] = '\n';
		hash = FORGED_SIZE;
		for (const uint64_t *at = (uint64_t *)(void *)text; at < hole; at++)
			hash = step(hash, *at);
		word = step_back(step_back(wanted, hole[1]), 0) ^ hash;
		if (memchr(&word, 0, WORD) || memchr(&word, '\n', WORD))
			continue;
		*hole = word;
		return;
	}
}

static void find_digest(const char *text, char digest[CODE_DIGEST_SIZE])
{
	struct image_budget budget = { .left = 1 << 20, .most = 1 << 20 };
	struct code_limits limits = { .arch = 90, .budget = &budget };
	struct image_bytes bytes = { .data = text, .file = -1, .size = FORGED_SIZE };
	struct code_place place = { 0 };
	struct code_part part;

	code_part_init(&part, &bytes, NULL);
	assert_true(code_part_ptx(&part, &limits, "k", &place));
	snprintf(digest, CODE_DIGEST_SIZE, "%s", place.digest);
	code_part_release(&part);
}

/* CI keeps the cache, so that one author's program meets the answers about another's. */
TEST(a_forged_hash_has_answers_of_its_own)
{
	static _Alignas(8) char stores[FORGED_SIZE], forged[FORGED_SIZE];
	char digest[CODE_DIGEST_SIZE], other[CODE_DIGEST_SIZE];

	forge(stores, STORES, 1);
	forge(forged, LOADS, 1);
	assert_int_equal(image_hash(stores, FORGED_SIZE), image_hash(forged, FORGED_SIZE));
	find_digest(stores, digest);
	find_digest(forged, other);
	assert_int_equal(strlen(digest), CODE_DIGEST_SIZE - 1);
	assert_string_not_equal(digest, other);
}

/* Each word of an image counts, and so do its last bytes and its size. */
TEST(an_image_has_one_hash)
{
	static char image[3 * IMAGE_START_BYTES + 5];
	uint64_t hash;

	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = (char)(i * i >> 3);
	hash = image_hash(image, sizeof(image));
	assert_true(image_has_hash(image, sizeof(image), hash));
	assert_true(image_has_hash(image, sizeof(image), image_hash_in_turn(image, sizeof(image))));
	assert_int_not_equal(image_hash(image, sizeof(image) - 1), hash);
	for (size_t i = 0; i < sizeof(image); i++) {
		image[i] ^= 1;
		assert_false(image_has_hash(image, sizeof(image), hash));
		image[i] ^= 1;
	}
	assert_int_equal(image_hash(image, IMAGE_START_BYTES),
		image_hash_in_turn(image, IMAGE_START_BYTES));
}

static int use_own_cache(void **state)
{
	static char home[] = "/tmp/cufence-kept-XXXXXX";

	*state = mkdtemp(home);
	return !*state || setenv("XDG_CACHE_HOME", home, 1) ? -1 : 0;
}

static int remove_cache(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", (const char *)*state);
	return system(command);
}

GROUP(use_own_cache, remove_cache)
