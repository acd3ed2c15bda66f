/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included in every file of the simulated device by the Makefile.  The Python wheel runs with any
 * glibc since 2.31, so functions that got a new version in 2.34 are linked by their old version
 * (preload/glibc.h does the same for the recorder).
 */
#include "machine.h"

__asm__(".symver dlopen, dlopen@" MACHINE_OLD("2.2.5"));
__asm__(".symver dlsym, dlsym@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_create, pthread_create@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_getcpuclockid, pthread_getcpuclockid@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_join, pthread_join@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_key_create, pthread_key_create@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_once, pthread_once@" MACHINE_OLD("2.2.5"));
__asm__(".symver pthread_setspecific, pthread_setspecific@" MACHINE_OLD("2.2.5"));
