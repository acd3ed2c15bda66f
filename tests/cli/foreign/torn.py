# SPDX-License-Identifier: Apache-2.0
"""Ends before it has reported three calls."""
import pair

pair.report(1, 1, 1)
raise SystemExit(3)
