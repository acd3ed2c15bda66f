/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that launches of graphs, batches and copies of rows touch, from the trace on. A check
 * is written as in "w100+8": written from address 0x100 on, 8 bytes. "~" stands before an access
 * that is not certain. "complete", "named" or "unknown" follows.
 */
#include "trace_text.h"

#include "access.h"

/* Two pieces of device memory, a graph and a stream. */
static const char memory[] =
	"call cuMemAlloc_v2 enter=10 duration=1 context=1 | ptr=0x1000 bytes=0x1000\n"
	"call cuMemAlloc_v2 enter=12 duration=1 context=1 | ptr=0x4000 bytes=0x1000\n"
	"call cuStreamCreate enter=14 duration=1 context=1 | new_stream=0x51 flags=0x1 "
	"priority=0x0\n"
	"call cuGraphCreate enter=16 duration=1 context=1 | new_graph=0x70 flags=0x0\n";

/* A memset of 16 bytes is a node of the graph, and its executable is launched at 100. */
#define NO_ARRAYS "dst_array=0x0 src_array=0x0 dst_position=0x0 src_position=0x0 "
#define SET(enter, node, graph, dst) \
	"call cuGraphAddMemsetNode enter=" #enter " duration=1 context=1 | new_node=" #node \
	" graph=" #graph " type=0x2 count=0x0 dst=" #dst \
	" value=0x0 bytes=0x10 dst_pitch=0x0 " \
	"width=0x10 height=0x1\n"
#define INSTANTIATE(enter, exec, graph) \
	"call cuGraphInstantiateWithFlags enter=" #enter " duration=1 context=1 | new_exec=" #exec \
	" graph=" #graph " flags=0x0\n"
#define LAUNCH(enter, exec) \
	"call cuGraphLaunch enter=" #enter " duration=1 context=1 | exec=" #exec " stream=0x51\n"

#define SECOND_GRAPH "call cuGraphCreate enter=40 duration=1 context=1 | new_graph=0x71 flags=0x0\n"
#define UPDATE(enter, exec, graph) \
	"call cuGraphExecUpdate_v2 enter=" #enter " duration=1 context=1 | exec=" #exec \
	" graph=" #graph "\n"

static struct db load(const char *body)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s%s", memory, body);
	return trace_text_load("test_load_graph", text);
}

/* Checks the last call, by a reader that was asked about all calls. */
static void check(const char *body, const char *wanted)
{
	struct db db = load(body);
	struct access_reader *reader = access_open(&db);
	const struct accesses *found = NULL;
	char text[1024] = "";
	size_t used = 0;

	for (int64_t call = 1; call <= db_int(&db, "SELECT max(id) FROM call", 0); call++)
		assert_non_null(found = access_read(reader, call));
	assert_non_null(found);
	for (size_t i = 0; i < found->count; i++) {
		const struct memory_access *access = &found->access[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%llx+%lld",
			access->exact && access->sure ? "" : "~",
			access->loose ? 'R' : "rwa?"[access->direction], (long long)access -> low,
			(long long)(access->high - access->low));
		if (access->stride_count)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "/%lld",
				(long long)access->run);
		for (int s = 0; s < access->stride_count; s++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "*%lld@%lld",
				(long long)access->stride[s].count,
				(long long)access->stride[s].bytes);
		used += (size_t)snprintf(text + used, sizeof(text) - used, " ");
	}
	snprintf(text + used, sizeof(text) - used, "%s",
		found->complete        ? "complete"
			: found->named ? "named"
				       : "unknown");
	assert_string_equal(text, wanted);
	access_close(reader);
	trace_text_finish(&db, "test_load_graph");
}

static void a_copy_of_rows_leaves_out_what_is_between(void **unused)
{
	check("call cuMemcpy2DAsync_v2 enter=50 duration=1 context=1 | dst=0x1000 src=0x4000 "
	      "bytes=0x40 direction=0x3 dst_pitch=0x80 src_pitch=0x10 width=0x10 "
	      "height=0x4 " NO_ARRAYS "stream=0x51\n",
		"w1000+400/16*4@128 r4000+64 complete");
	check("call cuMemcpy3DAsync_v2 enter=50 duration=1 context=1 | dst=0x1000 src=0x4000 "
	      "bytes=0x80 direction=0x3 dst_pitch=0x20 src_pitch=0x10 width=0x10 "
	      "height=0x4 " NO_ARRAYS "depth=0x2 dst_height=0x8 src_height=0x4 stream=0x51\n",
		"w1000+368/16*2@256*4@32 r4000+128 complete");
	check("call cuMemsetD2D8Async enter=50 duration=1 context=1 | dst=0x1000 value=0x0 "
	      "bytes=0x20 stream=0x51 dst_pitch=0x100 width=0x10 height=0x2\n",
		"w1000+272/16*2@256 complete");
}

static void a_batch_is_its_copies(void **unused)
{
	check("call cuMemcpyBatchAsync_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x2 "
	      "more=0x0 words=0x1000,0x1100,0x4000,0x4200,0x10,0x20\n",
		"w1000+16 w1100+32 r4000+16 r4200+32 complete");
	check("call cuMemcpyBatchAsync_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x1 "
	      "more=0x0 words=0x1000,0x900000,0x10\n",
		"w1000+16 unknown");
}

/* R: not in stream order.  An attribute holds from its first copy to that of the next one. */
static void copies_of_a_batch_may_read_their_sources_early(void **unused)
{
	const char *text =
		"call cuMemcpyBatchAsync_v2 enter=50 duration=1 context=1 | stream=0x51 "
		"count=0x3 more=0x8 words=0x1000,0x1100,0x1200,0x4000,0x4100,0x4200,"
		"0x10,0x10,0x10,0x%d,0x0,0x0,0x%d,0x0,0x0,0x0,0x2\n";
	char call[400];

	snprintf(call, sizeof(call), text, 1, 3);
	check(call, "w1000+16 w1100+16 w1200+16 r4000+16 r4100+16 R4200+16 complete");
	snprintf(call, sizeof(call), text, 2, 1);
	check(call, "w1000+16 w1100+16 w1200+16 r4200+16 R4000+16 R4100+16 complete");
	check("call cuMemcpy3DBatchAsync_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x0 "
	      "more=0xe words=0x1,0x4000,0x0,0x0,0x0,0x1,0x1000,0x40,0x4,0x0,0x10,0x2,0x2,0x3\n",
		"w1000+336/16*2@256*2@64 R4000+64 complete");
}

static void a_stream_touches_the_values_it_writes_and_waits_for(void **unused)
{
	check("call cuStreamWriteValue32_v2 enter=50 duration=1 context=1 | stream=0x51 ptr=0x1040 "
	      "value=0x1 flags=0x0 bytes=0x4\n",
		"w1040+4 complete");
	check("call cuStreamWaitValue64_v2 enter=50 duration=1 context=1 | stream=0x51 ptr=0x1040 "
	      "value=0x1 flags=0x0 bytes=0x8\n",
		"r1040+8 complete");
	/* Memory that nobody is known to have allocated may be anybody's. */
	check("call cuStreamWriteValue32_v2 enter=50 duration=1 context=1 | stream=0x51 "
	      "ptr=0x900000 value=0x1 flags=0x0 bytes=0x4\n",
		"unknown");
	/* A wait of 32 bits, a write of 64, a barrier; then a reduction, which is not decoded. */
	check("call cuStreamBatchMemOp_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x3 "
	      "flags=0x0 words=0x1,0x1040,0x1,0x0,0x0,0x0,0x5,0x4000,0x1,0x0,0x0,0x0,"
	      "0x6,0x0,0x0,0x0,0x0,0x0\n",
		"w4000+8 r1040+4 complete");
	check("call cuStreamBatchMemOp_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x1 "
	      "flags=0x0 words=0x8,0x0,0x1040,0x1,0x0,0x0\n",
		"unknown");
}

static void a_batch_of_boxes_is_their_rows(void **unused)
{
	/* src: pointer, row length 0; dst: pointer, rows of 64, layers of 4; 16 by 2 by 2. */
	check("call cuMemcpy3DBatchAsync_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x0 "
	      "more=0xe words=0x1,0x4000,0x0,0x0,0x0,0x1,0x1000,0x40,0x4,0x0,0x10,0x2,0x2,0x0\n",
		"w1000+336/16*2@256*2@64 r4000+64 complete");
	/* From an array, whose elements may have any size. */
	check("call cuMemcpy3DBatchAsync_v2 enter=50 duration=1 context=1 | stream=0x51 count=0x0 "
	      "more=0xe words=0x2,0x77,0x0,0x0,0x0,0x1,0x1000,0x40,0x4,0x0,0x10,0x2,0x2,0x0\n",
		"unknown");
}

static void a_launch_does_what_its_nodes_do(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) "call cuGraphAddMemcpyNode enter=22 duration=1 context=1 "
					  "| new_node=0x81 graph=0x70 "
					  "type=0x1 count=0x1 dst=0x4000 src=0x1000 bytes=0x40 "
					  "direction=0x3 dst_pitch=0x40 "
					  "src_pitch=0x40 width=0x40 height=0x1 " NO_ARRAYS
					  "depth=0x1 dst_height=0x1 src_height=0x1 "
					  "words=0x80\n" INSTANTIATE(30, 0x90, 0x70)
						  LAUNCH(100, 0x90),
		"w1000+16 w4000+64 r1000+64 complete");
}

static void a_launch_does_what_was_captured(void **unused)
{
	check("call cuStreamBeginCapture_v2 enter=20 duration=1 context=1 | stream=0x51 type=0x0\n"
	      "call cuMemsetD8Async enter=22 duration=1 context=1 | dst=0x1010 value=0x0 bytes=0x8 "
	      "stream=0x51\n"
	      "call cuStreamEndCapture enter=24 duration=1 context=1 | stream=0x51 "
	      "new_graph=0x71\n" INSTANTIATE(30, 0x90, 0x71) LAUNCH(100, 0x90),
		"w1010+8 complete");
}

static void nodes_added_later_are_not_in_the_executable(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) SET(40, 0x81, 0x70, 0x4000)
			LAUNCH(100, 0x90),
		"w1000+16 complete");
}

static void a_child_is_what_it_was_when_it_was_added(void **unused)
{
	check("call cuGraphCreate enter=18 duration=1 context=1 | new_graph=0x71 flags=0x0\n" SET(
		      20, 0x80, 0x71, 0x1000) "call cuGraphAddChildGraphNode enter=22 duration=1 "
					      "context=1 | new_node=0x81 "
					      "graph=0x70 type=0x4 count=0x0 handle=0x71\n" SET(
						      24, 0x82, 0x71, 0x4000)
						      INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w1000+16 complete");
}

#define NODE_SET(enter, node, dst) \
	"call cuGraphMemsetNodeSetParams enter=" #enter " duration=1 context=1 | node=" #node \
	" type=0x2 dst=" #dst " value=0x0 bytes=0x10 dst_pitch=0x0 width=0x10 height=0x1\n"
#define CHILD(enter, node, graph, child) \
	"call cuGraphAddChildGraphNode enter=" #enter " duration=1 context=1 | new_node=" #node \
	" graph=" #graph " type=0x4 count=0x0 handle=" #child "\n"
#define GIVE_CHILD(enter, node, graph) \
	"call cuGraphChildGraphNodeGetGraph enter=" #enter " duration=1 context=1 | node=" #node \
	" new_graph=" #graph "\n"
#define GRAPH(enter, graph) \
	"call cuGraphCreate enter=" #enter " duration=1 context=1 | new_graph=" #graph \
	" flags=0x0\n"
#define NODES(enter, graph, node) \
	"call cuGraphGetNodes enter=" #enter " duration=1 context=1 | graph=" #graph \
	" count=0x1 words=" #node "\n"

/* clang-format off */
#define ADD_NODE(enter, type, value, handle) \
	"call cuGraphAddNode_v2 enter=" #enter " duration=1 context=1 | ptr=0x0 bytes=0x0 " \
	"new_node=0x80 graph=0x70 type=" #type " count=0x0 function=0x0 grid=0x0 block=0x0 " \
	"dst=0x0 src=0x0 direction=0x0 dst_pitch=0x0 src_pitch=0x0 width=0x0 height=0x0 " \
	"depth=0x0 dst_height=0x0 src_height=0x0 " NO_ARRAYS "value=" #value \
	" event=0x0 callback=0x0 handle=" #handle " "
/* clang-format on */

static void a_child_that_was_set_in_the_executable_is_not_known(void **unused)
{
	check(GRAPH(18, 0x71) SET(20, 0x80, 0x71, 0x1000) CHILD(22, 0x81, 0x70, 0x71)
			INSTANTIATE(30, 0x90, 0x70) GRAPH(32, 0x72) SET(34, 0x82, 0x72, 0x4000)
				"call cuGraphExecChildGraphNodeSetParams enter=36 duration=1 "
				"context=1 | exec=0x90 node=0x81 type=0x4 handle=0x72\n"
				LAUNCH(100, 0x90),
		"~?1000+4096 unknown");
}

static void a_child_that_was_moved_may_change(void **unused)
{
	check(GRAPH(18, 0x71) SET(20, 0x83, 0x71, 0x1000)
			ADD_NODE(22, 0x4, 0x1, 0x71) "more=0x0\n" SET(24, 0x82, 0x71, 0x4000)
				INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w1000+16 w4000+16 complete");
	check(GRAPH(18, 0x71) SET(20, 0x83, 0x71, 0x1000)
			ADD_NODE(22, 0x4, 0x0, 0x71) "more=0x0\n" SET(24, 0x82, 0x71, 0x4000)
				INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w1000+16 complete");
}

/* The node's own, which the program was given, not the one that it was made from. */
static void a_child_that_was_given_out_may_change(void **unused)
{
	check(GRAPH(18, 0x71) SET(20, 0x80, 0x71, 0x1000) CHILD(22, 0x81, 0x70, 0x71) SET(23, 0x83,
		      0x71, 0x4200) GIVE_CHILD(24, 0x81, 0x72) SET(26, 0x82, 0x72, 0x4000)
			INSTANTIATE(30, 0x90, 0x70) SET(40, 0x84, 0x72, 0x4100) LAUNCH(100, 0x90),
		"w1000+16 w4000+16 complete");
	/* An executable that was made before is as it was. */
	check(GRAPH(18, 0x71) SET(20, 0x80, 0x71, 0x1000) CHILD(22, 0x81, 0x70, 0x71)
			INSTANTIATE(23, 0x90, 0x70) GIVE_CHILD(24, 0x81, 0x72)
				SET(26, 0x82, 0x72, 0x4000) LAUNCH(100, 0x90),
		"w1000+16 complete");
	/* Asked for twice it is the same one. */
	check(GRAPH(18, 0x71) SET(20, 0x80, 0x71, 0x1000) CHILD(22, 0x81, 0x70, 0x71) GIVE_CHILD(24,
		      0x81, 0x72) SET(26, 0x82, 0x72, 0x4000) GIVE_CHILD(28, 0x81, 0x72)
			SET(29, 0x85, 0x72, 0x4200) INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w1000+16 w4000+16 w4200+16 complete");
}

static void a_node_of_a_given_child_may_be_set(void **unused)
{
	check(GRAPH(18, 0x71) SET(20, 0x80, 0x71, 0x1000) CHILD(22, 0x81, 0x70, 0x71)
			GIVE_CHILD(24, 0x81, 0x72) NODES(25, 0x72, 0x8a) NODE_SET(26, 0x8a, 0x4000)
				INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w4000+16 complete");
	/* A copy of the parent keeps what the child was then. */
	check(GRAPH(18, 0x71) SET(20, 0x80, 0x71, 0x1000) CHILD(22, 0x81, 0x70, 0x71)
			GIVE_CHILD(24, 0x81, 0x72)
			"call cuGraphClone enter=25 duration=1 context=1 | new_graph=0x74 "
			"graph=0x70\n"
			SET(26, 0x82, 0x72, 0x4000) INSTANTIATE(30, 0x90, 0x74) LAUNCH(100, 0x90),
		"w1000+16 complete");
}

static void what_is_added_to_a_child_of_an_unknown_node_may_be_anywhere(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) GIVE_CHILD(24, 0x8f, 0x72) SET(26, 0x82, 0x72, 0x4000)
			INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w1000+16 unknown");
	check(SET(20, 0x80, 0x70, 0x1000) GIVE_CHILD(24, 0x8f, 0x72) INSTANTIATE(30, 0x90, 0x70)
			LAUNCH(100, 0x90),
		"w1000+16 complete");
}

static void the_bodies_of_a_condition_may_run(void **unused)
{
	check(ADD_NODE(20, 0xd, 0x0, 0x5) "more=0x1 words=0x71\n" SET(24, 0x81, 0x71, 0x4000)
			INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90),
		"~w4000+16 complete");
}

#define EXEC_SET(enter, exec, node, dst) \
	"call cuGraphExecMemsetNodeSetParams enter=" #enter " duration=1 context=1 | exec=" #exec \
	" node=" #node " type=0x2 dst=" #dst \
	" value=0x0 bytes=0x10 dst_pitch=0x0 width=0x10 " \
	"height=0x1\n"

static void a_node_that_was_set_does_something_else(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) NODE_SET(25, 0x80, 0x4000) INSTANTIATE(30, 0x90, 0x70)
			LAUNCH(100, 0x90),
		"w4000+16 complete");
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) NODE_SET(35, 0x80, 0x4000)
			LAUNCH(100, 0x90),
		"w1000+16 complete");
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70)
			EXEC_SET(35, 0x90, 0x80, 0x4000) LAUNCH(100, 0x90),
		"w4000+16 complete");
}

static void what_is_set_between_launches_counts_from_then_on(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) LAUNCH(33, 0x90)
			EXEC_SET(35, 0x90, 0x80, 0x4000) LAUNCH(100, 0x90),
		"w4000+16 complete");
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) LAUNCH(33, 0x90)
			SECOND_GRAPH SET(42, 0x82, 0x71, 0x4000) UPDATE(44, 0x90, 0x71)
				LAUNCH(100, 0x90),
		"w4000+16 complete");
}

static void another_executable_does_not_change(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) INSTANTIATE(32, 0x91, 0x70)
			EXEC_SET(35, 0x91, 0x80, 0x4000) LAUNCH(100, 0x90),
		"w1000+16 complete");
}

static void a_disabled_node_does_nothing(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000)
			INSTANTIATE(30, 0x90, 0x70) "call cuGraphNodeSetEnabled enter=35 "
						    "duration=1 context=1 | exec=0x90 node=0x80 "
						    "type=0x10000 value=0x0\n" LAUNCH(100, 0x90),
		"complete");
	check(SET(20, 0x80, 0x70, 0x1000)
			INSTANTIATE(30, 0x90, 0x70) "call cuGraphNodeSetEnabled enter=35 "
						    "duration=1 context=1 | exec=0x90 node=0x80 "
						    "type=0x10000 value=0x0\n"
						    "call cuGraphNodeSetEnabled enter=37 "
						    "duration=1 context=1 | exec=0x90 node=0x80 "
						    "type=0x10000 value=0x1\n" LAUNCH(100, 0x90),
		"w1000+16 complete");
}

static void an_update_replaces_everything(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70)
			EXEC_SET(35, 0x90, 0x80, 0x1100) SECOND_GRAPH SET(42, 0x82, 0x71, 0x4000)
				UPDATE(44, 0x90, 0x71) "call cuGraphDestroy enter=46 duration=1 "
						       "context=1 | graph=0x71\n" LAUNCH(100, 0x90),
		"w4000+16 complete");
}

static void an_update_names_the_memory_of_its_graph(void **unused)
{
	struct db db = load(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) LAUNCH(35, 0x90)
			SECOND_GRAPH SET(42, 0x82, 0x71, 0x4000) UPDATE(44, 0x90, 0x71)
				LAUNCH(100, 0x90));

	trace_text_expect(&db,
		"SELECT group_concat(allocation) FROM operand WHERE role = 'node' "
		"GROUP BY call",
		"1 2");
	trace_text_finish(&db, "test_load_graph");
}

static void an_update_that_failed_changes_nothing(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) SECOND_GRAPH SET(
		      42, 0x82, 0x71, 0x4000) "call cuGraphExecUpdate_v2 result=910 enter=44 "
					      "duration=1 context=1 | exec=0x90 "
					      "graph=0x71\n" LAUNCH(100, 0x90),
		"w1000+16 complete");
}

/* After an update it is not said which of the new nodes the old one stands for. */
static void what_was_set_somewhere_may_be_anywhere(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70)
			SECOND_GRAPH SET(42, 0x82, 0x71, 0x1100) UPDATE(44, 0x90, 0x71)
				EXEC_SET(46, 0x90, 0x80, 0x4000) LAUNCH(100, 0x90),
		"~w1100+16 ~w4000+16 complete");
}

static void a_clone_does_the_same(void **unused)
{
	check(SET(20, 0x80, 0x70, 0x1000) NODE_SET(22, 0x80,
		      0x4000) "call cuGraphClone enter=24 duration=1 context=1 | new_graph=0x71 "
			      "graph=0x70\n" INSTANTIATE(30, 0x90, 0x71) LAUNCH(100, 0x90),
		"w4000+16 complete");
	check(SET(20, 0x80, 0x70, 0x1000) "call cuGraphClone enter=24 duration=1 context=1 | "
					  "new_graph=0x71 graph=0x70\n"
					  "call cuGraphNodeFindInClone enter=26 duration=1 "
					  "context=1 | new_node=0x88 node=0x80 "
					  "graph=0x71\n" NODE_SET(28, 0x88, 0x4000)
						  INSTANTIATE(30, 0x90, 0x71) LAUNCH(100, 0x90),
		"w4000+16 complete");
}

static void a_single_captured_node_gets_its_handle(void **unused)
{
	check("call cuStreamBeginCapture_v2 enter=20 duration=1 context=1 | stream=0x51 type=0x0\n"
	      "call cuMemsetD8Async enter=22 duration=1 context=1 | dst=0x1010 value=0x0 bytes=0x8 "
	      "stream=0x51\n"
	      "call cuStreamEndCapture enter=24 duration=1 context=1 | stream=0x51 "
	      "new_graph=0x71\n"
	      "call cuGraphGetNodes enter=26 duration=1 context=1 | graph=0x71 count=0x1 "
	      "words=0x88\n" INSTANTIATE(30, 0x90, 0x71) EXEC_SET(35, 0x90, 0x88, 0x4000)
			LAUNCH(100, 0x90),
		"w4000+16 complete");
}

/* clang-format off */
static void an_address_is_what_lies_there_at_the_launch(void **unused)
{
	static const char body[] = SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(
		30, 0x90, 0x70) "call cuMemFree_v2 enter=40 duration=1 context=1 | ptr=0x1000\n"
				"call cuMemAlloc_v2 enter=42 duration=1 context=1 | ptr=0x1000 "
				"bytes=0x1000\n" LAUNCH(100, 0x90);
	struct db db = load(body);

	trace_text_expect(&db,
		"SELECT role || allocation FROM operand WHERE call = "
		"(SELECT max(id) FROM call)",
		"node3");
	trace_text_finish(&db, "test_load_graph");
	check(body, "w1000+16 complete");
}

/* clang-format on */
/* clang-format off */
static void what_is_not_known_of_a_graph_is_said(void **unused)
{
	/* Made before the trace. */
	check(LAUNCH(100, 0x99), "unknown");
	/* A host function may touch what the host sees. */
	check(SET(20, 0x80, 0x70, 0x1000) "call cuGraphAddHostNode enter=22 duration=1 context=1 | "
					  "new_node=0x81 graph=0x70 "
					  "type=0x3 count=0x0 callback=0x123 "
					  "handle=0x5\n" INSTANTIATE(
						  30, 0x90, 0x70) LAUNCH(100, 0x90),
		"w1000+16 named");
	check("call cuGraphAddBatchMemOpNode enter=20 duration=1 context=1 | new_node=0x80 "
	      "graph=0x70 type=0xc count=0x0 more=0x0\n" INSTANTIATE(30, 0x90, 0x70)
			LAUNCH(100, 0x90),
		"unknown");
}

/* clang-format on */
static void a_graph_names_an_allocation_once(void **unused)
{
	struct db db = load(SET(20, 0x80, 0x70, 0x1000) SET(21, 0x81, 0x70, 0x1100) SET(22, 0x82,
		0x70, 0x4000) INSTANTIATE(30, 0x90, 0x70) LAUNCH(100, 0x90) LAUNCH(110, 0x90));

	trace_text_expect(&db,
		"SELECT group_concat(allocation) FROM operand WHERE role = 'node' "
		"GROUP BY call",
		"1,2 1,2");
	trace_text_finish(&db, "test_load_graph");
}

/*
 * A thread is in a call that will be given the handle of an executable (graph, node) with which
 * another one still works, and which that one destroys.
 */
static void a_handle_is_not_yet_whose_call_will_get_it(void **unused)
{
	static const char launched[] =
		"SELECT o.call || ':' || printf('%x', o.address) FROM operand o "
		"WHERE o.role = 'node' ORDER BY o.call";
	struct db db = load(SET(20, 0x80, 0x70, 0x1000) INSTANTIATE(30, 0x90, 0x70) LAUNCH(100,
		0x90) "call cuGraphExecDestroy enter=110 duration=200 context=1 | exec=0x90\n"
		      "chunk thread=8\n"
		      "call cuGraphCreate enter=40 duration=1 context=1 | new_graph=0x71 "
		      "flags=0x0\n" SET(42, 0x81, 0x71, 0x4000)
		      "call cuGraphInstantiateWithFlags enter=50 duration=100 context=1 | "
		      "new_exec=0x90 graph=0x71 flags=0x0\n" LAUNCH(160, 0x90));

	trace_text_expect(&db, launched, "10:1000 12:4000");
	trace_text_expect(&db, "SELECT ifnull(destroyed, 'never') FROM graph_exec ORDER BY id",
		"11 never");
	trace_text_finish(&db, "test_load_graph");

	db = load(SET(60, 0x80, 0x70, 0x1000) INSTANTIATE(70, 0x90,
		0x70) "call cuGraphDestroy enter=80 duration=1 context=1 | graph=0x70\n"
		      "chunk thread=8\n"
		      "call cuGraphCreate enter=50 duration=50 context=1 | new_graph=0x70 "
		      "flags=0x0\n" SET(110, 0x80, 0x70, 0x4000) INSTANTIATE(120, 0x91, 0x70)
			      LAUNCH(130, 0x91) LAUNCH(140, 0x90));
	trace_text_expect(&db, launched, "11:4000 12:1000");
	trace_text_expect(&db, "SELECT ifnull(destroyed, 'never') FROM graph ORDER BY id",
		"8 never");
	trace_text_finish(&db, "test_load_graph");
}

static void memory_of_a_graph_is_an_allocation(void **unused)
{
	struct db db = load(
		"call cuGraphAddMemAllocNode enter=20 duration=1 context=1 | ptr=0x9000 "
		"bytes=0x100 new_node=0x80 graph=0x70 type=0xa count=0x0\n" SET(
			22, 0x81, 0x70, 0x9000) INSTANTIATE(30, 0x90, 0x70)
			LAUNCH(100, 0x90) "call cuMemFreeAsync enter=110 duration=1 context=1 | "
					  "ptr=0x9000 stream=0x51\n" LAUNCH(120, 0x90));

	trace_text_expect(&db,
		"SELECT a.memory FROM operand o JOIN allocation a "
		"ON a.id = o.allocation WHERE o.role = 'node'",
		"graph graph");
	trace_text_finish(&db, "test_load_graph");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_of_rows_leaves_out_what_is_between),
		cmocka_unit_test(a_batch_is_its_copies),
		cmocka_unit_test(a_stream_touches_the_values_it_writes_and_waits_for),
		cmocka_unit_test(a_batch_of_boxes_is_their_rows),
		cmocka_unit_test(copies_of_a_batch_may_read_their_sources_early),
		cmocka_unit_test(a_launch_does_what_its_nodes_do),
		cmocka_unit_test(a_launch_does_what_was_captured),
		cmocka_unit_test(nodes_added_later_are_not_in_the_executable),
		cmocka_unit_test(a_child_is_what_it_was_when_it_was_added),
		cmocka_unit_test(a_child_that_was_given_out_may_change),
		cmocka_unit_test(a_child_that_was_set_in_the_executable_is_not_known),
		cmocka_unit_test(a_child_that_was_moved_may_change),
		cmocka_unit_test(a_node_of_a_given_child_may_be_set),
		cmocka_unit_test(what_is_added_to_a_child_of_an_unknown_node_may_be_anywhere),
		cmocka_unit_test(the_bodies_of_a_condition_may_run),
		cmocka_unit_test(a_node_that_was_set_does_something_else),
		cmocka_unit_test(what_is_set_between_launches_counts_from_then_on),
		cmocka_unit_test(another_executable_does_not_change),
		cmocka_unit_test(a_disabled_node_does_nothing),
		cmocka_unit_test(an_update_replaces_everything),
		cmocka_unit_test(an_update_names_the_memory_of_its_graph),
		cmocka_unit_test(an_update_that_failed_changes_nothing),
		cmocka_unit_test(what_was_set_somewhere_may_be_anywhere),
		cmocka_unit_test(a_clone_does_the_same),
		cmocka_unit_test(a_single_captured_node_gets_its_handle),
		cmocka_unit_test(an_address_is_what_lies_there_at_the_launch),
		cmocka_unit_test(what_is_not_known_of_a_graph_is_said),
		cmocka_unit_test(a_graph_names_an_allocation_once),
		cmocka_unit_test(a_handle_is_not_yet_whose_call_will_get_it),
		cmocka_unit_test(memory_of_a_graph_is_an_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
