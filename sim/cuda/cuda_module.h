/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of a module's code other than its kernels. */
#ifndef CUFENCE_SIM_MODULE_H
#define CUFENCE_SIM_MODULE_H

#include "cuda_state.h"
#include "image.h"

struct module_variable;

#define SIM_ARCH 90 /* of every simulated device */

struct module {
	struct context *context; /* NULL: a library, which has none */
	uint32_t arch;           /* of its code: 90 for sm_90; 0: unknown */
	struct function *functions;
	struct module_variable *variables;
};

/*
 * Adds a function with that mangled name, ignoring the kernel's own name.  Adds none if the arena
 * is full.
 */
void module_add_kernel(struct module *module, const struct image_kernel *kernel, const char *name,
	size_t length);

/* The variables of a cubin, with their initial values; NULL if there are none. */
struct module_variable *cubin_variables(const void *cubin, size_t size);
void variables_free(struct module_variable *variables);

/* Returns the address of a variable, whose memory, device or managed, is allocated at first use. */
CUresult variable_find(struct module_variable *variables, struct device *device,
	enum memory_place place, const char *name, CUdeviceptr *ptr, size_t *bytes);

/* The architecture that PTX text is for: 90 for sm_90; 0: it does not say. */
uint32_t ptx_arch(const char *text, size_t size);

/* Adds the entry points of PTX text. */
void ptx_functions(struct module *module, const char *text, size_t size);

#endif
