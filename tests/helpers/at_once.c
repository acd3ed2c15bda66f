/* SPDX-License-Identifier: Apache-2.0 */
/*
 * at_once NAME.db: runs commands of cufence that read one database, without starting the program
 * and checking the database for each.  A line of standard input is a command; tabs separate its
 * words:
 *
 *	FILE	COMMAND	ARGUMENT...
 *
 * What the command prints is written to FILE; NAME.db is checked by the first one, which is "query"
 * or another that opens it for reading.  Prints the exit status of each, a line per command.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "db.h"

static const char *checked; /* the database, once it was */

/* In place of the program's: what was checked is not checked again. */
int db_open(struct db *db, const char *path, enum db_access access)
{
	static int (*next)(struct db *, const char *, enum db_access);

	if (!next)
		next = (int (*)(struct db *, const char *, enum db_access))dlsym(RTLD_NEXT,
			"db_open");
	return next(db, path,
		access == DB_READ && checked && !strcmp(path, checked) ? DB_OWN : access);
}

static int run(char *line)
{
	enum { WORDS = 32 };
	char *word[WORDS + 1], *at = line;
	int count = 0, status;
	pid_t child;

	while (count < WORDS && (word[count] = strsep(&at, "\t")))
		count++;
	word[count] = NULL;
	if (count < 2)
		return EXIT_TROUBLE;
	child = fork();
	if (!child) {
		int file = open(word[0], O_WRONLY | O_CREAT | O_TRUNC, 0644);

		if (file < 0 || dup2(file, STDOUT_FILENO) < 0)
			_exit(EXIT_TROUBLE);
		status = command_run(count - 1, word + 1);
		_exit(fflush(stdout) ? EXIT_TROUBLE : status);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return EXIT_TROUBLE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static char line[65536];
	struct db db;

	if (argc != 2 || db_open(&db, argv[1], DB_READ))
		return EXIT_TROUBLE;
	db_close(&db);
	checked = argv[1];
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		printf("%d\n", run(line));
		fflush(stdout);
	}
	return 0;
}
