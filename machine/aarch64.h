/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit Arm (machine.h). */
#ifndef CUFENCE_MACHINE_AARCH64_H
#define CUFENCE_MACHINE_AARCH64_H

/* x0 to x30, and the stack pointer. */
#define MACHINE_REGISTERS 32
#define MACHINE_FRAME_POINTER 29
#define MACHINE_STACK_POINTER 31
#define MACHINE_RETURN_ADDRESS 30
#define MACHINE_COLUMNS 32
/* x19 to x29, sp */
#define MACHINE_KEPT (0x3ff80000u | 1u << 31)
#define MACHINE_FRAME_ENDS 0
/* The first glibc for this machine. */
#define MACHINE_OLD(version) "GLIBC_2.17"
#define MACHINE_CLOCK_SOURCE "arch_sys_counter\n"

MACHINE_INLINE uint64_t machine_counter(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

MACHINE_INLINE void machine_pause(void)
{
	__asm__ volatile("yield");
}

MACHINE_INLINE uintptr_t machine_registers(const ucontext_t *context,
	uint64_t value[MACHINE_REGISTERS])
{
	for (unsigned i = 0; i < MACHINE_STACK_POINTER; i++)
		value[i] = context->uc_mcontext.regs[i];
	value[MACHINE_STACK_POINTER] = context->uc_mcontext.sp;
	return context->uc_mcontext.pc;
}

/* Of the function that this one is inlined in; those that it may have changed are unknown. */
MACHINE_INLINE uintptr_t machine_here(uint64_t value[MACHINE_REGISTERS])
{
	uintptr_t address;

	__asm__ volatile(
		"stp x19, x20, [%[value], #152]\n\t"
		"stp x21, x22, [%[value], #168]\n\t"
		"stp x23, x24, [%[value], #184]\n\t"
		"stp x25, x26, [%[value], #200]\n\t"
		"stp x27, x28, [%[value], #216]\n\t"
		"mov %[address], sp\n\t"
		"str x29, [%[value], #232]\n\t"
		"str %[address], [%[value], #248]\n\t"
		"adr %[address], ."
		: [address] "=&r"(address)
		: [value] "r"(value)
		: "memory");
	return address;
}

MACHINE_INLINE uintptr_t machine_stack_pointer(const ucontext_t *context)
{
	return context->uc_mcontext.sp;
}

/* The kernel appends the syndrome register to the context; WnR tells of a data abort. */
MACHINE_INLINE int machine_wrote(const ucontext_t *context)
{
	const uint8_t *at = (const uint8_t *)context->uc_mcontext.__reserved;
	const uint8_t *end = at + sizeof(context->uc_mcontext.__reserved);

	while (at + sizeof(struct esr_context) <= end) {
		const struct _aarch64_ctx *part = (const struct _aarch64_ctx *)(const void *)at;

		if (part->magic == ESR_MAGIC)
			return (((const struct esr_context *)(const void *)at)->esr >> 6) & 1;
		if (!part->magic || part->size < sizeof(*part))
			return 0;
		at += part->size;
	}
	return 0;
}

MACHINE_INLINE uint64_t machine_address(uint64_t address)
{
	register uint64_t link __asm__("x30") = address;

	/* xpaclri; processors without signatures do nothing. */
	__asm__("hint #7" : "+r"(link));
	return link;
}

MACHINE_INLINE void machine_on_stack(void *end, void (*function)(void *arg), void *arg)
{
	register void *first __asm__("x0") = arg;

	/* x19 is kept by the function that is called. */
	__asm__ volatile(
		"mov x19, sp\n\t"
		"mov sp, %[end]\n\t"
		"blr %[function]\n\t"
		"mov sp, x19"
		: [end] "+r"(end), [function] "+r"(function), "+r"(first)
		:
		: "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
		"x14", "x15", "x16", "x17", "x18", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5",
		"v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
		"v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
		"v30", "v31", "memory", "cc");
}

MACHINE_INLINE long machine_system_call(long number, const long argument[6])
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = argument[0];
	register long x1 __asm__("x1") = argument[1];
	register long x2 __asm__("x2") = argument[2];
	register long x3 __asm__("x3") = argument[3];
	register long x4 __asm__("x4") = argument[4];
	register long x5 __asm__("x5") = argument[5];

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

/* As for x86-64, by rotations of x12. */
MACHINE_INLINE int machine_on_valgrind(void)
{
	uint64_t request[6] = { 0x1001 };
	register uint64_t answer __asm__("x3") = 0;
	register uint64_t *at __asm__("x4") = request;

	__asm__ volatile(
		"ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61;"
		"orr x10, x10, x10"
		: "+r"(answer)
		: "r"(at)
		: "cc", "memory");
	return answer != 0;
}

#endif
