# SPDX-License-Identifier: Apache-2.0
"""The examples of docstrings and of the guide run."""

from __future__ import annotations

import doctest
import importlib
import os
import re
from pathlib import Path

import pytest

import halftone as ht
import reference
from conftest import ROOT
from halftone import _halftone as native

#: Fields of rows that Python makes of other keys, or of a row that is null.
NOT_IN_JSON = {
    "LayerSensitivity": ["is_possible"],
    "UnitSensitivity": ["is_possible"],
    "VerifiedDesign": ["design"],
    "TextDivergence": ["before", "after"],
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = sorted(p.stem for p in Path(ht.__file__).parent.glob("*.py"))
TORCH_MODULES = sorted(p.stem for p in Path(ht.__file__).parent.glob("torch/*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = ht if name == "__init__" else importlib.import_module(f"halftone.{name}")
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("name", TORCH_MODULES)
def test_docstrings_of_torch(name: str) -> None:
    pytest.importorskip("torch")
    if name == "_transformers":
        pytest.importorskip("transformers")
    module = importlib.import_module("halftone.torch" if name == "__init__" else f"halftone.torch.{name}")
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("guide,least", [("python.md", 20), ("pytorch.md", 15)])
def test_the_guides(guide: str, least: int) -> None:
    if guide == "pytorch.md":
        pytest.importorskip("torch")
    page = (ROOT / "docs" / "guides" / guide).read_text()
    text = re.sub(r"^```.*$", "", page, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, guide, f"docs/guides/{guide}", 0)
    assert len(test.examples) > least
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_everything_public_is_documented() -> None:
    for name in ht.__all__:
        assert getattr(ht, name).__doc__, name


@pytest.mark.parametrize("name", ["python", "recipes"])
def test_the_reference(name: str) -> None:
    path = ROOT / "docs" / "reference" / f"{name}.md"
    made = {"python": reference.page, "recipes": reference.recipe_page}[name]()
    if "HALFTONE_WRITE_REFERENCE" in os.environ:
        path.write_text(made)
    assert path.read_text() == made, "HALFTONE_WRITE_REFERENCE=1 writes the page"


def test_the_reference_of_torch() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    path = ROOT / "docs" / "reference" / "torch.md"
    if "HALFTONE_WRITE_REFERENCE" in os.environ:
        path.write_text(reference.torch_page())
    assert path.read_text() == reference.torch_page(), "HALFTONE_WRITE_REFERENCE=1 writes the page"


def test_the_keys_of_results() -> None:
    path = ROOT / "docs" / "reference" / "json.md"
    if "HALFTONE_WRITE_REFERENCE" in os.environ:
        path.write_text(reference.json_page())
    assert path.read_text() == reference.json_page(), "HALFTONE_WRITE_REFERENCE=1 writes the page"


def test_classes_of_results_have_keys_of_the_program() -> None:
    listed = native.result_classes()
    for name, keys in listed.items():
        found = getattr(ht, name, None)
        for each in getattr(found, "_fields", ()):
            assert each in [key for key, _ in keys] or each in NOT_IN_JSON.get(name, []), (name, each)
