/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "traced.h"

static volatile sig_atomic_t ended;

static void note_end(int signal)
{
	(void)signal;
	ended = 1;
}

static int is_any_traced(const char *folder)
{
	struct traced_list list;
	int is_any = !traced_find(&list, folder) && list.count;

	if (is_any)
		traced_release(&list);
	return is_any;
}

/* A group of its own: what is sent to the terminal's, or to the program's, is not for it. */
static _Noreturn void cut_until_end(struct ring *ring, pid_t parent)
{
	struct sigaction action = { .sa_handler = note_end };
	struct timespec tenth = { 0, 100000000 };
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	while (!ended && (getppid() == parent || is_any_traced(ring->folder))) {
		ring_look(ring);
		nanosleep(&tenth, NULL);
	}
	_exit(0);
}

void ring_process_look(struct ring_process *process, int stop)
{
	pid_t parent = getpid();

	if (!process->ring.ns && !process->ring.bytes)
		return;
	if (!process->child) {
		fflush(NULL);
		process->child = fork();
		if (!process->child)
			cut_until_end(&process->ring, parent);
		if (process->child < 0)
			process->child = 0;
	}
	if (process->child && stop != process->is_stopped)
		kill(process->child, stop ? SIGSTOP : SIGCONT);
	process->is_stopped = stop;
}

void ring_process_end(struct ring_process *process)
{
	if (process->child) {
		kill(process->child, SIGTERM);
		kill(process->child, SIGCONT);
		while (waitpid(process->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	process->child = 0;
	ring_release(&process->ring);
}
