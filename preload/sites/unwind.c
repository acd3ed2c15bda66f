/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind.h"

#include <dlfcn.h>
#include <ucontext.h>

#include "resolve.h"
#include "shim.h"
#include "system.h"

#define FRAME_POINTER 6
#define STACK_POINTER 7
#define BIT(number) (1u << (number))
/* rbx, rbp, rsp, r12 to r15: callee-saved; other values are lost in a call. */
#define KEPT (BIT(3) | BIT(FRAME_POINTER) | BIT(STACK_POINTER) | 0xf000u)
#define PAGE 4096u

/* libgcc's internal declaration. */
struct bases {
	void *text, *data, *function;
};
static const void *(*find_rules)(void *, struct bases *);

void unwind_init(void)
{
	void *library = find_rules ? NULL : dlopen("libgcc_s.so.1", RTLD_LAZY);

	if (library)
		*(void **)&find_rules = resolve_real_dlsym()(library, "_Unwind_Find_FDE");
}

static int is_readable(struct unwinder *unwinder, uintptr_t address)
{
	if (address / PAGE == unwinder->page)
		return 1;
	if (address % sizeof(uint64_t) || !system_readable(address))
		return 0;
	unwinder->page = address / PAGE;
	return 1;
}

static int read_word(struct unwinder *unwinder, uintptr_t address, uint64_t *word)
{
	if (address % sizeof(*word) || !is_readable(unwinder, address))
		return -1;
	*word = *(const volatile uint64_t *)address;
	return 0;
}

static int read_register(const struct unwinder *unwinder, uint64_t number, uint64_t *word)
{
	if (number >= UNWIND_REGISTERS || !(unwinder->known & BIT(number)))
		return -1;
	*word = unwinder->value[number];
	return 0;
}

/*
 * Supports expressions that compilers write for realigned frames, and the C library for signal
 * frames.
 */
static int evaluate(struct unwinder *unwinder, const uint8_t *expression, uint64_t *value)
{
	struct cfi_cursor cursor = { expression, expression + 16 };

	for (cursor = read_block(&cursor); cursor.at < cursor.end;) {
		unsigned operation = (unsigned)read_bytes(&cursor, 1);

		if (operation >= 0x70 && operation <= 0x7f) { /* breg */
			if (read_register(unwinder, operation - 0x70, value))
				return -1;
			*value += (uint64_t)read_signed(&cursor);
		} else if (operation == 0x06) { /* deref */
			if (read_word(unwinder, *value, value))
				return -1;
		} else if (operation == 0x23) { /* plus_uconst */
			*value += read_unsigned(&cursor);
		} else {
			return -1;
		}
	}
	return 0;
}

static int find_frame(struct unwinder *unwinder, const struct rule *rule, uint64_t *frame)
{
	if (rule->how == IS_EXPRESSION)
		return evaluate(unwinder, rule->expression, frame);
	if (rule->how != IN || read_register(unwinder, rule->number, frame))
		return -1;
	*frame += (uint64_t)rule->offset;
	return 0;
}

/*
 * Finds the caller's value of a column.  Returns 0, or -1 if unknown. *slot: its stack address, 0:
 * none.
 */
static int find_value(struct unwinder *unwinder, const struct rule *rule, uint64_t frame,
	uint64_t *value, uintptr_t *slot)
{
	*slot = 0;
	switch (rule->how) {
	case AT:
		*slot = frame + (uint64_t)rule->offset;
		return read_word(unwinder, *slot, value);
	case IS:
		*value = frame + (uint64_t)rule->offset;
		return 0;
	case IN:
		return read_register(unwinder, rule->number, value);
	case AT_EXPRESSION:
		if (evaluate(unwinder, rule->expression, slot))
			return -1;
		return read_word(unwinder, *slot, value);
	case IS_EXPRESSION:
		return evaluate(unwinder, rule->expression, value);
	default:
		return -1;
	}
}

/* Continues at an address; 0 if it is not code: the end of a stack may contain anything. */
static int arrive(struct unwinder *unwinder, uint64_t address, uintptr_t slot)
{
	struct bases bases = { NULL, NULL, NULL };

	unwinder->address = address;
	unwinder->slot = slot;
	unwinder->rules = address ? find_rules((void *)(address - !unwinder->exact), &bases) : NULL;
	unwinder->start = (uintptr_t)bases.function;
	return address && (unwinder->rules || is_readable(unwinder, address & ~(uintptr_t)7));
}

int unwind_begin(struct unwinder *unwinder, uintptr_t frame, struct frame_rules_space *space)
{
	const uint64_t *word = (const uint64_t *)frame;

	*unwinder = (struct unwinder){ .page = frame / PAGE,
		.space = space,
		.known = BIT(FRAME_POINTER) | BIT(STACK_POINTER) };
	unwinder->value[FRAME_POINTER] = word[0];
	unwinder->value[STACK_POINTER] = frame + 2 * sizeof(*word);
	return find_rules && arrive(unwinder, word[1], frame + sizeof(*word));
}

int unwind_begin_at(struct unwinder *unwinder, const void *context, struct frame_rules_space *space)
{
	/* In DWARF's order. */
	static const uint8_t places[UNWIND_REGISTERS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX,
		REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
		REG_R13, REG_R14, REG_R15 };
	const greg_t *from = ((const ucontext_t *)context)->uc_mcontext.gregs;

	*unwinder = (struct unwinder){ .page = UINTPTR_MAX,
		.space = space,
		.known = BIT(UNWIND_REGISTERS) - 1,
		.exact = 1 };
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
		unwinder->value[i] = (uint64_t)from[places[i]];
	return find_rules && arrive(unwinder, (uint64_t)from[REG_RIP], 0);
}

/* Sets the registers to the caller's values. */
static void leave(struct unwinder *unwinder, const struct frame_rules *rules, uint64_t frame,
	int whole)
{
	struct unwinder inner = *unwinder;
	uintptr_t slot;

	if (!whole)
		unwinder->known &= KEPT;
	unwinder->value[STACK_POINTER] = frame;
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
		if (rules->of[i].how == SAME)
			continue;
		unwinder->known &= ~BIT(i);
		if (!find_value(&inner, &rules->of[i], frame, &unwinder->value[i], &slot))
			unwinder->known |= BIT(i);
	}
}

int unwind_step(struct unwinder *unwinder)
{
	uint64_t where = unwinder->address - !unwinder->exact - unwinder->start;
	const struct frame_rules *rules = &unwinder->space->rules;
	uint64_t frame, address;
	uintptr_t slot;

	if (!unwinder->rules || frame_rules_find(unwinder->space, unwinder->rules, where) ||
		find_frame(unwinder, &rules->frame, &frame) ||
		find_value(unwinder, &rules->of[RULES_RETURN_ADDRESS], frame, &address, &slot))
		return 0;
	/* Stacks grow downwards; only a signal handler may have a separate stack. */
	if (!rules->is_signal && frame <= unwinder->value[STACK_POINTER])
		return 0;
	leave(unwinder, rules, frame, rules->is_signal);
	unwinder->exact = rules->is_signal;
	return arrive(unwinder, address, slot);
}
