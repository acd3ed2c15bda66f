/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64 (machine.h). */
#ifndef CUFENCE_MACHINE_X86_64_H
#define CUFENCE_MACHINE_X86_64_H

#define MACHINE_REGISTERS 16
#define MACHINE_FRAME_POINTER 6
#define MACHINE_STACK_POINTER 7
#define MACHINE_RETURN_ADDRESS 16
#define MACHINE_COLUMNS 17
/* rbx, rbp, rsp, r12 to r15 */
#define MACHINE_KEPT (1u << 3 | 1u << 6 | 1u << 7 | 0xf000u)
#define MACHINE_FRAME_ENDS 1
#define MACHINE_OLD(version) "GLIBC_" version
#define MACHINE_CLOCK_SOURCE "tsc\n"

MACHINE_INLINE uint64_t machine_counter(void)
{
	return __builtin_ia32_rdtsc();
}

MACHINE_INLINE void machine_pause(void)
{
	__builtin_ia32_pause();
}

MACHINE_INLINE uintptr_t machine_registers(const ucontext_t *context,
	uint64_t value[MACHINE_REGISTERS])
{
	/* In DWARF's order. */
	static const uint8_t places[MACHINE_REGISTERS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX,
		REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
		REG_R13, REG_R14, REG_R15 };

	for (unsigned i = 0; i < MACHINE_REGISTERS; i++)
		value[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

MACHINE_INLINE uintptr_t machine_stack_pointer(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

MACHINE_INLINE int machine_wrote(const ucontext_t *context)
{
	return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

MACHINE_INLINE uint64_t machine_address(uint64_t address)
{
	return address;
}

MACHINE_INLINE void machine_on_stack(void *end, void (*function)(void *arg), void *arg)
{
	/* rbx is kept by the function that is called. */
	__asm__ volatile(
		"mov %%rsp, %%rbx\n\t"
		"mov %[end], %%rsp\n\t"
		"call *%[function]\n\t"
		"mov %%rbx, %%rsp"
		: [end] "+r"(end), [function] "+r"(function), "+D"(arg)
		:
		: "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
		"xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
		"xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

MACHINE_INLINE long machine_system_call(long number, const long argument[6])
{
	register long r10 __asm__("r10") = argument[3];
	register long r8 __asm__("r8") = argument[4];
	register long r9 __asm__("r9") = argument[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(argument[0]), "S"(argument[1]), "d"(argument[2]),
			 "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * Its request RUNNING_ON_VALGRIND (valgrind.h): rotations by 128 bits in all, which change nothing
 * elsewhere.
 */
MACHINE_INLINE int machine_on_valgrind(void)
{
	uint64_t request[6] = { 0x1001 }, answer = 0;

	__asm__ volatile(
		"rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi;"
		"xchgq %%rbx, %%rbx"
		: "+d"(answer)
		: "a"(request)
		: "cc", "memory");
	return answer != 0;
}

#endif
