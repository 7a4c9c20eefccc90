# SPDX-License-Identifier: Apache-2.0
"""Recipes from what programs in Python have: paths, texts, dicts, layers to skip, bits of layers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from . import _halftone as native
from ._reports import Layer

#: The path of a TOML file, its text, or the same as a dict: {"default": {"weight_bits": 4},
#: "layer": [{"name": "head*", "skip": True}]}.
Recipe: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
#: Bits by the name or the pattern of layers: 4, "4/8" for weights and inputs, or (4, 8).
Bits: TypeAlias = Annotated[
    Mapping[str, Annotated[int | str | tuple[int | str, int | str], "4, '4/8' or (4, 8)"]],
    "a dict by layer (weight_bits= is for all layers)",
]

#: Names or patterns of layers, or a function that is true for the Layer of one.
Skip: TypeAlias = str | Sequence[str] | Callable[[Layer], object]


def is_recipe_text(recipe: Recipe) -> bool:
    """Whether a recipe is TOML text, which has a line feed or an equals sign, and no path."""
    if not isinstance(recipe, str):
        return False
    return "\n" in recipe or ("=" in recipe and not os.path.exists(recipe))


def _key(name: object, where: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{where}: expected keys that are texts, found {name!r}")
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: object, where: str) -> str:
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(each, where) for each in value) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{_key(k, where)} = {_value(v, f'{where}.{k}')}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    raise TypeError(
        f"{where}: expected a number, a text, a boolean or a list of these, found "
        f"{type(value).__name__}"
    )


def _lines(table: Mapping[str, Any], head: str, where: str) -> list[str]:
    if not isinstance(table, Mapping):
        raise TypeError(f"{where}: expected a dict, found {type(table).__name__}")
    pairs = (f"{_key(k, where)} = {_value(v, f'{where}.{k}')}" for k, v in table.items())
    return [head, *pairs]


def toml_of(tables: Mapping[str, Any], what: str = "recipe") -> str:
    """A recipe or another description as TOML. what: it is, in messages.

    >>> print(toml_of({"default": {"weight_bits": 4}, "layer": [{"name": "head", "skip": True}]}))
    [default]
    weight_bits = 4
    [[layer]]
    name = "head"
    skip = true
    """
    lines = [f"{_key(key, what)} = {_value(value, f'{what}: {key}')}"
             for key, value in tables.items()
             if not isinstance(value, Mapping) and not _are_tables(value)]  # fmt: skip
    for key, value in tables.items():
        if isinstance(value, Mapping):
            lines += _lines(value, f"[{_key(key, what)}]", f"{what}: {key}")
        elif _are_tables(value):
            for index, table in enumerate(value):
                lines += _lines(table, f"[[{_key(key, what)}]]", f"{what}: {key}[{index}]")
    return "\n".join(lines) + "\n"


def _are_tables(value: object) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(each, Mapping) for each in value)


def _bits_of(name: str, bits: object) -> dict[str, Any]:
    parts = bits.split("/") if isinstance(bits, str) else bits
    both = parts if isinstance(parts, (list, tuple)) else [parts]
    if len(both) not in (1, 2):
        raise ValueError(f"bits: {name!r}: expected 4, '4/8' or (4, 8), found {bits!r}")
    rule: dict[str, Any] = {"name": name}
    for key, each in zip(("weight_bits", "activation_bits"), both):
        text = str(each)
        if not (text.isdigit() or (text == "none" and key[0] == "a")):
            raise ValueError(f"bits: {name!r}: expected 4, '4/8' or (4, 8), found {bits!r}")
        rule[key] = text if text == "none" else int(text)
    return rule


def _rules(skip: Iterable[str] | None, bits: Bits | None) -> list[dict[str, Any]]:
    rules = [_bits_of(name, each) for name, each in (bits or {}).items()]
    if isinstance(skip, str):
        skip = [skip]
    return rules + [{"name": name, "skip": True} for name in skip or ()]


def recipe_of(
    recipe: Recipe | None,
    settings: native.Settings | None = None,
    skip: Iterable[str] | None = None,
    bits: Bits | None = None,
) -> native.Recipe:
    """The recipe of a file, of TOML text, or of a dict; skip= and bits= come behind its rules."""
    settings = settings or native.Settings()
    rules = _rules(skip, bits)
    if isinstance(recipe, (str, os.PathLike)) and not is_recipe_text(recipe):
        try:
            if not rules:
                return native.Recipe.load(os.fspath(recipe), settings)
            with open(recipe, encoding="utf-8") as file:
                recipe = file.read()
        except OSError as error:
            if os.path.exists(recipe):
                raise
            raise FileNotFoundError(str(error)) from None
    if recipe is None:
        text = ""
    elif isinstance(recipe, str):
        text = recipe
    elif isinstance(recipe, Mapping):
        text = toml_of(recipe)
    else:
        raise TypeError(
            f"recipe: expected a path, TOML text or a dict, found {type(recipe).__name__}"
        )
    if rules:
        text = f"{text}\n{toml_of({'layer': rules})}"
    return native.Recipe.parse(text, settings)
