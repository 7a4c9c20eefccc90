# SPDX-License-Identifier: Apache-2.0
"""The examples of docstrings and of the guide run."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

import halftone as ht
from conftest import ROOT

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = sorted(p.stem for p in Path(ht.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = ht if name == "__init__" else importlib.import_module(f"halftone.{name}")
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


def test_the_guide() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    text = re.sub(r"^```.*$", "", page, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "docs/python.md", 0)
    assert len(test.examples) > 20
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_everything_public_is_documented() -> None:
    for name in ht.__all__:
        assert getattr(ht, name).__doc__, name
