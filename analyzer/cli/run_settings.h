/* SPDX-License-Identifier: Apache-2.0 */
/* The options of "cufence run" that are settings of the recorder: variables of its environment. */
#ifndef CUFENCE_RUN_SETTINGS_H
#define CUFENCE_RUN_SETTINGS_H

#include "command.h"
#include "run.h"
#include "settings.h"

enum {
#define X(variable, option, is_valid, wanted) +1
	RUN_SETTINGS = 0 SETTINGS(X)
#undef X
};

/* 0, or -1 after a message about an option's argument or a variable that no option replaces. */
int run_check_settings(const struct arguments *arguments);

/* What the options given say; those not given are left as the environment has them. */
void run_settings(const struct arguments *arguments, struct run_setting setting[RUN_SETTINGS + 1]);

/* A misspelt CUFENCE_ name would silently do nothing: says so. */
void run_warn_environment(void);

/* Whether the recorder was told to do nothing. */
int run_is_disabled(void);

#endif
