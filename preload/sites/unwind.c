/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind.h"

#include <dlfcn.h>

#include "resolve.h"
#include "shim.h"
#include "system.h"

#define FRAME_POINTER MACHINE_FRAME_POINTER
#define STACK_POINTER MACHINE_STACK_POINTER
#define BIT(number) (1u << (number))
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

		if (operation >= 0x70 && operation <= 0x8f) { /* breg */
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

int unwind_begin_at(struct unwinder *unwinder, const void *context, struct frame_rules_space *space)
{
	*unwinder = (struct unwinder){ .page = UINTPTR_MAX,
		.space = space,
		.known = UINT32_MAX >> (32 - UNWIND_REGISTERS),
		.exact = 1 };
	return find_rules && arrive(unwinder, machine_registers(context, unwinder->value), 0);
}

/* Sets the registers to the caller's values. */
static void leave(struct unwinder *unwinder, const struct frame_rules *rules, uint64_t frame,
	int whole)
{
	struct unwinder inner = *unwinder;
	uintptr_t slot;

	if (!whole)
		unwinder->known &= MACHINE_KEPT; /* others are lost in a call */
	unwinder->value[STACK_POINTER] = frame;
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
		if (rules->of[i].how == SAME)
			continue;
		unwinder->known &= ~BIT(i);
		if (!find_value(&inner, &rules->of[i], frame, &unwinder->value[i], &slot))
			unwinder->known |= BIT(i);
	}
}

/* As find_value(); a function that has not saved the address yet may have it in a register. */
static int find_return(struct unwinder *unwinder, const struct rule *rule, uint64_t frame,
	uint64_t *address, uintptr_t *slot)
{
	*slot = 0;
	if (rule->how == SAME && unwinder->exact)
		return read_register(unwinder, RULES_RETURN_ADDRESS, address);
	return find_value(unwinder, rule, frame, address, slot);
}

int unwind_step(struct unwinder *unwinder)
{
	uint64_t where = unwinder->address - !unwinder->exact - unwinder->start;
	const struct frame_rules *rules = &unwinder->space->rules;
	uint64_t frame, address;
	uintptr_t slot;

	if (!unwinder->rules || frame_rules_find(unwinder->space, unwinder->rules, where) ||
		find_frame(unwinder, &rules->frame, &frame) ||
		find_return(unwinder, &rules->of[RULES_RETURN_ADDRESS], frame, &address, &slot))
		return 0;
	/*
	 * Stacks grow downwards; only a signal handler may have a separate stack, and only an
	 * interrupted function need not have used its own.
	 */
	if (!rules->is_signal && frame < unwinder->value[STACK_POINTER] + !unwinder->exact)
		return 0;
	leave(unwinder, rules, frame, rules->is_signal);
	unwinder->exact = rules->is_signal;
	return arrive(unwinder, machine_address(address), slot);
}

#if MACHINE_FRAME_ENDS
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
#else
/* Through the recorder's own functions, up to the wrapper: its frame does not say where it ends. */
int unwind_begin(struct unwinder *unwinder, uintptr_t frame, struct frame_rules_space *space)
{
	uint64_t address;

	*unwinder =
		(struct unwinder){ .page = frame / PAGE, .space = space, .known = MACHINE_KEPT };
	address = machine_here(unwinder->value);
	if (!find_rules || !arrive(unwinder, address, 0))
		return 0;
	while (unwinder->value[STACK_POINTER] <= frame)
		if (!unwind_step(unwinder))
			return 0;
	return 1;
}
#endif
