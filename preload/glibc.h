/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included in every file of the recorder by the Makefile.  The recorder is preloaded into programs
 * with any glibc since 2.31, so functions that got a new version in 2.34 are linked by their old
 * version.  In older versions they are in libdl and libpthread, which the library therefore names
 * as needed.
 */
#include "machine.h"

__asm__(".symver dlopen, dlopen@" MACHINE_OLD("2.2.5"));
__asm__(".symver dlsym, dlsym@" MACHINE_OLD("2.2.5"));
__asm__(".symver dlclose, dlclose@" MACHINE_OLD("2.2.5"));
__asm__(".symver dlvsym, dlvsym@" MACHINE_OLD("2.2.5"));
__asm__(".symver dladdr, dladdr@" MACHINE_OLD("2.2.5"));
__asm__(".symver dlmopen, dlmopen@" MACHINE_OLD("2.3.4"));
__asm__(".symver dlinfo, dlinfo@" MACHINE_OLD("2.3.3"));
__asm__(".symver pthread_getname_np, pthread_getname_np@" MACHINE_OLD("2.12"));
__asm__(".symver pthread_key_create, pthread_key_create@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_setspecific, pthread_setspecific@" MACHINE_OLD("2.2.5"));
