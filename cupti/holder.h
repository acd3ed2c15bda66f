/* SPDX-License-Identifier: Apache-2.0 */
/* Which other tool uses CUPTI: it allows one subscriber, and does not name the present one. */
#ifndef CUFENCE_HOLDER_H
#define CUFENCE_HOLDER_H

/* Names of the tools that this process seems to run under; NULL: none known. */
const char *cupti_holder(void);

#endif
