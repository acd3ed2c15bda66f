/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of module loading: what a module's code says besides its kernels. */
#ifndef CUFENCE_SIM_MODULE_H
#define CUFENCE_SIM_MODULE_H

#include "cuda_state.h"
#include "image.h"

struct module_variable;

struct module {
	struct context *context; /* NULL: a library, which is of none */
	struct function *functions;
	struct module_variable *variables;
};

/* A function of that mangled name, the kernel's own left aside.  None when the arena is full. */
void module_add_kernel(struct module *module, const struct image_kernel *kernel, const char *name,
	size_t length);

/* The variables of a cubin, with their initial values; NULL if there are none. */
struct module_variable *cubin_variables(const void *cubin, size_t size);
void variables_free(struct module_variable *variables);

/* Address of a variable, which gets its memory, device or managed, at the first look. */
CUresult variable_find(struct module_variable *variables, struct device *device,
	enum memory_place place, const char *name, CUdeviceptr *ptr, size_t *bytes);

/* Adds the entry points of PTX text. */
void ptx_functions(struct module *module, const char *text, size_t size);

#endif
