/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym for x86-64, in assembly (export.h). */
#if defined(__x86_64__)
	.text
	.globl	shim_dlsym
	.globl	shim_dlsym_old
	.symver	shim_dlsym, dlsym@@GLIBC_2.34
	.symver	shim_dlsym_old, dlsym@GLIBC_2.2.5
	.type	shim_dlsym, @function
	.type	shim_dlsym_old, @function
shim_dlsym:
shim_dlsym_old:
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
	call	resolve_next_dlsym
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
	.size	shim_dlsym, .-shim_dlsym
	.size	shim_dlsym_old, .-shim_dlsym_old
#endif
	.section .note.GNU-stack,"",@progbits
