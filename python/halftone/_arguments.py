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
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
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
}


def _is_list(value: object, element: Any) -> TypeGuard[collections.abc.Sequence[Any]]:
    """Whether a value may be read as a list: no text or bytes, and an array only of numbers."""
    if isinstance(value, np.ndarray):
        return element in (int, float) and value.ndim == 1
    return isinstance(value, collections.abc.Sequence) and not isinstance(
        value, (str, bytes, bytearray, memoryview)
    )


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
    if origin is collections.abc.Sequence:
        return "a list", lambda x: _is_list(x, get_args(hint)[0])
    if origin is tuple and Ellipsis not in get_args(hint):
        count = len(get_args(hint))
        return f"a tuple of {count}", lambda x: isinstance(x, (tuple, list)) and len(x) == count
    if is_typeddict(hint):
        return _PLAIN[collections.abc.Mapping]
    if isinstance(hint, type) and hint.__module__.split(".")[0] == __package__:
        article = "an" if hint.__name__[0] in "AEIOU" else "a"
        return f"{article} {hint.__name__}", lambda x: isinstance(x, hint)
    return _PLAIN.get(origin or hint)


def shown(value: object) -> str:
    """A short value itself, else its type."""
    is_short = isinstance(value, (str, bool, int, float)) and len(repr(value)) <= 60
    return repr(value) if is_short else type(value).__name__


def check(name: str, value: object, hint: Any) -> None:
    """Raises TypeError unless the value has a type of the hint, as far as it is plain, and
    ValueError for another word than those of a Literal."""
    rules = [_rule(member) for member in _members(hint)]
    known = [rule for rule in rules if rule is not None]
    if len(known) < len(rules) or any(fits(value) for _, fits in known):
        if len(known) == len(rules):
            is_path = any(get_origin(each) is os.PathLike for each in _members(hint))
            _check_text(name, value, is_path)
        _check_elements(name, value, hint)
        return
    *others, last = ", ".join(dict.fromkeys(text for text, _ in known)).split(", ")
    expected = f"{', '.join(others)} or {last}" if others else last
    is_word = isinstance(value, str) and any(
        get_origin(member) is Literal for member in _members(hint)
    )
    kind = ValueError if is_word else TypeError
    raise kind(f"{name}: expected {expected}, found {shown(value)}")


def _check_text(name: str, value: object, is_path: bool) -> None:
    """Raises ValueError for a text that is none of Unicode, or a path that no system has."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        return
    if is_path and "\0" in text:
        raise ValueError(f"{name}: expected a path without U+0000, found {text!r}")
    try:
        text.encode(errors="surrogateescape" if is_path else "strict")  # names of files may be bytes
    except UnicodeEncodeError as error:
        found = text[error.start]
        raise ValueError(f"{name}: expected characters of Unicode, found {found!r}") from None


def _check_elements(name: str, value: object, hint: Any) -> None:
    """check() of what lists and dicts hold."""
    for member in _members(hint):
        if get_origin(member) is Annotated:
            _check_elements(name, value, get_args(member)[0])
        arguments = get_args(member)
        if get_origin(member) is collections.abc.Mapping and isinstance(value, Mapping):
            for key, each in value.items():
                if arguments[0] is str and not isinstance(key, str):
                    raise TypeError(f"{name}: expected keys that are texts, found {shown(key)}")
                check(f"{name}[{key!r}]", each, arguments[1])
        elif is_typeddict(member) and isinstance(value, Mapping):
            hints = get_type_hints(member)
            for key, each in value.items():
                if key not in hints:
                    raise TypeError(f"{name}: expected keys of {list(hints)}, found {shown(key)}")
                check(f"{name}[{key!r}]", each, hints[key])
        elif get_origin(member) is tuple and isinstance(value, (list, tuple)):
            for index, (each, wanted) in enumerate(zip(value, arguments)):
                check(f"{name}[{index}]", each, wanted)
        elif get_origin(member) is collections.abc.Sequence and _is_list(value, arguments[0]):
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
        if isinstance(value, (str, os.PathLike)) and not os.fsdecode(value).isprintable():
            return ValueError(f"{name}: expected a name in UTF-8, found {value!r}")
    for name, value in arguments.items():
        if isinstance(value, int) and value >= 1 << 31:
            return ValueError(f"{name}: expected less than 2^31, found {value}")
    found = ", ".join(f"{name}={shown(value)}" for name, value in arguments.items())
    return TypeError(f"expected arguments of other types, found {found}")
