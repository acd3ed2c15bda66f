/* SPDX-License-Identifier: Apache-2.0 */
/* The options of "cufence run" that set the recorder's environment variables. */
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

/* Checks the options' arguments and the variables that no option replaces: 0, or -1 after a
 * message. */
int run_check_settings(const struct arguments *arguments);

/* The settings of the options given; others stay as the environment has them. */
void run_settings(const struct arguments *arguments, struct run_setting setting[RUN_SETTINGS + 1]);

/* Warns of CUFENCE_ variables with unknown names, which have no effect. */
void run_warn_environment(void);

/* Whether the recorder is switched off. */
int run_is_disabled(void);

#endif
