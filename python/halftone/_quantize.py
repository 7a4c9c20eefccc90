# SPDX-License-Identifier: Apache-2.0
"""Networks in few bits."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from . import _halftone as native
from ._arguments import checked
from ._choices import Budget, Choices, Loss, Measuring, impossible_budgets, limits_of
from ._data import Data, DataOptions, samples_of
from ._fields import described
from ._jobs import Path, check_threads, input_names, report_texts, settings_of
from ._metric import Measured, Metric, escaped, names_to_skip, skip_list, within_drop
from ._model import Model, as_model
from ._presets import Preset, with_preset
from ._progress import Progress, ProgressCallback
from ._recipes import Bits, Recipe, Skip, recipe_of
from ._reports import MetricDrop, QuantizeReport
from ._sensitivity_reports import BudgetReport, Sensitivity
from ._sources import Source

Arithmetic: TypeAlias = Literal["auto", "bits", "integers", "float"]
Calibrator: TypeAlias = Literal["fit", "min-max", "moving-average", "percentile", "mse", "kl"]


class Quantized(NamedTuple):
    """What quantize() returns; with a budget the report is a BudgetReport."""

    model: Model
    report: QuantizeReport


def _check_budget_alone(given: dict[str, Any]) -> None:
    """Nothing but the budget says which bits layers have."""
    for name, value in given.items():
        if value is not None and name not in ("arithmetic", "calibrator"):
            raise ValueError(f"{name}: expected none beside budget=, which chooses it")


def _check_drop(metric: object, largest_drop: float | None, budget: object) -> None:
    if (metric is None) != (largest_drop is None):
        raise ValueError("metric= and largest_drop=: expected both or none")
    if largest_drop is None:
        return
    if budget is not None:
        raise ValueError("metric: expected no budget beside it")
    if not 0 <= largest_drop < math.inf:
        raise ValueError(f"largest_drop: expected a number of at least 0, found {largest_drop}")


class _Fit(NamedTuple):
    """How a network is fitted, and what it is fitted to."""

    network: Model
    samples: native.Samples
    recipe: Callable[[Sequence[str]], native.Recipe]  #: with more names to skip
    how: native.QuantizeArguments

    def quantized(self, float_layers: Sequence[str] = ()) -> native.Quantized:
        recipe = self.recipe([escaped(name) for name in float_layers])
        return native.quantize(self.network._network, self.samples, recipe, self.how)

    def order_of_loss(self, small: native.Network, test: native.Choices) -> list[list[str]]:
        """Layers that stay float together, those whose quantization loses most first."""
        network = self.network._network
        found = Sensitivity(native.sensitivity_of(small, network, self.samples, test, self.how))
        names = [layer.name for layer in found.layers]
        losses = found.choices[0].units
        order = sorted(range(len(losses)), key=lambda i: -losses[i].loss)
        return [[names[layer] for layer in found.units[i].layers] for i in order]

    def model(self, quantized: native.Quantized | native.QuantizedWithin) -> Model:
        return Model(quantized.network, "memory", self.network._options)


def _with_drop(
    fit: _Fit, measured: Measured, largest: float, test: Callable[[], native.Choices]
) -> tuple[native.Quantized, MetricDrop]:
    """The quantized network, with so many float layers that the metric keeps its drop."""
    before = measured(fit.network)
    small = fit.quantized()
    after = measured(fit.model(small))
    if after >= before - largest:
        return small, MetricDrop(before, after, ())
    found = within_drop(
        fit.order_of_loss(small.network, test()),
        fit.quantized,
        lambda quantized: measured(fit.model(quantized)),
        before - largest,
    )
    if found is None:
        raise ValueError(
            f"largest_drop: the metric falls from {before:.6g} to {after:.6g}, and no network with "
            f"a quantized layer loses at most {largest:.6g}; allow more, or give more bits"
        )
    result, value, names = found
    return result, MetricDrop(before, value, names)


@checked
@described("settings", "sensitivity", "budget", "data")
def quantize(
    model: Source,
    data: Data,
    preset: Preset | None = None,
    *,
    weight_bits: int | None = None,
    activation_bits: int | Literal["none"] | None = None,
    ends: int | None = None,
    scheme: str | None = None,
    weight_scheme: str | None = None,
    activation_scheme: str | None = None,
    arithmetic: Arithmetic | None = None,
    calibrator: Calibrator | None = None,
    recipe: Recipe | None = None,
    skip: Skip | None = None,
    bits: Bits | None = None,
    budget: Budget | None = None,
    choices: Choices | None = None,
    loss: Loss | None = None,
    test_data: Data = None,
    test_limit: int | None = None,
    tries: int | None = None,
    core: str | None = None,
    instruction_pj: float | None = None,
    state: Path | None = None,
    metric: Metric | None = None,
    largest_drop: float | None = None,
    seed: int = 0,
    full_integer: Literal["onnx", "tflite"] | None = None,
    output: Path | None = None,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "train",
    memory: int | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Quantized:
    """Learns few-bit weights and activations from unlabelled samples.

    The file of the result has the bytes that `halftone quantize` writes for the same recipe, seed
    and samples. Settings that are not given come from the recipe, and without one are the
    program's: 3 bits, number system "basis".

    model: a Model or anything that load() takes. data: an array [N, ...], an iterable of arrays, a
    Dataset of torch, or a path; see the guide.
    preset: settings by one word. "int8": weights and inputs as 8-bit integers with scales and zero
    points; "w4a8": weights of 4 bits, inputs of 8; "smallest": the fewest bytes, and "fastest": the
    least time on this machine, each with a budget for a loss of at most 0.01.
    FIELDS
    recipe: the path of a TOML file, its text, or the same as a dict.
    skip: names or patterns of layers that stay as they are, or a function that is true for the
    Layer of one. bits: those of layers by name or pattern, as {"stem*": 8, "block?/*": "4/8"}:
    weights, or weights and inputs. Both come behind the rules of the recipe.
    budget: limits within which each layer gets its bits, in place of bits and number systems: one
    or two of "bytes" (of the file), "us" (a sample, on this machine) and "loss", as
    {"bytes": 60_000} or "bytes=60k"; "flash" in place of bytes, "ram" beside it and "instructions"
    are those of export_c() for `core`, and "pj" is instructions times instruction_pj, the
    picojoules of one. The report is a BudgetReport then, and the file that of `halftone quantize
    --budget`. test_data, test_limit: as in sensitivity().
    metric, largest_drop: a function that says how good a network is, the higher the better, and how
    much it may lose: metric(model), or metric(outputs, labels) on test_data or else the data, in
    memory. If the quantized network loses more, the layers that lose most stay float: as few as
    keep the drop, found by bisection. report.metric has what was measured. ValueError if all would
    have to stay float.
    full_integer: a network of 8-bit integers in the operators of this format.
    output: a file to write, whose size the report then has. Without it, the bytes of a budget are
    those of a .circle file.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.

    >>> import halftone as ht
    >>> model, report = ht.quantize("examples/mnist/mnist_mlp_700.onnx", "examples/mnist",
    ...                             weight_bits=2, activation_bits=2, limit=100)
    >>> [layer.weight_bits for layer in model.layers]
    [2, 2]
    >>> def accuracy(model):
    ...     return ht.evaluate(model, "examples/mnist", limit=200, progress=False).value
    >>> _, report = ht.quantize("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", "w4a8",
    ...                         metric=accuracy, largest_drop=0.02, limit=100)
    >>> report.metric.drop <= 0.02
    True
    """
    wanted = with_preset(preset, {
        "weight_bits": weight_bits,
        "activation_bits": activation_bits,
        "weight_scheme": weight_scheme,
        "activation_scheme": activation_scheme,
        "arithmetic": arithmetic,
        "budget": budget,
    })  # fmt: skip
    budget = wanted.pop("budget")
    names = {"scheme": scheme, "calibrator": calibrator, **wanted}
    measuring = Measuring(choices, loss, test_data, test_limit, state)
    _check_drop(metric, largest_drop, budget)
    if budget is not None:
        _check_budget_alone({"full_integer": full_integer, **names})
    else:
        measuring.check_unused("only with budget=", with_samples=metric is None)
    of_budget = {"tries": tries, "core": core, "instruction_pj": instruction_pj}
    for name, value in of_budget.items():
        if value is not None and budget is None:
            raise ValueError(f"{name}: only with budget=")
    settings, workers = settings_of(**names, ends=ends), check_threads(threads)
    network = as_model(model, example, data)
    skipped = names_to_skip(skip, network)
    rules = recipe_of(recipe, settings, skipped, bits)  # which refuses wrong ones early
    inputs = input_names(network)
    samples = samples_of(data, inputs, DataOptions(limit, scale, split))
    if output is not None:
        native.check_output(network._network, samples, os.fsdecode(output))
    file = "" if output is None else os.fsdecode(output)
    with Progress(progress) as callback:
        how = native.QuantizeArguments(workers, callback, seed, memory, full_integer or "")
        fit = _Fit(
            network, samples,
            lambda more: recipe_of(recipe, settings, [*skip_list(skipped), *more], bits), how,
        )  # fmt: skip
        if budget is not None:
            limits = native.Limits(
                limits_of(budget), file, measuring.native(inputs, scale, **of_budget)
            )
            with impossible_budgets():
                within = native.quantize_within(network._network, samples, rules, limits, how)
            return _finished(fit, within, output)
        if metric is None or largest_drop is None:
            return _finished(fit, fit.quantized(), output)
        judged = (data, limit) if test_data is None else (test_data, test_limit)
        measured = Measured(metric, inputs, *judged)
        small, drop = _with_drop(
            fit, measured, largest_drop, lambda: measuring.native(inputs, scale)
        )
        return _finished(fit, small, output, drop)


def _finished(
    fit: _Fit,
    quantized: native.Quantized | native.QuantizedWithin,
    output: Path | None,
    drop: MetricDrop | None = None,
) -> Quantized:
    result = fit.model(quantized)
    if output is not None:
        result.save(output)
    texts = report_texts(quantized, output)
    if isinstance(quantized, native.Quantized):
        return Quantized(result, QuantizeReport(texts, drop))
    return Quantized(result, BudgetReport(texts, quantized.sensitivity))
