# SPDX-License-Identifier: Apache-2.0
"""Metrics of a program's own, of which quantization may lose only so much."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ._arrays import Array
from ._data import Data, arrays_of
from ._model import Model
from ._recipes import Skip

#: metric(model), or metric(outputs, labels): a number, the higher the better.
Metric: TypeAlias = Callable[..., float]


def _parameters(metric: Metric) -> int:
    """How many arguments a metric must be given."""
    try:
        found = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):  # of some functions in C
        return 1
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in plain and each.default is each.empty for each in found)


def _outputs(model: Model, inputs: Sequence[Array], batch: int) -> Any:
    """What a network answers to all samples; a tuple where it has several outputs."""
    parts = [model(*(x[i : i + batch] for x in inputs)) for i in range(0, len(inputs[0]), batch)]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(column) for column in zip(*parts))
    return np.concatenate(parts)


class Measured:
    """A metric that is called with models."""

    def __init__(self, metric: Metric, names: Sequence[str], data: Data, limit: int | None):
        self._metric = metric
        self._samples: tuple[list[Array], Array | None] | None = None
        if _parameters(metric) == 2:
            self._samples = arrays_of(data, names, limit)
            if self._samples[1] is None:
                raise ValueError("metric(outputs, labels): the samples have no labels")

    def __call__(self, model: Model) -> float:
        if self._samples is None:
            found = self._metric(model)
        else:
            inputs, labels = self._samples
            found = self._metric(_outputs(model, inputs, 64), labels)
        if isinstance(found, (bool, np.bool_)) or not isinstance(
            found, (int, float, np.integer, np.floating)
        ):
            raise TypeError(f"metric: expected a number, found {type(found).__name__}")
        if not math.isfinite(found):
            raise ValueError(f"metric: expected a finite number, found {found}")
        return float(found)


def within_drop(
    units: Sequence[Sequence[str]],
    quantized: Callable[[Sequence[str]], Any],
    measure: Callable[[Any], float],
    least: float,
) -> tuple[Any, float, tuple[str, ...]] | None:
    """The quantized network with the fewest float layers whose metric is at least so much.

    units: names of layers that stay float together, those that lose most first.
    quantized: makes the network with some layers float. Bisects on the number of units, as if a
    network with more float layers were never worse; None if all would have to be float.
    """
    low, high = 0, len(units)  # with `low` units it was too low, with `high` it is the network
    best = None
    while high - low > 1:
        middle = (low + high) // 2
        names = tuple(name for unit in units[:middle] for name in unit)
        result = quantized(names)
        value = measure(result)
        if value >= least:
            high, best = middle, (result, value, names)
        else:
            low = middle
    return best


def escaped(name: str) -> str:
    """A pattern that matches a name alone."""
    return "".join(f"\\x{ord(c):02x}" if c in "*?[]\\" else c for c in name)


def skip_list(skip: str | Sequence[str] | None) -> list[str]:
    return [skip] if isinstance(skip, str) else list(skip or ())


def names_to_skip(skip: Skip | None, model: Model) -> str | Sequence[str] | None:
    """Patterns of the layers for which a function is true; others as they are."""
    if not callable(skip):
        return skip
    layers = model.inspect(simplified=True).layers
    return [escaped(layer.name) for layer in layers if skip(layer)]
