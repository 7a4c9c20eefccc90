# SPDX-License-Identifier: Apache-2.0
"""Descriptions of hardware as the compiled module takes them, and files that are missing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from ._recipes import toml_of

#: A name, the path of a TOML file, its text, or the same as a dict.
Description: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]


def description_text(description: Description, what: str) -> str:
    """A description as the compiled module takes it: its text has a line feed."""
    if isinstance(description, Mapping):
        return toml_of(description, what)
    return os.fsdecode(description)


def described_files(description: str) -> list[str]:
    """The file that a description may name."""
    return [] if "\n" in description else [description]


@contextmanager
def missing_files(paths: Sequence[str]) -> Iterator[None]:
    """Errors of reading or writing are about a missing file if one of these is missing."""
    try:
        yield
    except OSError as error:
        if all(os.path.exists(path) for path in paths):
            raise
        raise FileNotFoundError(str(error)) from None
