/* SPDX-License-Identifier: Apache-2.0 */
/* What 64-bit Arm exports in assembly (export.h). */
#if defined(__aarch64__)
#include "export.h"

	.text
	/* Jumps to the real function of a number. */
	.macro	jump number
	adrp	x16, clock_reals+8*\number
	ldr	x16, [x16, #:lo12:clock_reals+8*\number]
	br	x16
	.endm

	.macro	find name, number
	.type	find_\name, %function
find_\name:
	.cfi_startproc
	hint	#36 /* bti j */
	stp	x29, x30, [sp, #-64]!
	.cfi_def_cfa_offset 64
	.cfi_offset x29, -64
	.cfi_offset x30, -56
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	str	x4, [sp, #48]
	mov	w0, #\number
	bl	clock_find
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldr	x4, [sp, #48]
	ldp	x29, x30, [sp], #64
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	find_\name, .-find_\name
	.endm

	.macro	reads_clock name, number
	find	\name, \number
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	hint	#34 /* bti c */
	mrs	x9, tpidr_el0
	adrp	x10, :gottprel:this_thread
	ldr	x10, [x10, #:gottprel_lo12:this_thread]
	add	x9, x9, x10
	ldr	w9, [x9, #ARMED]
	cbnz	w9, 1f
	jump	\number
1:
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	mov	x0, x29
	bl	clock_noticed
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	jump	\number
	.cfi_endproc
	.size	\name, .-\name
	.endm

	reads_clock clock_gettime, 0
	reads_clock gettimeofday, 1
	reads_clock time, 2
	reads_clock clock, 3
	reads_clock timespec_get, 4
	find	prctl, 5
	.globl	prctl
	.type	prctl, %function
prctl:
	.cfi_startproc
	hint	#34 /* bti c */
	cmp	w0, #SET_SECCOMP
	beq	1f
	cmp	w0, #SET_NO_NEW_PRIVS
	beq	1f
	jump	5
1:
	mov	w9, #1
	adrp	x10, usage_forbidden
	str	w9, [x10, #:lo12:usage_forbidden]
	jump	5
	.cfi_endproc
	.size	prctl, .-prctl

	.section .data.rel.local, "aw"
	.globl	clock_reals
	.hidden	clock_reals
	.balign	8
	.type	clock_reals, %object
clock_reals:
	.quad	find_clock_gettime
	.quad	find_gettimeofday
	.quad	find_time
	.quad	find_clock
	.quad	find_timespec_get
	.quad	find_prctl
	.size	clock_reals, .-clock_reals
	.hidden	usage_forbidden
	.hidden	this_thread
#endif
	.section .note.GNU-stack,"",%progbits
