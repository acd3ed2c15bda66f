/* SPDX-License-Identifier: Apache-2.0 */
/* Who else uses CUPTI: only one subscriber is let in, and it does not say who it is. */
#ifndef CUFENCE_HOLDER_H
#define CUFENCE_HOLDER_H

/* The tools that this process seems to run under, in words; NULL: none known. */
const char *cupti_holder(void);

#endif
