/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the assembly of each machine exports.
 *
 * dlsym, that other code calls.  The real one determines its caller from its return address
 * (RTLD_NEXT), so this function must jump to it, independent of compiler and options.  Exported
 * under the C library's symbol versions, the older one for programs built before glibc 2.34: other
 * tools that hook dlsym find the next one by dlvsym(RTLD_NEXT), which skips unversioned symbols.
 *
 * The clocks that other code reads, and prctl.  Each is a test and a jump to the C library's
 * function: programs read clocks millions of times a second, in signal handlers, in children of
 * vfork(), and before any constructor has run.  Until usage.c has found the functions, or if it
 * never does, the table's entries find theirs at the first call.
 *
 * A clock: is struct thread_state.armed of this thread set?  Then clock_noticed() is told, with the
 * frame address of the function, as of a wrapper.  prctl: a program that prepares or sets a seccomp
 * filter (PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP) may forbid what the recorder reads.
 */
#ifndef CUFENCE_MACHINE_EXPORT_H
#define CUFENCE_MACHINE_EXPORT_H

#define ARMED 64 /* offset of struct thread_state.armed: checked in usage.c */
#define SET_SECCOMP 22
#define SET_NO_NEW_PRIVS 38

#endif
