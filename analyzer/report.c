/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

const char *report_condition(enum report_level level)
{
	switch (level) {
	case REPORT_CERTAIN:
		return "f.shown AND f.confidence = 'certain'";
	case REPORT_POSSIBLE:
		return "1";
	default:
		return "f.shown";
	}
}
