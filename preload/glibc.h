/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included in every file of the recorder by the Makefile.  The recorder is preloaded into programs
 * with any glibc since 2.31, so functions that got a new version in 2.34 are linked by their old
 * version.  In older versions they are in libdl and libpthread, which the library therefore names
 * as needed.
 */
#if defined(__x86_64__) && defined(__linux__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlvsym, dlvsym@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dlmopen, dlmopen@GLIBC_2.3.4");
__asm__(".symver dlinfo, dlinfo@GLIBC_2.3.3");
__asm__(".symver pthread_getname_np, pthread_getname_np@GLIBC_2.12");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");
#endif
