/* SPDX-License-Identifier: Apache-2.0 */
/* Built with -fsanitize=address by the Makefile. */
#include "lifecycle.c"
