/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define SIGNAL_COUNT (sizeof(signals) / sizeof(*signals))

/* State of the signal handler, which takes no argument of ours. */
static struct {
	const char *volatile path; /* NULL: none is guarded */
	volatile size_t parts;     /* files PATH.0, PATH.1 and so on that are guarded with it */
	const char *volatile note; /* NULL: none */
	volatile pid_t owner;
	volatile sig_atomic_t silent;
	volatile sig_atomic_t stopping;
	struct sigaction before[SIGNAL_COUNT];
} guarded;

/* As all here, in a signal handler: makes each name by itself. */
static void remove_files(void)
{
	char name[4096], digits[24];
	size_t length = strlen(guarded.path);

	unlink(guarded.path);
	for (size_t part = 0; part < guarded.parts && length + sizeof(digits) < sizeof(name);
		part++) {
		char *digit = digits + sizeof(digits) - 1;
		size_t rest = part;

		*digit = 0;
		do
			*--digit = (char)('0' + rest % 10);
		while (rest /= 10);
		*--digit = '.';
		memcpy(name, guarded.path, length);
		memcpy(name + length, digit, (size_t)(digits + sizeof(digits) - digit));
		unlink(name);
	}
}

/*
 * Calls only functions of signal-safety(7), and isatty().  A process may get its signal twice, once
 * itself and once with its group, as timeout(1) sends it: the second signal must not end the
 * process before the first has been handled.
 */
static void stop(int number)
{
	static const char text[] = "cufence: interrupted\n", erase[] = "\r\033[K";

	if (guarded.stopping)
		return;
	guarded.stopping = 1;
	if (guarded.path && guarded.owner == getpid()) {
		remove_files();
		/* A failed write cannot be reported. */
		if (!guarded.silent &&
			((isatty(STDERR_FILENO) &&
				 write(STDERR_FILENO, erase, strlen(erase)) < 0) ||
				write(STDERR_FILENO, text, strlen(text)) < 0 ||
				(guarded.note &&
					write(STDERR_FILENO, guarded.note, strlen(guarded.note)) <
						0)))
			guarded.path = NULL;
	}
	signal(number, SIG_DFL);
	/* It is blocked until this handler returns, and ends the process then. */
	raise(number);
}

/* Whoever calls exit() while a file is being written (containers/memory.h) leaves none. */
static void remove_at_exit(void)
{
	if (guarded.owner != getpid())
		return;
	if (guarded.path)
		remove_files();
	if (guarded.note)
		fputs(guarded.note, stderr);
}

static void own(void)
{
	static int registered;

	if (!registered)
		registered = !atexit(remove_at_exit);
	guarded.owner = getpid();
}

void interrupt_guard(const char *path)
{
	struct sigaction action = { .sa_handler = stop };

	own();
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaddset(&action.sa_mask, signals[i]);
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
	guarded.parts = 0;
}

void interrupt_guard_parts(size_t count)
{
	guarded.parts = count;
}

void interrupt_child(const char *path)
{
	guarded.path = path;
	guarded.parts = 0;
	guarded.note = NULL;
	guarded.silent = 1;
	guarded.owner = getpid();
}

void interrupt_note(const char *line)
{
	own();
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
