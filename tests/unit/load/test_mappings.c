/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that no call allocates: what is mapped, what is of other processes, variables. */
#include "trace_text.h"

/* 2 MiB each; times are tens of ns. */
#define RESERVE(at, address, pieces) \
	"call cuMemAddressReserve enter=" #at "0 duration=1 context=1 | ptr=" #address \
	" bytes=0x" #pieces "00000\n"
#define MAP(at, address, handle) \
	"call cuMemMap enter=" #at "0 duration=1 context=1 | ptr=" #address \
	" bytes=0x200000 handle=" #handle "\n"
#define UNMAP(at, address) \
	"call cuMemUnmap enter=" #at "0 duration=1 context=1 | ptr=" #address " bytes=0x200000\n"

static void expect(const char *body, const char *sql, const char *wanted)
{
	struct db db = trace_text_load("test_mappings", body);

	trace_text_expect(&db, sql, wanted);
	trace_text_finish(&db, "test_mappings");
}

static const char aliases[] =
	"SELECT allocation || ':' || same || '+' || (shift / 0x200000) FROM alias "
	"ORDER BY allocation";

static void pieces_of_a_reservation_are_one(void **state)
{
	(void)state;
	expect(RESERVE(10, 0x10000000, 8) MAP(11, 0x10000000, 0x1) MAP(12, 0x10200000, 0x2)
			MAP(13, 0x10400000, 0x3),
		aliases, "2:1+1 3:1+2");
	/* Not those after a hole, nor those of the next reservation. */
	expect(RESERVE(10, 0x10000000, 8) RESERVE(11, 0x10800000, 8) MAP(12, 0x10000000, 0x1)
			MAP(13, 0x10400000, 0x2) MAP(14, 0x10600000, 0x3) MAP(15, 0x10800000, 0x4),
		aliases, "3:2+1");
	/* The first one is mapped anew. */
	expect(RESERVE(10, 0x10000000, 8) MAP(11, 0x10000000, 0x1) MAP(12, 0x10200000, 0x2)
			UNMAP(13, 0x10000000) MAP(14, 0x10000000, 0x3),
		aliases, "2:1+1 3:1+0");
	/* Before the trace, or by addresses that a map call wants: nobody reserved them. */
	expect(MAP(11, 0x10000000, 0x1) MAP(12, 0x10200000, 0x2), aliases, "");
}

static void memory_is_known_by_its_first_mapping(void **state)
{
	(void)state;
	/* A ring of two pieces, twice, and another piece after them. */
	expect(RESERVE(10, 0x10000000, a) MAP(11, 0x10000000, 0x1) MAP(12, 0x10200000, 0x2)
			MAP(13, 0x10400000, 0x1) MAP(14, 0x10600000, 0x2) MAP(15, 0x10800000, 0x3),
		aliases, "2:1+1 3:1+0 4:1+1");
	/* The handle was given to other memory. */
	expect(RESERVE(10, 0x10000000, a) MAP(11, 0x10000000, 0x1)
			"call cuMemRelease enter=120 duration=1 context=1 | handle=0x1\n"
			"call cuMemCreate enter=130 duration=1 context=1 | handle=0x1 "
			"bytes=0x200000 device=0\n" MAP(14, 0x10800000, 0x1),
		aliases, "");
	/* A retained or imported allocation is the original one. */
	expect(RESERVE(10, 0x10000000, a) MAP(11, 0x10000000, 0x1)
			"call cuMemRetainAllocationHandle enter=120 duration=1 context=1 | "
			"handle=0x1 bytes=0x0 device=-1 ptr=0x0\n" MAP(14, 0x10800000, 0x1),
		aliases, "2:1+0");
	/* The address says which, if the handle does not. */
	expect(RESERVE(10, 0x10000000, a) MAP(11, 0x10000000, 0x1)
			"call cuMemRetainAllocationHandle enter=120 duration=1 context=1 | "
			"handle=0x7 bytes=0x0 device=-1 ptr=0x10000000\n" MAP(14, 0x10800000, 0x7),
		aliases, "2:1+0");
}

#define OPEN(at) \
	"call cuIpcOpenMemHandle_v2 enter=" #at " duration=1 context=1 | ptr=0x100 bytes=0x40\n"
#define CLOSE(at) "call cuIpcCloseMemHandle enter=" #at " duration=1 context=1 | ptr=0x100\n"

static void memory_of_others_is_there_until_closed_as_often_as_opened(void **state)
{
	(void)state;
	expect(OPEN(100) OPEN(110) CLOSE(120) CLOSE(130) OPEN(140),
		"SELECT memory || ' ' || created || '-' || ifnull(freed, '') FROM allocation "
		"ORDER BY id",
		"imported 1-4 imported 5-");
}

/* "cudaErrorHostMemoryAlreadyRegistered": the first registration stays. */
static void pages_are_registered_once(void **state)
{
	(void)state;
	expect("call cuMemHostRegister_v2 enter=100 duration=1 context=1 | ptr=0x1000 "
	       "bytes=0x2000 flags=0x0 handle=0x0\n"
	       "call cuMemHostRegister_v2 enter=110 duration=1 result=712 context=1 | ptr=0x1000 "
	       "bytes=0x1000 flags=0x0 handle=0x0\n"
	       "call cuMemHostUnregister enter=120 duration=1 context=1 | ptr=0x1000\n"
	       "call cuMemHostRegister_v2 enter=130 duration=1 context=1 | ptr=0x1000 "
	       "bytes=0x1000 flags=0x0 handle=0x0\n",
		"SELECT memory || ' ' || bytes || ' ' || created || '-' || ifnull(freed, '') "
		"FROM allocation ORDER BY id",
		"registered 8192 1-3 registered 4096 4-");
}

static const char twins[] =
	"SELECT ifnull(group_concat(allocation || ':' || other || "
	"ifnull('+' || (shift / 0x1000), '?'), ' '), '') FROM twin ORDER BY allocation, other";

#define UNREGISTER(at, address) \
	"call cuMemHostUnregister enter=" #at "0 duration=1 context=1 | ptr=" #address "\n"
/* The handle says which pages of which file they are. */
#define REGISTER(at, address, file, page) \
	"call cuMemHostRegister_v2 enter=" #at "0 duration=1 context=1 | ptr=" #address \
	" bytes=0x2000 flags=0x0 handle=0x" #file "00000000" #page "\n"

static void pages_of_a_file_are_registered_at_several_addresses(void **state)
{
	(void)state;
	/* The second and the third page, those, and others. */
	expect(REGISTER(10, 0x10000, 77, 01) REGISTER(11, 0x20000, 77, 02) REGISTER(12, 0x30000, 77,
		       01) REGISTER(13, 0x40000, 77, 09) REGISTER(14, 0x50000, 78, 01),
		twins, "2:1+1 3:1+0 3:2+-1");
	expect(REGISTER(10, 0x10000, 77, 01) UNREGISTER(11, 0x10000) REGISTER(12, 0x30000, 77, 01),
		twins, "");
}

/* Mappings beyond a limit are compared with none: that is a row of table loss. */
static void mappings_that_were_left_out_are_said(void **state)
{
	enum { MAPPINGS = 1030 };
	char *body = NULL;
	size_t size;
	FILE *out = open_memstream(&body, &size);

	(void)state;
	assert_non_null(out);
	for (int i = 0; i < MAPPINGS; i++)
		fprintf(out,
			"%scall cuMemHostRegister_v2 enter=%d duration=1 context=1 | ptr=0x%x "
			"bytes=0x2000 flags=0x0 handle=0x%x00000001\n",
			i % 500 ? "" : "chunk thread=7\n", 100 + 10 * i, 0x10000 * (i + 1),
			0x1000 + i);
	fclose(out);
	expect(body, "SELECT reason || ' ' || count FROM loss WHERE reason LIKE 'alias%'",
		"aliases_left_out 6");
	free(body);
}

#define MULTICAST(at, handle) \
	"call cuMulticastCreate enter=" #at "0 duration=1 context=1 | handle=" #handle \
	" bytes=0x200000 device=-1\n"
#define RELEASE(at, handle) \
	"call cuMemRelease enter=" #at "0 duration=1 context=1 | handle=" #handle "\n"
#define CREATE(at, handle) \
	"call cuMemCreate enter=" #at "0 duration=1 context=1 | handle=" #handle \
	" bytes=0x200000 device=0\n"
#define BIND(at, handle, into, memory_handle, from) \
	"call cuMulticastBindMem enter=" #at "0 duration=1 context=1 | handle=" #handle \
	" value=" #into " memory=" #memory_handle " offset=" #from " bytes=0x200000\n"

static void a_multicast_object_is_all_that_is_bound_to_it(void **state)
{
	static const char wanted[] = "3:1+0 3:2+16";

	(void)state;
	expect(MULTICAST(10, 0x9) MAP(11, 0x10000000, 0x1) MAP(12, 0x20000000, 0x2) BIND(13, 0x9,
		       0x0, 0x1, 0x0) BIND(14, 0x9, 0x0, 0x2, 0x10000) MAP(15, 0x30000000, 0x9),
		twins, wanted);
	/* Bound once it is mapped. */
	expect(MULTICAST(10, 0x9) MAP(11, 0x10000000, 0x1) MAP(12, 0x20000000, 0x2)
			MAP(13, 0x30000000, 0x9) BIND(14, 0x9, 0x0, 0x1, 0x0)
				BIND(15, 0x9, 0x0, 0x2, 0x10000),
		twins, wanted);
	/* The memory is mapped last. */
	expect(MULTICAST(10, 0x9) BIND(11, 0x9, 0x1000, 0x1, 0x0) MAP(12, 0x30000000, 0x9)
			MAP(13, 0x10000000, 0x1),
		twins, "1:2+-1");
	/* By its address, from the second page on. */
	expect(MULTICAST(10, 0x9) MAP(11, 0x10000000, 0x1)
			"call cuMulticastBindAddr enter=120 duration=1 context=1 | "
			"ptr=0x10001000 handle=0x9 value=0x0 bytes=0x1000\n"
		MAP(13, 0x30000000, 0x9),
		twins, "2:1+1");
	/* The handle of what is bound goes before the object is mapped. */
	expect(MULTICAST(10, 0x9) MAP(11, 0x10000000, 0x1) BIND(12, 0x9, 0x0, 0x1, 0x0) RELEASE(13,
		       0x1) CREATE(14, 0x1) MAP(15, 0x20000000, 0x1) MAP(16, 0x30000000, 0x9),
		twins, "3:1+0");
	/* Memory, and another object, with the handle that an object had. */
	expect(MULTICAST(10, 0x9) MAP(11, 0x10000000, 0x1) BIND(12, 0x9, 0x0, 0x1, 0x0)
			RELEASE(13, 0x9) CREATE(14, 0x9) MAP(15, 0x30000000, 0x9),
		twins, "");
	expect(MULTICAST(10, 0x9) MAP(11, 0x30000000, 0x9) RELEASE(12, 0x9) MULTICAST(13, 0x9)
			MAP(14, 0x10000000, 0x1) BIND(15, 0x9, 0x0, 0x1, 0x0),
		twins, "");
}

#define IMPORT(at, handle) \
	"call cuMemImportFromShareableHandle enter=" #at \
	"0 duration=1 context=1 | handle=" #handle " bytes=0x0 device=-1\n"

/* Memory imported twice may or may not be the same. So may memory that the process exported. */
static void memory_of_others_may_be_any_of_theirs(void **state)
{
	(void)state;
	expect(IMPORT(10, 0x1) IMPORT(11, 0x2) MAP(12, 0x10000000, 0x1) MAP(13, 0x20000000, 0x2)
			MAP(14, 0x30000000, 0x3),
		twins, "2:1?");
	expect(IMPORT(10, 0x1)
			"call cuMemExportToShareableHandle enter=110 duration=1 context=1 | "
			"handle=0x2\n" MAP(12, 0x10000000, 0x2) MAP(13, 0x20000000, 0x1),
		twins, "2:1?");
}

/* The variables of a library have a name and a size, as those of a module have. */
static void a_managed_variable_is_memory_with_a_name(void **state)
{
	(void)state;
	expect("call cuLibraryGetManaged enter=100 duration=1 context=1 | ptr=0x100 bytes=0x40 "
	       "module=0x7 name=0x99\n"
	       "call cuLibraryGetManaged enter=110 duration=1 context=1 | ptr=0x100 bytes=0x40 "
	       "module=0x7 name=0x99\n",
		"SELECT memory || ' ' || bytes || ' ' || ifnull(freed, '') FROM allocation",
		"variable 64 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_a_reservation_are_one),
		cmocka_unit_test(memory_is_known_by_its_first_mapping),
		cmocka_unit_test(memory_of_others_is_there_until_closed_as_often_as_opened),
		cmocka_unit_test(pages_are_registered_once),
		cmocka_unit_test(pages_of_a_file_are_registered_at_several_addresses),
		cmocka_unit_test(mappings_that_were_left_out_are_said),
		cmocka_unit_test(a_multicast_object_is_all_that_is_bound_to_it),
		cmocka_unit_test(memory_of_others_may_be_any_of_theirs),
		cmocka_unit_test(a_managed_variable_is_memory_with_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
