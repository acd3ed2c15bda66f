/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym as everybody else sees it.  The real one finds out who asks from its return address
 * (RTLD_NEXT), so the call has to reach it as a jump from here, whatever the compiler and its
 * options: hence assembly.
 */
	.text
	.globl	dlsym
	.type	dlsym, @function
dlsym:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	dlsym_answer
	testq	%rax, %rax
	jne	1f
	call	resolve_real_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
1:
	.cfi_adjust_cfa_offset 24
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
	.section .note.GNU-stack,"",@progbits
