/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A digest that nobody can forge: conclusions about code are kept between runs by it, also where
 * programs of several authors share a cache (CI).  With image_hash(), a comment of eight bytes
 * gives a program the answers of another one.
 */
#ifndef CUFENCE_CODE_DIGEST_H
#define CUFENCE_CODE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define CODE_DIGEST_SIZE 65 /* characters, with the NUL */

/*
 * Writes SHA-256 of arch (4 bytes, little-endian) and the code in hexadecimal, unless digest holds
 * a text already: an empty one has not been computed.
 */
void code_digest(char digest[CODE_DIGEST_SIZE], const void *code, size_t size, uint32_t arch);

#endif
