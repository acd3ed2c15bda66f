/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats a test app: NAME_again TURNS [INT|TERM|KILL|_exit|_Exit|abort|quick_exit MS].  TURNS 0:
 * for ever.  After MS of real time a signal handler ends the program by that signal or function,
 * wherever it is.  The app's main() is renamed to app_main() (Makefile).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int app_main(void);

static const char *how = "";

static void end(int signal)
{
	if (!strcmp(how, "INT"))
		kill(getpid(), SIGINT);
	if (!strcmp(how, "TERM"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "KILL"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "_exit"))
		_exit(signal);
	if (!strcmp(how, "_Exit"))
		_Exit(signal);
	if (!strcmp(how, "quick_exit"))
		quick_exit(signal);
	if (!strcmp(how, "abort"))
		abort();
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? atol(argv[1]) : 1, ms = argc > 3 ? atol(argv[3]) : 0;
	const struct itimerval after = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	if (argc > 2) {
		how = argv[2];
		signal(SIGALRM, end);
		setitimer(ITIMER_REAL, &after, NULL);
	}
	for (long i = 0; !turns || i < turns; i++)
		if (app_main())
			return 1;
	return 0;
}
