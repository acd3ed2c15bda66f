/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes words of commands that messages tell the user to type. */
#ifndef CUFENCE_SHELL_H
#define CUFENCE_SHELL_H

/*
 * A file's name as one word that a shell and cufence take for that name: quoted where it needs to
 * be, control characters as bash's and zsh's $'\n'.  malloc'ed, or NULL after a message.
 */
char *shell_word(const char *name);

#endif
