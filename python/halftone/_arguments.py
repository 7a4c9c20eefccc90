# SPDX-License-Identifier: Apache-2.0
"""Refuses arguments of wrong types by the annotations of a function, in the words of Python."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import os
import types
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

#: In the errors of the compiled module about types.
_OF_THE_MODULE = "incompatible function arguments"
#: What is expected, in words, and what fits.
_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("an integer", lambda x: isinstance(x, (int, np.integer)) and not isinstance(x, bool)),
    float: (
        "a number",
        lambda x: isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool),
    ),
    bool: ("True or False", lambda x: isinstance(x, (bool, np.bool_))),
    str: ("a text", lambda x: isinstance(x, str)),
    types.NoneType: ("None", lambda x: x is None),
    os.PathLike: ("a path", lambda x: isinstance(x, os.PathLike)),
    collections.abc.Callable: ("a function", callable),
    collections.abc.Mapping: ("a dict", lambda x: isinstance(x, collections.abc.Mapping)),
    collections.abc.Sequence: (
        "a list",
        lambda x: hasattr(x, "__iter__") and not isinstance(x, (str, bytes)),
    ),
}


def _members(hint: Any) -> list[Any]:
    """The types of a union, or the type."""
    if get_origin(hint) not in (Union, types.UnionType):
        return [hint]
    return [each for member in get_args(hint) for each in _members(member)]


def _rule(hint: Any) -> tuple[str, Callable[[Any], bool]] | None:
    """What a type expects; None for one that is not looked at here."""
    origin = get_origin(hint)
    if origin is Literal:
        words = get_args(hint)
        return ", ".join(map(repr, words)), lambda x: any(
            type(x) is type(word) and x == word for word in words
        )
    if origin is Annotated:  # with the words for what is expected
        inner, words = get_args(hint)
        rules = [_rule(member) for member in _members(inner)]
        return str(words), lambda x: any(rule is None or rule[1](x) for rule in rules)
    return _PLAIN.get(origin or hint)


def _shown(value: object) -> str:
    """A short value itself, else its type."""
    is_short = isinstance(value, (str, bool, int, float)) and len(repr(value)) <= 60
    return repr(value) if is_short else type(value).__name__


def check(name: str, value: object, hint: Any) -> None:
    """Raises TypeError unless the value has a type of the hint, as far as it is plain, and
    ValueError for another word than those of a Literal."""
    rules = [_rule(member) for member in _members(hint)]
    known = [rule for rule in rules if rule is not None]
    if len(known) < len(rules) or any(fits(value) for _, fits in known):
        _check_elements(name, value, hint)
        return
    *others, last = ", ".join(dict.fromkeys(text for text, _ in known)).split(", ")
    expected = f"{', '.join(others)} or {last}" if others else last
    is_word = isinstance(value, str) and any(
        get_origin(member) is Literal for member in _members(hint)
    )
    kind = ValueError if is_word else TypeError
    raise kind(f"{name}: expected {expected}, found {_shown(value)}")


def _check_elements(name: str, value: object, hint: Any) -> None:
    """check() of what lists and dicts hold; iterators are left alone, for they are read once."""
    for member in _members(hint):
        if get_origin(member) is Annotated:
            _check_elements(name, value, get_args(member)[0])
        arguments = get_args(member)
        if get_origin(member) is collections.abc.Mapping and isinstance(value, Mapping):
            for key, each in value.items():
                if arguments[0] is str and not isinstance(key, str):
                    raise TypeError(f"{name}: expected keys that are texts, found {_shown(key)}")
                check(f"{name}[{key!r}]", each, arguments[1])
        elif get_origin(member) is collections.abc.Sequence and isinstance(value, (list, tuple)):
            for index, each in enumerate(value):
                check(f"{name}[{index}]", each, arguments[0])


def plain(value: Any) -> Any:
    """A scalar of NumPy as one of Python."""
    return value.item() if isinstance(value, (np.integer, np.floating, np.bool_)) else value


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Checks what is passed against annotations of numbers, texts, booleans, paths, functions, lists,
    dicts and Literal words before the function runs: TypeError, or ValueError for another word."""
    signature = inspect.signature(function)

    @functools.cache
    def hints() -> dict[str, Any]:
        return get_type_hints(function, include_extras=True)

    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if name not in hints() or parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                continue
            bound.arguments[name] = plain(value)
            check(name, bound.arguments[name], hints()[name])
        try:
            return function(*bound.args, **bound.kwargs)
        except TypeError as error:
            if _OF_THE_MODULE not in str(error):
                raise
            raise _in_words(_flat(bound)) from None

    return call


def _flat(bound: inspect.BoundArguments) -> dict[str, object]:
    """What was passed by name, also by names that a function collects."""
    found: dict[str, object] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        found.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    return found


def _in_words(arguments: Mapping[str, object]) -> Exception:
    """The error in place of one of the compiled module, which takes whole numbers of 64 bits."""
    for name, value in arguments.items():
        if isinstance(value, int) and not 0 <= value < 1 << 63:
            return ValueError(f"{name}: expected 0 to 2^63 - 1, found {value}")
    for name, value in arguments.items():
        if isinstance(value, int) and value >= 1 << 31:
            return ValueError(f"{name}: expected less than 2^31, found {value}")
    found = ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())
    return TypeError(f"expected arguments of other types, found {found}")
