/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile PTX, interpreted for a launch and for any; the same bytes as a mangled name. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mangled.h"
#include "ptx.h"

#define KERNELS 4
#define STEPS 3000

static void interpret(struct ptx_module *module, const struct ptx_launch *launch)
{
	size_t count = ptx_kernel_count(module);

	for (size_t i = 0; i < count && i < KERNELS; i++) {
		struct image_parameter parameter[8];
		struct ptx_access access;

		ptx_parameters(module, i, parameter, 8);
		ptx_interpret(module, i, launch, STEPS, &access);
		ptx_access_release(&access);
	}
}

static void use_name(const uint8_t *data, size_t size)
{
	struct mangled_type type[8];
	char *name = malloc(size + 3);

	if (!name)
		exit(2);
	memcpy(name, "_Z", 2);
	memcpy(name + 2, data, size);
	name[size + 2] = '\0';
	mangled_parameters(name, type, 8);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ptx_launch any;
	uint8_t value[64] = { 7, [8] = 100, [24] = 3 }, state[64];
	struct ptx_launch launch = {
		.grid = { 4, 2, 1 },
		.block = { 128, 1, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state,
	};
	char error[IMAGE_ERROR_SIZE], *text = malloc(size + 1);
	struct ptx_module *module;

	if (!text)
		exit(2);
	memset(state, PTX_KNOWN, sizeof(state));
	memset(state, PTX_POINTER, 8);
	memcpy(text, data, size);
	module = ptx_open(text, size, error);
	if (module) {
		interpret(module, &any);
		interpret(module, &launch);
	}
	ptx_close(module);
	free(text);
	use_name(data, size);
	return 0;
}

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
/* clang-format off */
static const char *const seeds[] = {
	HEADER ".global .align 4 .b8 table[16] = {1, 2};\n"
	".func (.param .b64 out) next(.param .b64 in)\n{\n.reg .b64 %rd<5>;\n"
	"ld.param.u64 %rd1, [in]; add.s64 %rd2, %rd1, 64; st.param.b64 [out], %rd2; ret;\n}\n"
	".visible .entry k(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24])\n{\n"
	".reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>;\n"
	".local .align 8 .b8 depot[32]; .shared .align 4 .b8 tile[64];\n"
	"ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;\n"
	"LOOP:\nmul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd2, %rd3;\n"
	"ld.global.nc.v2.f32 {%f1, %f2}, [%rd4]; st.global.f32 [%rd4+4], %f1;\n"
	"add.s32 %r5, %r5, 256; setp.lt.s32 %p2, %r5, %r1; @%p2 bra LOOP;\n"
	"mov.u64 %rd9, depot; ld.param.u64 %rd5, [s+8]; st.local.u64 [%rd9+8], %rd5;\n"
	"ld.local.u64 %rd6, [%rd9+8]; red.global.add.u32 [%rd6], 1;\n"
	"{ .param .b64 a; .param .b64 r; st.param.b64 [a], %rd6; call.uni (r), next, (a);\n"
	"ld.param.b64 %rd7, [r]; }\natom.global.add.u32 %r6, [%rd7], 1;\n"
	"DONE:\nret;\n}\n",
	HEADER ".entry k(.param .u64 p, .param .u64 q)\n{\n"
	".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
	"ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x;\n"
	"and.b32 %r2, %r1, 31; shr.u32 %r3, %r1, 5; or.b32 %r4, %r2, %r3; rem.u32 %r5, %r1, 7;\n"
	"div.s32 %r6, %r5, 3; min.s32 %r7, %r6, %r2; setp.lt.u32 %p1, %r7, 9;\n"
	"selp.b64 %rd3, %rd1, %rd2, %p1; @!%p1 st.f32 [%rd3], %r1;\n"
	"brx.idx %r2, T;\nT: .branchtargets A, B;\nA:\nmov.b64 {%r1, %r2}, %rd3; bra.uni C;\n"
	"B:\nsub.s64 %rd4, %rd1, %rd2; shl.b64 %rd5, %rd4, 3; not.b64 %rd6, %rd5;\n"
	"C:\ncp.async.cg.shared.global [%r1], [%rd1], 16; cvt.s64.s32 %rd7, %r1;\n"
	"neg.s64 %rd8, %rd7; ld.v4.u32 {%r1, %r2, %r3, %r4}, [%rd8]; exit;\n}\n",
};
/* clang-format on */

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	if (n >= sizeof(seeds) / sizeof(*seeds))
		return 0;
	seed->size = strlen(seeds[n]);
	seed->data = malloc(seed->size);
	if (!seed->data)
		return -1;
	memcpy(seed->data, seeds[n], seed->size);
	return 1;
}
