/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for calls, operations and times, in the terms of the program's author: "cudaFree",
 * "kernel 'stencil' on stream 14", "3.2 ms".
 *
 * The room names/ turns rows of the database into words for people; what an address is was found by
 * symbols/, from files, when the trace was loaded.
 */
#ifndef CUFENCE_WORDS_H
#define CUFENCE_WORDS_H

#include <stdint.h>
#include <stdio.h>

#include "db.h"

struct code_frames;
struct words;

/* NULL after a message. */
struct words *words_open(struct db *db);
void words_close(struct words *words);

struct db *words_db(const struct words *words);

/* For names as the program's text has them (stream_code.h); they remain those of words. */
struct code_frames *words_frames(struct words *words);

/*
 * Writes the call as the user wrote it: the outermost recorded call, the cudart function on its
 * stack, or the driver call.  Returns 0, or -1 after a message.
 */
int words_call(struct words *words, int64_t call, FILE *out);

/* Writes the work that a driver call submitted, and its stream: "kernel 'x' on stream 7". */
int words_operation(struct words *words, int64_t call, FILE *out);

/* Writes what the graph node created by a call does: "kernel 'x'". */
int words_node(struct words *words, int64_t call, FILE *out);

/* The stream that a call names, after the given prefix: "stream 7", "the legacy default stream".
 * Writes nothing if it names none. */
int words_stream(struct words *words, int64_t call, const char *before, FILE *out);

/*
 * For use during analysis.  Returns the nearest call that uses the same memory in another stream,
 * if only one stream other than legacy default streams does.  Calls of the same thread are
 * preferred over those of other threads. 0: no such call, or several streams.
 */
int64_t words_user_of_memory(struct words *words, int64_t call);

/* 1 if the call's stream is a default stream, -1 after a message. */
int words_in_default_stream(struct words *words, int64_t call);

/* " (a.cu:31)", or nothing if unknown. */
int words_place(struct words *words, int64_t call, FILE *out);

/*
 * Writes the place where the program read a clock right after a wait (table wait_clock), after the
 * given prefix.  Writes nothing if none was seen.
 */
int words_clock(struct words *words, int64_t call, const char *before, FILE *out);

/*
 * words_is_captured: 1 if a captured stream turned the call into a node.  The other: 1 if calls of
 * the process have script frames.  Each returns 0 if not, -1 after a message.
 */
int words_is_captured(struct words *words, int64_t call);
int words_has_script(struct words *words, int64_t process);

/*
 * Returns 1 if a driver call only ordered its stream and submitted no device work: an event record,
 * a wait for an event, a host function; -1 after a message.
 */
int words_only_orders(struct words *words, int64_t call);

/*
 * The kernel that a call launched, "" if none; valid until the next use of words.  The label is for
 * texts; the base name does not depend on what else the run has.
 */
const char *words_kernel(struct words *words, int64_t call);
const char *words_kernel_label(struct words *words, int64_t call);

/* As format_duration(). */
void words_time(int64_t ns, FILE *out);

/* The outermost recorded call around a call, or the call itself; -1 after a message. */
int64_t words_outermost(struct words *words, int64_t call);

#endif
