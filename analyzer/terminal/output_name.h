/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File names that differ between the processes of a distributed program.  In a name stand
 *	%r	the rank, by the variables of trace/launchers.def
 *	%h	the name of the machine, up to its first dot
 *	%p	the id of this process
 *	%q{VAR}	the value of an environment variable
 *	%%	a percent sign
 * A slash in a value becomes "_": a value names no folder.
 */
#ifndef CUFENCE_OUTPUT_NAME_H
#define CUFENCE_OUTPUT_NAME_H

/*
 * The name with values: malloc'ed, or NULL after a message that begins with the command's name.
 * Folders of a name with such a part are made, as nobody can make them before; those of other names
 * are not, so that a misspelled one is noticed.
 */
char *output_name(const char *name, const char *command);

/*
 * Makes the folders of a file's path that do not exist.  0, or -1 after a message that begins with
 * the command's name.
 */
int output_folders(const char *path, const char *command);

#endif
