#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/halftone/_halftone.pyi, the types of the compiled module, from the module itself.

Run it after a change of python/src, in an environment that has halftone and nanobind.
"""

from __future__ import annotations

import re
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "python" / "halftone" / "_halftone.pyi"

# nanobind leaves the parameters of generic types out.
FIXES = (
    (r"os\.PathLike\b(?!\[)", "os.PathLike[str]"),
    (r"\bNDArray\b(?!\[)(?! *$)", "NDArray[Any]"),
    (r": tuple\b(?!\[)", ": tuple[Any, ...]"),
    (r"import NDArray\[Any\]", "import NDArray"),
    (r"version: str = .*", "version: str"),
)


def stub() -> str:
    from nanobind.stubgen import StubGen

    from halftone import _halftone

    generator = StubGen(module=_halftone, recursive=False)
    generator.put(_halftone)
    text: str = generator.get()
    for pattern, replacement in FIXES:
        text = re.sub(pattern, replacement, text)
    return "# SPDX-License-Identifier: Apache-2.0\n# Written by scripts/python_stub.py.\n" \
        "from typing import Any\n" + text


if __name__ == "__main__":
    PATH.write_text(stub())
