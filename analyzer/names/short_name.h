/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of kernels that libraries launch: what they compute, with type and tile: "add
 * (elementwise, float)", "gemm (f16, 128x128x64)", "cub reduce (plus, float)".  Known are PyTorch's
 * kernels that apply a functor, products and convolutions of cuBLAS, cuDNN and CUTLASS, CUB and
 * Thrust, each by rows of a table.  Other names stay.
 */
#ifndef CUFENCE_SHORT_NAME_H
#define CUFENCE_SHORT_NAME_H

#define SHORT_NAME_MAX 128

struct long_name {
	const char *scope;     /* a return type, and namespaces with "::" at their end; "": none */
	const char *name;      /* without namespaces and template arguments */
	const char *arguments; /* of the template, without < and >; "": none */
};

/* Writes at most SHORT_NAME_MAX bytes, with the NUL.  Returns 0 if the name stays. */
int short_name(const struct long_name *kernel, char *text);

#endif
