/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFENCE_INJECTION_H
#define CUFENCE_INJECTION_H

/*
 * Path of the library that finds this recorder for CUDA and NVTX (injection/), in its folder; NULL:
 * it is not there, or CUFENCE_DISABLE is set.
 */
const char *injection_path(void);

#endif
