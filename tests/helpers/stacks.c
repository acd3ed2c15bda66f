/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls CUDA on its own stacks, like coroutines: one that ends with an invalid return address, and
 * one, at the same addresses, that ends where the first one continued.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "driver_calls.h"

#define PAGE 4096
#define BYTES (16 * PAGE)

static void *outside, *inside;
static uintptr_t frame;
static int result;

/*
 * Saves callee-saved registers, then the stack pointer in *from, and continues at the saved state
 * *to.
 */
void change(void **from, void *to);
__asm__(".text\n"
	".type change, @function\n"
	"change:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, (%rdi)\n	movq %rsi, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbx\n	popq %rbp\n"
	"	ret\n");

__attribute__((noinline)) static void ask(void)
{
	frame = (uintptr_t)__builtin_frame_address(0);
	result |= cuda.query(NULL);
}

__attribute__((noinline)) static void ask_below_much(void)
{
	volatile char much[2 * PAGE];

	much[0] = 1;
	ask();
	result &= much[0] * -1;
}

static void ask_shortly(void)
{
	ask();
	change(&inside, outside);
}

static void ask_far_down(void)
{
	ask_below_much();
	change(&inside, outside);
}

/* Runs function on the stack below top, which has its return address. */
static void call_on(char *top, void (*function)(void), uintptr_t address)
{
	void **place = (void **)(top - 64);

	*--place = (void *)address;
	*--place = (void *)function;
	for (int i = 0; i < 6; i++)
		*--place = NULL;
	inside = place;
	change(&outside, inside);
}

int main(void)
{
	char *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = stack + BYTES, *top = end, *rest;
	uintptr_t far;

	cuda_find();
	printf("%d ", cuda_begin());
	call_on(top, ask_shortly, 0xdeaddeaddeaddead);
	printf("%d ", result);
	/* Twice: the second time the stack slots of return addresses are stored. */
	call_on(top, ask_far_down, 0);
	call_on(top, ask_far_down, 0);
	far = frame;
	call_on(top, ask_shortly, 0);
	top -= frame - far;
	rest = stack + (top - stack + PAGE - 1) / PAGE * PAGE;
	munmap(rest, (size_t)(end - rest));
	call_on(top, ask_shortly, 0);
	printf("%d%s\n", result, frame == far ? "" : ", not where it should be");
	return 0;
}
