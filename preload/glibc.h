/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included into every file of the recorder by the Makefile: it is preloaded into programs of any
 * glibc since 2.31, so functions that 2.34 gave a new version are asked for by their old one.
 * There they live in libdl and libpthread, which the library therefore names as needed.
 */
#if defined(__x86_64__) && defined(__linux__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlvsym, dlvsym@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dlinfo, dlinfo@GLIBC_2.3.3");
__asm__(".symver pthread_getname_np, pthread_getname_np@GLIBC_2.12");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");
#endif
