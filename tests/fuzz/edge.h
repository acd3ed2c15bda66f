/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code that reports its edges (-fsanitize-coverage=trace-pc) calls, for programs that are not
 * fuzzed: it returns.  A fuzzer's own function replaces it (driver.c).  In assembly, as it must not
 * report edges itself.
 */
__asm__(".pushsection .text\n"
	".weak __sanitizer_cov_trace_pc\n"
	".hidden __sanitizer_cov_trace_pc\n"
	".type __sanitizer_cov_trace_pc, @function\n"
	"__sanitizer_cov_trace_pc: ret\n"
	".size __sanitizer_cov_trace_pc, 1\n"
	".popsection\n");
