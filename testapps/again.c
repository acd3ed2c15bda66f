/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats a test app: NAME_again TURNS [INT|TERM|KILL|_exit|_Exit|abort|quick_exit MS].  With a
 * death it is an endless loop: MS of real time after these turns a signal handler ends the program
 * by that signal or function, wherever it is.  A quick machine makes four times as many turns at
 * most: the program then stands still until it dies.  The app's main() is renamed to app_main()
 * (Makefile).
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

	int dies = argc > 3;

	if (dies) {
		how = argv[2];
		signal(SIGALRM, end);
	}
	for (long i = 0; i < (dies ? 4 * turns : turns); i++) {
		if (dies && i == turns)
			setitimer(ITIMER_REAL, &after, NULL);
		if (app_main())
			return 1;
	}
	while (dies)
		pause();
	return 0;
}
