// SPDX-License-Identifier: Apache-2.0
// As graph_memory_freed_early, but the free waits for the stream that reads the result.
#define ORDERED
#include "graph_memory_freed_early.cu"
