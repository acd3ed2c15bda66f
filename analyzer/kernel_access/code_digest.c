/* SPDX-License-Identifier: Apache-2.0 */
#include "code_digest.h"

#include <sys/types.h>

#include <sha256.h>
#include <stdio.h>

void code_digest(char digest[CODE_DIGEST_SIZE], const void *code, size_t size, uint32_t arch)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	SHA256_CTX context;

	if (*digest)
		return;
	SHA256_Init(&context);
	SHA256_Update(&context, (const uint8_t *)&arch, sizeof(arch));
	SHA256_Update(&context, code, size);
	SHA256_Final(sum, &context);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(digest + 2 * i, 3, "%02x", sum[i]);
}
