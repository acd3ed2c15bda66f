/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator of PyTorch that a call belongs to, by the C++ functions on its stack: the outermost
 * one is what the program wrote.  at::_ops::NAME::call is aten::NAME (demangle_operator()).
 * PyTorch generates the other names, too: wrapper_CUDA_NAME, with an underscore more before a name
 * that begins with one, and NAMEBackward0.  An overload follows the name: add__Tensor is
 * add_.Tensor, mul_out_out is mul.out.
 */
#ifndef CUFENCE_OPERATORS_H
#define CUFENCE_OPERATORS_H

/* clang-format off */
#define OPERATOR_OF(site) \
	"(SELECT CASE WHEN fo.function GLOB 'wrapper_CUDA_*' THEN 'aten::' ||" \
	"  replace(replace(replace(" \
	"   substr(fo.function, 14 + (fo.function GLOB 'wrapper_CUDA___*'))," \
	"   '_out_out', '.out'), '_Tensor', '.Tensor'), '_Scalar', '.Scalar')" \
	" ELSE replace(fo.function, '_apply_functional', '') END" \
	" FROM frame fo JOIN module mo ON mo.id = fo.module" \
	" WHERE fo.site = " site " AND mo.path GLOB '*libtorch*' AND (fo.function GLOB 'aten::*'" \
	"  OR fo.function GLOB 'wrapper_CUDA_*' OR fo.function GLOB '*Backward[0-9]'" \
	"  OR fo.function GLOB '*Backward[0-9]_apply_functional')" \
	" ORDER BY fo.depth DESC LIMIT 1)"
/* ", aten::mm" after a text of that site, or the text alone. */
#define WITH_OPERATOR(text, site) text " || ifnull(', ' || " OPERATOR_OF(site) ", '')"
/* clang-format on */

#endif
