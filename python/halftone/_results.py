# SPDX-License-Identifier: Apache-2.0
"""Results as classes: attributes are keys of the program's JSON, with the sentences that the
compiled module has for them."""

from __future__ import annotations

import copy
import json
import textwrap
from collections.abc import Callable
from functools import cache, cached_property
from html import escape
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from . import _halftone as native

_Row = TypeVar("_Row", bound=type)


class Key(NamedTuple):
    """The key of an attribute with another name, and its sentence."""

    path: str  #: "latency_us.median": of an object in the JSON
    text: str = ""


def key(path: str, text: str = "") -> Any:
    """A Key, for an attribute of any type."""
    return Key(path, text)


@cache
def sentences(name: str) -> dict[str, str]:
    """What the program says of the keys of a class, in sentences for Python."""
    rows = native.result_classes().get(name, [])
    return {each: text.replace("null", "None") + "." for each, text in rows if text}


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def read(hint: Any, value: Any) -> Any:
    """A value of a type from JSON."""
    arguments = get_args(hint)
    if value is None:
        return None
    if type(None) in arguments:
        return read(arguments[0], value)
    if get_origin(hint) is tuple:
        return tuple(read(arguments[0], each) for each in value)
    if not hasattr(hint, "_fields"):
        return copy.deepcopy(value)
    return hint.of(value) if hasattr(hint, "of") else hint(**row_of(hint, value))


def row_of(kind: Any, value: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row by name. Those without a default are None where the JSON lacks them."""
    hints = _hints(kind)
    names = [name for name in kind._fields if name in value or name not in kind._field_defaults]
    return {name: read(hints[name], value.get(name)) for name in names}


def row(kind: _Row) -> _Row:
    """Adds what the program says of the keys of a row to the docstring of its class."""
    fields: Any = kind
    texts = sentences(kind.__name__)
    lines = [
        textwrap.fill(f"{name}: {texts[name]}", 96, subsequent_indent="    ")
        for name in fields._fields
        if name in texts
    ]
    kind.__doc__ = "\n\n".join([kind.__doc__ or "", "\n".join(lines)]).rstrip()
    return kind


def _attribute(owner: type, name: str, where: Key) -> property:
    """A property that reads a key, which is None or empty where the JSON lacks it."""

    def get(self: Result) -> Any:
        hint = _hints(owner)[name]
        facts: Any = self._facts
        for part in where.path.split("."):
            facts = facts.get(part)
        return [] if facts is None and get_origin(hint) is list else read(hint, facts)

    get.__annotations__ = {"return": owner.__annotations__[name]}
    return property(get, doc=where.text)


class Result:
    """A result of the program, read from its JSON. Annotations of a class become properties."""

    def __init__(self, texts: tuple[str, str] | Callable[[], tuple[str, str]]):
        self._source = texts

    def __init_subclass__(cls, keys: str = "") -> None:
        """:param keys: the class whose sentences are those of this one; empty: itself"""
        texts = sentences(keys or cls.__name__)
        for name in cls.__dict__.get("__annotations__", {}):
            where = cls.__dict__.get(name, Key(name))
            text = where.text or texts.get(where.path, "")
            setattr(cls, name, _attribute(cls, name, Key(where.path, text)))

    @cached_property
    def _texts(self) -> tuple[str, str]:
        return self._source() if callable(self._source) else self._source

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self.to_dict()

    def __str__(self) -> str:
        return self._texts[0]

    def to_json(self) -> str:
        """The text that the program prints with --json."""
        return self._texts[1]

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of its own."""
        facts: dict[str, Any] = json.loads(self._texts[1])
        return facts

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: the texts."""
        return {**self.__dict__, "_source": self._texts}

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
