/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym for 64-bit Arm, in assembly (export.h). */
#if defined(__aarch64__)
	.text
	.globl	shim_dlsym
	.globl	shim_dlsym_old
	.symver	shim_dlsym, dlsym@@GLIBC_2.34
	.symver	shim_dlsym_old, dlsym@GLIBC_2.17
	.type	shim_dlsym, %function
	.type	shim_dlsym_old, %function
shim_dlsym:
shim_dlsym_old:
	.cfi_startproc
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	bl	dlsym_answer
	cbnz	x0, 1f
	bl	resolve_next_dlsym
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_remember_state
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	br	x16
1:
	.cfi_restore_state
	ldp	x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	shim_dlsym, .-shim_dlsym
	.size	shim_dlsym_old, .-shim_dlsym_old
#endif
	.section .note.GNU-stack,"",%progbits
