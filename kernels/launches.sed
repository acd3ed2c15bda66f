# SPDX-License-Identifier: Apache-2.0
# Launches as nvcc makes calls of them, each in its line: KERNEL<<<...>>>(...).
s/([A-Za-z_:]+)<<<(.*)>>>\(/__cudaPushCallConfiguration(\2) ? (void)0 : \1(/
