/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program with the recorder preloaded, as "cufence run" does.
 */
#ifndef CUFENCE_RUN_H
#define CUFENCE_RUN_H

#include <stddef.h>

#include "watch.h"

/* Our own exit statuses, those of env(1) and timeout(1). */
#define RUN_FAILED 125
#define RUN_CANNOT_EXECUTE 126
#define RUN_NOT_FOUND 127

/* Facts about a program before it runs.  For a script they describe the interpreter. */
struct program {
	char *path; /* found through PATH; NULL: not found */
	int is_elf;
	int is_static;         /* no loader: LD_PRELOAD affects only its children */
	int is_library;        /* it has a soname, as the loader has */
	int has_static_cudart; /* NVIDIA's cudart is linked in */
	char *sanitizer;       /* the sanitizer runtime that must be loaded first, or NULL */
	const char *obstacle;  /* why it cannot be traced; NULL: nothing known */
	const char *hint;      /* what the user can do */
};

/* Inspects the program that name would run. */
void program_inspect(struct program *program, const char *name);
void program_release(struct program *program);

/* Reads what an ELF executable says; other files leave program unchanged. */
void program_inspect_elf(struct program *program, void *bytes, size_t size);

/*
 * The first of two paths that exists, relative to the folder above this program's; or NULL.  The
 * second path may be NULL.
 */
char *run_find_relative(const char *first, const char *second);

/* Whether a library of that name must be loaded before all others; a version suffix is ignored. */
int run_is_sanitizer(const char *name);

/* Whether the loader finds libcuda.so.1 in this environment. */
int run_finds_driver(void);

/* Makes programs that this process executes use the simulated device in the folder: 0 or -1. */
int run_use_simulator(const char *folder);

/* A CUFENCE_ variable of the program's environment. */
struct run_setting {
	const char *name, *value;
};

/* Additions to the program's environment.  NULL: not set, or left alone. */
struct run_environment {
	char *library;         /* libcufence.so, before the user's own preloads */
	char *guard;           /* libcufence-guard.so after it; NULL: no guard */
	char *below;           /* a library that changes calls (libcufence-hold.so), likewise */
	int output;            /* descriptor of the program's stdout; 0: ours */
	const char *sanitizer; /* preloaded before everything else */
	const char *out;       /* CUFENCE_OUT: absolute path of an existing folder; NULL: not set */
	char *simulator;       /* folder prepended to LD_LIBRARY_PATH */
	struct watch *watch;   /* runs with the program; NULL: GPUs are not watched */
	/* Called ten times a second while the program runs; interrupts: Ctrl-Cs so far; or NULL */
	void (*look)(void *argument, int interrupts);
	void *argument;
	unsigned most; /* the program is killed after so many seconds; 0: never */
	const struct run_setting *setting; /* ends with name NULL; values NULL: left alone */
};

/*
 * Finds the recorder next to this program (CUFENCE_LIB overrides), and the simulated device's
 * libraries if simulated: 0, or -1 after a message.
 */
int run_environment_init(struct run_environment *environment, int simulated);

/*
 * Find the guard of host memory, and a library that changes calls below the recorder, by its name;
 * needs: the option or command that needs it.  Return as above.
 */
int run_environment_guard(struct run_environment *environment);
int run_environment_below(struct run_environment *environment, const char *name, const char *needs);
void run_environment_release(struct run_environment *environment);

/* As run_environment_init(), with a library that is preloaded in place of the recorder. */
int run_environment_alone(struct run_environment *environment, const char *name, int simulated);

/* Becomes the program.  Returns only if it cannot: a status of ours, after a message. */
int run_become(char **argv, const struct run_environment *environment);

/*
 * Runs argv and waits.  Returns its exit status, 128 + the signal that ended it, or a status of
 * ours after a message.  Terminal signals go to the program only; SIGTERM and SIGHUP are passed on.
 * started: whether the program was started.
 */
int run_program(char **argv, const struct run_environment *environment, int *started);

#endif
