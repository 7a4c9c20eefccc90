#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/halftone/_halftone*.pyi, the types of compiled modules, from the modules themselves.

Run it after a change of python/src, in an environment that has halftone and nanobind.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "halftone"
MODULES = ("_halftone", "_halftone_spmd")

# nanobind leaves the parameters of generic types out.
FIXES = (
    (r"os\.PathLike\b(?!\[)", "os.PathLike[str]"),
    (r"\bNDArray\b(?!\[)(?! *$)", "NDArray[Any]"),
    (r": tuple\b(?!\[)", ": tuple[Any, ...]"),
    (r": Callable\b(?!\[)", ": Callable[..., Any]"),
    (r"import NDArray\[Any\]", "import NDArray"),
    (r"version: str = .*", "version: str"),
)


def path(name: str) -> Path:
    return PACKAGE / f"{name}.pyi"


def stub(name: str) -> str:
    from nanobind.stubgen import StubGen

    module = importlib.import_module(f"halftone.{name}")
    generator = StubGen(module=module, recursive=False)
    generator.put(module)
    text: str = generator.get()
    for pattern, replacement in FIXES:
        text = re.sub(pattern, replacement, text)
    return "# SPDX-License-Identifier: Apache-2.0\n# Written by scripts/python_stub.py.\n" \
        "from typing import Any\n" + text


if __name__ == "__main__":
    for each in MODULES:
        path(each).write_text(stub(each))
