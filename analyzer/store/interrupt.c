/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define SIGNAL_COUNT (sizeof(signals) / sizeof(*signals))

/* What the handler needs; a handler has no other way to it. */
static struct {
	const char *volatile path; /* NULL: none is guarded */
	const char *volatile note; /* NULL: none */
	volatile pid_t owner;
	struct sigaction before[SIGNAL_COUNT];
} guarded;

/* Calls only what signal-safety(7) lists, and isatty(). */
static void stop(int number)
{
	static const char text[] = "cufence: interrupted\n", erase[] = "\r\033[K";

	if (guarded.path && guarded.owner == getpid()) {
		unlink(guarded.path);
		/* Nothing can be done about what cannot be written. */
		if ((isatty(STDERR_FILENO) && write(STDERR_FILENO, erase, strlen(erase)) < 0) ||
			write(STDERR_FILENO, text, strlen(text)) < 0 || (guarded.note &&
				write(STDERR_FILENO, guarded.note, strlen(guarded.note)) < 0))
			guarded.path = NULL;
	}
	/* The handler is gone (SA_RESETHAND), and the signal is not blocked (SA_NODEFER). */
	raise(number);
}

void interrupt_guard(const char *path)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESETHAND | SA_NODEFER };

	sigemptyset(&action.sa_mask);
	guarded.owner = getpid();
	guarded.path = path;
	for (size_t i = 0; i < SIGNAL_COUNT; i++) {
		sigaction(signals[i], NULL, &guarded.before[i]);
		if (guarded.before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void interrupt_unguard(void)
{
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i], &guarded.before[i], NULL);
	guarded.path = NULL;
}

void interrupt_note(const char *line)
{
	guarded.note = line;
}

void interrupt_hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

void interrupt_restore(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
