// SPDX-License-Identifier: Apache-2.0
// As segment_in_pieces, but the stream that copies waits for nothing.
#define UNORDERED
#include "segment_in_pieces.cu"
