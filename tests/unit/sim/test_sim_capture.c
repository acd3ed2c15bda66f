/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_text.h"

GROUP(sim_text_setup, NULL)
