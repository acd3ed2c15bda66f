/* SPDX-License-Identifier: Apache-2.0 */
/* What x86-64 exports in assembly (export.h). */
#if defined(__x86_64__)
#include "export.h"

	.text
	.macro	find name, number
	.type	find_\name, @function
find_\name:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	movl	$\number, %edi
	call	clock_find
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	find_\name, .-find_\name
	.endm

	.macro	reads_clock name, number
	find	\name, \number
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	endbr64
	movq	this_thread@gottpoff(%rip), %rax
	cmpl	$0, %fs:ARMED(%rax)
	jne	1f
	jmp	*clock_reals+8*\number(%rip)
1:
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rdi
	pushq	%rsi
	movq	%rbp, %rdi
	call	clock_noticed
	popq	%rsi
	popq	%rdi
	popq	%rbp
	.cfi_restore %rbp
	.cfi_def_cfa %rsp, 8
	jmp	*clock_reals+8*\number(%rip)
	.cfi_endproc
	.size	\name, .-\name
	.endm

	.text
	reads_clock clock_gettime, 0
	reads_clock gettimeofday, 1
	reads_clock time, 2
	reads_clock clock, 3
	reads_clock timespec_get, 4
	find	prctl, 5
	.globl	prctl
	.type	prctl, @function
prctl:
	.cfi_startproc
	endbr64
	cmpl	$SET_SECCOMP, %edi
	je	1f
	cmpl	$SET_NO_NEW_PRIVS, %edi
	je	1f
	jmp	*clock_reals+8*5(%rip)
1:
	movl	$1, usage_forbidden(%rip)
	jmp	*clock_reals+8*5(%rip)
	.cfi_endproc
	.size	prctl, .-prctl

	.section .data.rel.local, "aw"
	.globl	clock_reals
	.hidden	clock_reals
	.balign	8
	.type	clock_reals, @object
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
	.section .note.GNU-stack,"",@progbits
