/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks that other code reads, and prctl.  Each is a test and a jump to the C library's
 * function: programs read clocks millions of times a second, in signal handlers, in children of
 * vfork(), and before any constructor has run.  Until usage.c has found the functions, or if it
 * never does, the table's entries find theirs at the first call.
 *
 * A clock: is struct thread_state.armed of this thread set?  Then clock_noticed() is told, with the
 * frame address of the function, as of a wrapper.  prctl: a program that prepares or sets a seccomp
 * filter (PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP) may forbid what the recorder reads.
 */
#define ARMED 64 /* offset of struct thread_state.armed: checked in usage.c */
#define SET_SECCOMP 22
#define SET_NO_NEW_PRIVS 38

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
	.section .note.GNU-stack,"",@progbits
