/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"

#include <stdio.h>
#include <stdlib.h>

#include "lower_internal.h"

int lower_refuse(struct lower *lower, const char *why)
{
	lower->failed = 1;
	return ptx_refuse(lower->function, why);
}

/* Adds variables for the parameter buffer, the thread's stack and shared memory. */
static int add_variables(struct lower *lower)
{
	struct ptx_function *function = lower->function;

	function->variable = calloc(3, sizeof(*function->variable));
	if (!function->variable)
		return lower_refuse(lower, "out of memory");
	function->variable_count = function->variable_room = 3;
	function->variable[0] = (struct ptx_variable){ .kind = VARIABLE_PARAMETER };
	function->variable[1] = (struct ptx_variable){ .kind = VARIABLE_LOCAL };
	function->variable[2] = (struct ptx_variable){ .kind = VARIABLE_SHARED };
	function->parameter_bytes = lower->kernel->parameter_bytes;
	function->parameter_base = lower->kernel->parameter_base;
	return 0;
}

static const struct machine_function *find_kernel(const struct machine_code *code,
	const struct ptx_function *function)
{
	for (size_t i = 0; i < code->function_count; i++)
		if (code->function[i].name == function->name)
			return &code->function[i];
	return NULL;
}

static int lower_kernel(struct ptx_module *module, struct ptx_function *function)
{
	struct lower lower = { .module = module, .function = function, .code = module->source };
	const struct machine_function *kernel = find_kernel(lower.code, function);
	int rc = -1;

	if (!kernel)
		return ptx_refuse(function, "code that is not there");
	lower.kernel = &lower.code->section[kernel->section];
	if (!lower.kernel->parameter_base && lower.kernel->parameter_bytes)
		return ptx_refuse(function, "parameters that are not known");
	if (lower.kernel->parameter_bytes > PTX_PARAMETER_LIMIT)
		return ptx_refuse(function, "too large");
	if (!add_variables(&lower) && !lower_find_blocks(&lower, kernel->section, kernel->offset) &&
		!lower_find_names(&lower) && !lower_code(&lower))
		rc = ptx_make_flow(function);
	for (size_t i = 0; lower.leader && i < lower.code->section_count; i++)
		free(lower.leader[i]);
	for (size_t i = 0; lower.decoded && i < lower.code->section_count; i++)
		free(lower.decoded[i]);
	free(lower.leader);
	free(lower.decoded);
	free(lower.context);
	free(lower.block);
	free(lower.slot);
	free(lower.next);
	free(lower.parent);
	free(lower.uses);
	free(lower.reg);
	free(lower.alias);
	free(lower.only);
	free(lower.kept);
	free(lower.copied);
	return rc;
}

static void close_source(struct ptx_module *module)
{
	machine_code_close(module->source);
	free(module->source);
}

static int add_kernels(struct ptx_module *module, const struct machine_code *code)
{
	module->kernel = calloc(code->function_count + 1, sizeof(*module->kernel));
	if (!module->kernel)
		return -1;
	for (size_t i = 0; i < code->function_count; i++) {
		const struct machine_function *kernel = &code->function[i];
		uint32_t number;

		if (!kernel->is_kernel)
			continue;
		if (PTX_ROOM(module->function, module->function_room, module->function_count))
			return -1;
		number = ptx_names_add(&module->functions, kernel->name, strlen(kernel->name), 0);
		if (number != module->function_count)
			continue;
		module->function[number] = (struct ptx_function){
			.name = kernel->name,
			.length = strlen(kernel->name),
			.is_kernel = 1,
			.has_body = 1,
		};
		module->kernel[module->kernel_count++] = module->function_count++;
	}
	return 0;
}

struct ptx_module *machine_open(const void *cubin, size_t size, unsigned arch,
	char error[IMAGE_ERROR_SIZE])
{
	struct ptx_module *module = calloc(1, sizeof(*module));
	struct machine_code *code = calloc(1, sizeof(*code));

	if (!module || !code) {
		free(module);
		free(code);
		snprintf(error, IMAGE_ERROR_SIZE, "out of memory");
		return NULL;
	}
	if (machine_code_open(code, cubin, size, arch, error)) {
		free(module);
		free(code);
		return NULL;
	}
	module->arch = arch;
	module->source = code;
	module->read = lower_kernel;
	module->close = close_source;
	if (!add_kernels(module, code))
		return module;
	snprintf(error, IMAGE_ERROR_SIZE, "out of memory");
	ptx_close(module);
	return NULL;
}
