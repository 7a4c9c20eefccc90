# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled module.

GNU's OpenMP reads its environment when it is loaded. Its idle threads would spin for milliseconds
while they wait for work, which slows down whatever else runs; the program sets the same bound.
"""

from __future__ import annotations

import os

_SPINS = "GOMP_SPINCOUNT"
_user_decides = _SPINS in os.environ or "OMP_WAIT_POLICY" in os.environ

if not _user_decides:
    os.environ[_SPINS] = "3000"
try:
    from . import _halftone as native
finally:
    if not _user_decides:
        del os.environ[_SPINS]

__all__ = ["native"]
