// SPDX-License-Identifier: Apache-2.0
// As symbol_set_in_exec, but the event is recorded before the graph is launched.
#define UNORDERED
#include "symbol_set_in_exec.cu"
