/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running somebody's program with the recorder preloaded, as "cufence run" does.
 */
#ifndef CUFENCE_RUN_H
#define CUFENCE_RUN_H

#include <stddef.h>

/* Exit statuses of our own, as env(1) and timeout(1) have them. */
#define RUN_FAILED 125
#define RUN_CANNOT_EXECUTE 126
#define RUN_NOT_FOUND 127

/* What is known of a program before it runs; of a script: of what runs it. */
struct program {
	char *path; /* as found through PATH; NULL: not found */
	int is_elf;
	int is_static;         /* no loader: LD_PRELOAD reaches only what it starts */
	int is_library;        /* it has a soname, as the loader itself has */
	int has_static_cudart; /* NVIDIA's cudart is linked in */
	char *sanitizer;       /* the runtime it needs that must be loaded first, or NULL */
	const char *obstacle;  /* why it can never be traced, NULL: nothing known */
	const char *hint;      /* what to do about that */
};

/* Looks at the program that name would run. */
void program_inspect(struct program *program, const char *name);
void program_release(struct program *program);

/* The part of it that executables say themselves; anything else says nothing. */
void program_inspect_elf(struct program *program, void *bytes, size_t size);

/*
 * The first of two places, relative to the folder above this program's, that exists; or NULL.
 * The second may be NULL.
 */
char *run_beside(const char *first, const char *second);

/* A library of that name must be loaded before all others (what follows the name is ignored). */
int run_is_sanitizer(const char *name);

/* Whether the loader would find libcuda.so.1 for a program of this environment. */
int run_finds_driver(void);

/* Makes programs that this process becomes use the simulated device in the folder: 0 or -1. */
int run_use_simulator(const char *folder);

/* A CUFENCE_ variable of the program's environment. */
struct run_setting {
	const char *name, *value;
};

/* What the program's environment gets; NULL: unset or left alone. */
struct run_environment {
	char *library;                     /* libcufence.so, before the user's own preloads */
	char *guard;                       /* libcufence-guard.so behind it; NULL: no guard */
	char *hold;                        /* libcufence-hold.so, likewise */
	int output;                        /* descriptor that the program gets as stdout; 0: ours */
	const char *sanitizer;             /* before everything else */
	const char *out;                   /* CUFENCE_OUT: an existing folder, absolute */
	char *simulator;                   /* folder before the user's LD_LIBRARY_PATH */
	const struct run_setting *setting; /* ends with name NULL; values NULL: left alone */
};

/*
 * Finds the recorder beside this program (CUFENCE_LIB overrides), and the simulated device's
 * libraries if simulated: 0, or -1 after a message.
 */
int run_environment_init(struct run_environment *environment, int simulated);

/* Likewise the guard of host memory and the library that holds streams. */
int run_environment_guard(struct run_environment *environment);
int run_environment_hold(struct run_environment *environment);
void run_environment_release(struct run_environment *environment);

/*
 * Runs argv and waits: its exit status, 128 + the signal that ended it, or one of ours after a
 * message.  Signals of the terminal go to the program alone, SIGTERM and SIGHUP are passed on.
 * started says whether there was a program.
 */
int run_program(char **argv, const struct run_environment *environment, int *started);

#endif
