#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of the Python package, on the module of this build.

Usage: python_package_test.py FOLDER PROGRAM

FOLDER has the package. Skipped (exit code 77) where the build has no module for this interpreter
(HALFTONE_WITH_PYTHON) or NumPy or pytest is missing.
"""

import importlib
import os
import sys
from pathlib import Path

SKIPPED = 77


def main() -> int:
    folder, program = sys.argv[1:]
    sys.path.insert(0, folder)
    for name in ("numpy", "pytest", "halftone"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"skipped: {error}")
            return SKIPPED
    os.environ["HALFTONE_PROGRAM"] = program
    os.chdir(Path(__file__).resolve().parent.parent)
    import pytest

    return pytest.main(["-q", "-p", "no:cacheprovider", "python/tests"])


if __name__ == "__main__":
    sys.exit(main())
