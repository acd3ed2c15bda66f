/* SPDX-License-Identifier: Apache-2.0 */
/* Built with -fsanitize=address by the Makefile: ASan has a pthread_create of its own. */
#include "ranges.c"
