/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the recorder knows about the processor: x86_64.h and aarch64.h with the same names, and
 * x86_64.S and aarch64.S, which export the clocks and prctl; the files named _dlsym.S export dlsym,
 * also of libcufence-fix.so.  Nothing here allocates, calls the C library or changes errno; any
 * thread may call it at any time, also in a signal handler.
 *
 *	MACHINE_REGISTERS            general registers, in DWARF's numbering
 *	MACHINE_FRAME_POINTER, MACHINE_STACK_POINTER  their numbers
 *	MACHINE_RETURN_ADDRESS       its column in call frame information
 *	MACHINE_COLUMNS              columns that are followed; others are skipped
 *	MACHINE_KEPT                 bit per register that a function restores before it returns
 *	MACHINE_OLD(version)         version of a function of the C library that x86-64 has since
 *	                             that version
 *	MACHINE_CLOCK_SOURCE         the kernel's name of the counter, with its newline
 *
 *	machine_counter()            ticks of a counter that all processors share
 *	machine_pause()              in a loop that waits
 *	machine_registers()          copies those of an interrupted context, and returns its address
 *	machine_stack_pointer()      of an interrupted context
 *	machine_wrote()              1: the access that faulted was a write
 *	machine_address()            a return address without its signature
 *	machine_on_stack()           calls a function on another stack, whose end is given
 *	machine_system_call()        as the kernel is called: -4095 to -1 are errors
 *	machine_on_valgrind()        1: valgrind runs the program
 *
 * A wrapper's frame begins with two words on both: the frame pointer and the return address of its
 * caller.  MACHINE_FRAME_ENDS is 1 if the caller's stack pointer is above these two words, else
 * machine_here() has the registers of its own caller, from where the stack is unwound.
 */
#ifndef CUFENCE_MACHINE_H
#define CUFENCE_MACHINE_H

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define MACHINE_INLINE static inline __attribute__((always_inline, unused))

#if defined(__x86_64__)
#include "x86_64.h"
#elif defined(__aarch64__)
#include "aarch64.h"
#else
#error "this machine needs a header of its own"
#endif

#endif
