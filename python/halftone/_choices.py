# SPDX-License-Identifier: Apache-2.0
"""What layers may get, how that is measured, and budgets, as the compiled module takes them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal, NamedTuple, TypeAlias

from . import _halftone as native
from ._data import Data, DataOptions, samples_of
from ._fields import set_fields

Path: TypeAlias = str | os.PathLike[str]
Choices: TypeAlias = Sequence[str | int] | str
Loss: TypeAlias = Literal["kl", "error", "labels"]
Budget: TypeAlias = Annotated[Mapping[str, float] | str, '{"bytes": 60_000} or "bytes=60k"']


class Measuring(NamedTuple):
    """What layers may get, and on what losses are measured; None: as the program does."""

    choices: Choices | None
    loss: Loss | None
    test_data: Data
    test_limit: int | None
    state: Path | None

    def check_unused(self, reason: str, with_samples: bool = True) -> None:
        """with_samples: test_data and test_limit must be unused too."""
        for name, value in self._asdict().items():
            if value is not None and (with_samples or not name.startswith("test")):
                raise ValueError(f"{name}: {reason}")

    def native(
        self, inputs: Sequence[str], scale: float, time: bool = False, **of_budget: object
    ) -> native.Choices:
        """scale: of pixels. time: measure it. of_budget: fields of a search, None: not given."""
        if self.test_data is None and self.test_limit is not None:
            raise ValueError("test_limit: only with test_data=")
        test = None
        if self.test_data is not None:
            test = samples_of(self.test_data, inputs, DataOptions(self.test_limit, scale, "test"))
        chosen = native.Choices(test, time)
        given = {"choices": _names(self.choices), "loss": self.loss, "state": self.state,
                 **of_budget}  # fmt: skip
        set_fields(chosen, {name: value for name, value in given.items() if value is not None})
        return chosen


def _names(choices: Choices | None) -> list[str] | None:
    if choices is None:
        return None
    if not choices:
        raise ValueError("choices: expected at least one, found none")
    if isinstance(choices, str):
        return choices.split(",")
    return [str(each) for each in choices]


@contextmanager
def impossible_budgets() -> Iterator[None]:
    """A budget that cannot be met is a wrong value."""
    try:
        yield
    except NotImplementedError as error:
        if "cannot be met" in str(error):
            raise ValueError(str(error)) from None
        raise


def limits_of(budget: Budget) -> list[str]:
    """A budget as the program takes it: "bytes=60000"."""
    if isinstance(budget, str):
        return budget.split(",")
    return [f"{name}={float(limit)!r}" for name, limit in budget.items()]
