/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the other tool that uses CUPTI, which allows one subscriber and does not name it. */
#ifndef CUFENCE_HOLDER_H
#define CUFENCE_HOLDER_H

/* Names of the tools that this process seems to run under; NULL: none known. */
const char *cupti_holder(void);

#endif
