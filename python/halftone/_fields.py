# SPDX-License-Identifier: Apache-2.0
"""Options of jobs. Their defaults, ranges and sentences are those that the compiled module lists."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, get_type_hints

from . import _halftone as native
from ._arguments import check, plain

_Options = TypeVar("_Options", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])

class Field(NamedTuple):
    """An option of a job."""

    name: str
    kind: str  # "bool", "int", "float", "str", "path", "floats", "texts" or "ints"
    default: Any
    range: str
    text: str
    option: str  # of the program
    usual: str = ""  # what it means that it is not set

    @property
    def line(self) -> str:
        """What the reference says of it."""
        default = self.usual or repr(self.default)
        facts = [fact for fact in (self.range, f"default {default}") if fact]
        text = re.sub(r"--([a-z][a-z-]*)", lambda m: m[1].replace("-", "_"), self.text)
        line = f"{self.name} ({', '.join(facts)}): {text}."
        return "\n".join(textwrap.wrap(line, 96, subsequent_indent="    ", break_on_hyphens=False))


def fields_of(job: str) -> dict[str, Field]:
    """The fields of train(), distill(), ..., and "generate", by name."""
    return {row[0]: Field(*row) for row in native.fields(job)}


def documented(job: str, base: str | None = None) -> Callable[[_Options], _Options]:
    """Adds a line for each option that the job lists to the docstring of a dictionary of options.

    base: the job of the dictionary that it extends, whose options are described there.
    """

    def add(options: _Options) -> _Options:
        inherited = fields_of(base) if base else {}
        lines = [each.line for each in fields_of(job).values() if each.name not in inherited]
        options.__doc__ = f"{(options.__doc__ or '').rstrip()}\n\n    " + "\n".join(lines).replace(
            "\n", "\n    "
        )
        return options

    return add


def described(*jobs: str) -> Callable[[_Function], _Function]:
    """Writes a line for each parameter that is a field of these jobs in place of the line FIELDS of
    a docstring."""

    def add(function: _Function) -> _Function:
        names = inspect.signature(function).parameters
        fields = {name: each for job in jobs for name, each in fields_of(job).items()}
        lines = "\n".join(fields[name].line for name in names if name in fields)
        function.__doc__ = re.sub(
            r"^( *)FIELDS$",
            lambda found: textwrap.indent(lines, found[1]),
            function.__doc__ or "",
            flags=re.MULTILINE,
        )
        return function

    return add


def check_options(options: Mapping[str, Any], kinds: type) -> None:
    """Raises TypeError for an option that the dictionary of options does not have, or another type
    than it has there, and ValueError for another word."""
    hints = get_type_hints(kinds)
    for name, value in options.items():
        if name not in hints:
            raise TypeError(f"unexpected option {name!r}")
        check(name, value, hints[name])


def set_fields(arguments: Any, options: Mapping[str, Any]) -> None:
    """Sets options that were checked; ValueError for one out of its range."""
    for name, value in options.items():
        if isinstance(value, (list, tuple)):
            value = [plain(each) for each in value]
        arguments.set(name, plain(value))
