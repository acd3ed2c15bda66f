/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_user.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int starts_with_any(const char *text, const char *const *prefix)
{
	for (; *prefix; prefix++)
		if (!strncmp(text, *prefix, strlen(*prefix)))
			return 1;
	return 0;
}

/* python, python3 or python3.12: not a program that is called something with python. */
static int is_interpreter(const char *base)
{
	if (strncmp(base, "python", 6))
		return 0;
	return !base[6 + strspn(base + 6, "0123456789.")];
}

int module_is_library(const char *path)
{
	static const char *const libraries[] = { "libcublas", "libcudnn", "libcufft", "libcusparse",
		"libcusolver", "libcurand", "libcutensor", "libnccl", "libnvrtc", "libnvJitLink",
		"libnvToolsExt", "libnpp", "libnvjpeg", "libnvidia-", "libcufile", "libcudss",
		"libcudla", "libcustatevec", "libnvblas", "libnvcomp", "libnvfatbin", "libnvinfer",
		"libnvptxcompiler", "libnvshmem", "libnvvm.", NULL };

	return starts_with_any(base_of(path), libraries);
}

int module_is_runtime(const char *path)
{
	static const char *const runtimes[] = { "libcuda.", "libcudart.", "libcupti.",
		"libcufence.", NULL };

	return starts_with_any(base_of(path), runtimes);
}

int module_is_system(const char *path)
{
	static const char *const others[] = { "libpython", "libffi.", "_ctypes.", "libc.so",
		"libc-", "ld-linux", "ld-", "libpthread", "libdl.", "libdl-", "librt.", "libm.so",
		"libstdc++", "libgcc_s", "linux-vdso", "[vdso]", NULL };

	return module_is_runtime(path) || module_is_library(path) ||
		starts_with_any(base_of(path), others) || is_interpreter(base_of(path));
}

static int is_call_of_table(const char *symbol)
{
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		size_t length = strlen(call_types[i].name);
		const char *suffix = call_types[i].suffix;
		if (!call_types[i].runtime || strncmp(symbol, call_types[i].name, length))
			continue;
		if (!symbol[length] || (suffix && !strcmp(symbol + length, suffix)))
			return 1;
	}
	return 0;
}

/* Adds calls that the table lacks: by themselves they do not wait or submit, but may load code. */
static int is_runtime_call(const char *symbol)
{
	static const char *const beyond_the_table[] = { "cudaGetSymbol", "cudaLaunchKernelEx",
		"cudaOccupancy", NULL };

	return is_call_of_table(symbol) || starts_with_any(symbol, beyond_the_table);
}

/* C linkage only: a user's own cudaCheck(...) is mangled, or has a line in the user's file. */
const char *frame_runtime_name(const struct source_frame *frame)
{
	const char *symbol = frame->symbol ? frame->symbol : frame->name;

	if (!symbol || !strncmp(symbol, "_Z", 2))
		return NULL;
	if (is_runtime_call(symbol))
		return symbol;
	if (!frame->file && !strncmp(symbol, "cuda", 4) && isupper((unsigned char)symbol[4]))
		return symbol;
	return NULL;
}

static int is_internal_name(const char *symbol)
{
	static const char *const prefixes[] = { "__cuda", "__sti____cuda", "cudart::", "_ZN6cudart",
		"libcudart_static_", "__nv_", NULL };
	const char *plain = symbol;

	/*
	 * In whatever scope, by any linkage: _ZL27__device_stub__Z7stencilPKfPfm,
	 * _ZN12_GLOBAL__N_1L38__wrapper__device_stub_...
	 */
	if (strstr(symbol, "__device_stub_"))
		return 1;
	/* Without debug information names are mangled: _ZL25__cudaLaunchKernel_helper... */
	if (!strncmp(plain, "_Z", 2)) {
		plain += plain[2] == 'L' ? 3 : 2;
		plain += strspn(plain, "0123456789");
	}
	return starts_with_any(symbol, prefixes) || starts_with_any(plain, prefixes);
}

/*
 * The C++ wrappers of cuda_runtime.h, and closures in them, where no debug information tells their
 * file: in no namespace, and called like what they wrap: _ZL20cudaMemcpyFromSymbolIjE9cudaError...
 */
static int is_header_wrapper(const char *symbol)
{
	unsigned long length;
	char base[64], *name;
	const char *at;

	if (strncmp(symbol, "_Z", 2))
		return 0;
	at = symbol + 1 + strspn(symbol + 1, "Z");
	at += *at == 'L';
	length = isdigit((unsigned char)*at) ? strtoul(at, &name, 10) : 0;
	if (!length || length >= sizeof(base) || strnlen(name, length) < length)
		return 0;
	snprintf(base, sizeof(base), "%.*s", (int)length, name);
	return is_runtime_call(base);
}

/* Headers of the C++ library: .../include/c++/12/bits, .../include/x86_64-linux-gnu/c++/12/bits. */
static int is_library_header(const char *file)
{
	const char *include = strstr(file, "/include/");

	return include && strstr(include, "/c++/");
}

/*
 * Recognizes functions of the C++ library and of CUDA's C++ libraries (CCCL), wherever their
 * headers lie, and closures in them: _ZN6thrust6reduce..., _ZSt8for_each..., _ZZN3cub...  In
 * namespace cuda only std and names with the library's version count: a program may have a
 * namespace of that name.
 */
static int is_library_symbol(const char *symbol)
{
	static const char *const names[] = { "6thrust", "3cub", "4cuda3std", "4cuda3__", "4cuda4__",
		"9__gnu_cxx", "St", NULL };
	const char *at = symbol;

	if (strncmp(at, "_Z", 2))
		return 0;
	at += 1 + strspn(at + 1, "Z");
	if (!strncmp(at, "St", 2))
		return 1;
	if (*at != 'N')
		return 0;
	at += 1 + strspn(at + 1, "VKRO");
	/* Abbreviations of std::allocator, std::string and the like. */
	return starts_with_any(at, names) || (*at == 'S' && at[1] && strchr("absiod", at[1]));
}

static int is_cuda(const struct source_frame *frame)
{
	static const char *const headers[] = { "cuda_runtime", "cuda_device_runtime",
		"host_runtime.h", "device_functions", "nvToolsExt", "nvtx3.hpp", "nvtxImpl",
		"nvtxInit", NULL };
	const char *symbol = frame->symbol ? frame->symbol : frame->name;
	const char *file = frame->file ? base_of(frame->file) : NULL;

	if (file && (starts_with_any(file, headers) || strstr(file, ".cudafe1.")))
		return 1;
	if (symbol && !file && !strncmp(symbol, "cu", 2) && isupper((unsigned char)symbol[2]))
		return 1;
	if (symbol && !file && is_header_wrapper(symbol))
		return 1;
	return symbol &&
		(is_internal_name(symbol) || (frame->name && is_internal_name(frame->name)) ||
			frame_runtime_name(frame));
}

int symbol_is_cuda(const char *symbol)
{
	return is_cuda(&(struct source_frame){ .symbol = symbol });
}

int frame_is_library(const struct source_frame *frame)
{
	return frame->toolkit || (frame->file && is_library_header(frame->file)) ||
		(frame->symbol && is_library_symbol(frame->symbol)) || is_cuda(frame);
}
