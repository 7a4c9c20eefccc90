# SPDX-License-Identifier: Apache-2.0
"""The verbs of the program: quantize, evaluate, bench, inspect, convert."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from . import _halftone as native
from ._arguments import checked
from ._choices import Budget, Choices, Loss, Measuring, impossible_budgets, limits_of
from ._data import Data, DataOptions, samples_of
from ._model import FloatOrder, Model, as_model, execution
from ._progress import Progress, ProgressCallback
from ._recipes import Bits, Recipe, recipe_of
from ._reports import Evaluation, Inspection, Measurement, QuantizeReport
from ._sensitivity_reports import BudgetReport
from ._sources import Constants, Shapes, Source, read

Path: TypeAlias = str | os.PathLike[str]
Arithmetic: TypeAlias = Literal["auto", "bits", "integers", "float"]
Calibrator: TypeAlias = Literal["fit", "min-max", "moving-average", "percentile", "mse", "kl"]


class Quantized(NamedTuple):
    """What quantize() returns; with a budget the report is a BudgetReport."""

    model: Model
    report: QuantizeReport


def _settings(
    weight_bits: int | None,
    activation_bits: int | Literal["none"] | None,
    names: dict[str, str | None],
    ends: int | None = None,
) -> native.Settings:
    settings = native.Settings()
    for name, bits in (
        ("weight_bits", weight_bits), ("activation_bits", activation_bits), ("ends", ends)
    ):  # fmt: skip
        if isinstance(bits, int) and bits < 1:
            raise ValueError(f"{name}: expected at least 1, found {bits}")
    settings.ends = ends
    settings.weight_bits = weight_bits
    settings.activation_bits = "" if activation_bits is None else str(activation_bits)
    for key, value in names.items():
        setattr(settings, key, value or "")
    return settings


def check_threads(threads: int | None) -> int:
    if threads is not None and threads < 1:
        raise ValueError(f"threads: expected at least 1, or None for all cores, found {threads}")
    return threads or 0


def input_names(model: Model) -> list[str]:
    return [port.name for port in model.inputs]


def _report_texts(
    quantized: native.Quantized | native.QuantizedWithin, output: Path | None
) -> Callable[[], tuple[str, str]]:
    size = None if output is None else os.path.getsize(output)

    def texts() -> tuple[str, str]:
        if size is not None:
            return quantized.report(size)
        form = native.Form(False, False)
        try:
            return quantized.report(len(quantized.network.to_bytes("circle", form)))
        except NotImplementedError:
            return quantized.report(len(quantized.network.to_bytes("onnx", form)))

    return texts


def _check_budget_alone(
    weight_bits: object, activation_bits: object, full_integer: object, names: dict[str, str | None]
) -> None:
    """Nothing but the budget says which bits layers have."""
    given = {
        "weight_bits": weight_bits,
        "activation_bits": activation_bits,
        "full_integer": full_integer,
        **{name: value for name, value in names.items() if name.endswith("scheme")},
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name}: expected none beside budget=, which chooses it")


@checked
def quantize(
    model: Source,
    data: Data,
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
    skip: str | Sequence[str] | None = None,
    bits: Bits | None = None,
    budget: Budget | None = None,
    choices: Choices | None = None,
    loss: Loss | None = None,
    test_data: Data = None,
    test_limit: int | None = None,
    tries: int | None = None,
    state: Path | None = None,
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

    model: a Model or anything that load() takes. data: an array [N, ...], an iterable of arrays, or
    a path; see the guide.
    activation_bits: "none" leaves activations float32. scheme: a number system, or "float".
    ends: bits of weights and activations in the first and last layers; 8 keeps most of what few
    bits lose.
    recipe: the path of a TOML file, its text, or the same as a dict.
    skip: names or patterns of layers that stay as they are. bits: those of layers by name or
    pattern, as {"stem*": 8, "block?/*": "4/8"}: weights, or weights and inputs. Both come behind
    the rules of the recipe.
    budget: limits within which each layer gets its bits, in place of bits and number systems: one
    or two of "bytes" (of the file), "us" (a sample, on this machine) and "loss", as
    {"bytes": 60_000} or "bytes=60k". The report is a BudgetReport then, and the file that of
    `halftone quantize --budget`. choices, loss, test_data, test_limit, state: as in sensitivity().
    tries: networks to quantize, at most; None: 4.
    full_integer: a network of 8-bit integers in the operators of this format.
    output: a file to write, whose size the report then has. Without it, the bytes of a budget are
    those of a .circle file.
    memory: bytes for values of the samples between layers; less is slower and changes no result.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.

    >>> import halftone as ht
    >>> model, report = ht.quantize("examples/mnist/mnist_mlp_700.onnx", "examples/mnist",
    ...                             weight_bits=2, activation_bits=2, limit=100)
    >>> [layer.weight_bits for layer in model.layers]
    [2, 2]
    """
    names = {
        "scheme": scheme,
        "weight_scheme": weight_scheme,
        "activation_scheme": activation_scheme,
        "arithmetic": arithmetic,
        "calibrator": calibrator,
    }
    wanted = recipe_of(recipe, _settings(weight_bits, activation_bits, names, ends), skip, bits)
    workers = check_threads(threads)
    measuring = Measuring(choices, loss, test_data, test_limit, state)
    if budget is None:
        measuring.check_unused("only with budget=")
        if tries is not None:
            raise ValueError("tries: only with budget=")
    else:
        _check_budget_alone(weight_bits, activation_bits, full_integer, names)
    if tries is not None and tries < 1:
        raise ValueError(f"tries: expected at least 1, found {tries}")
    network = as_model(model, example)
    if output is not None:
        native.check_output(network._network, os.fsdecode(output))
    inputs = input_names(network)
    samples = samples_of(data, inputs, DataOptions(limit, scale, split))
    quantized: native.Quantized | native.QuantizedWithin
    with Progress(progress) as callback:
        how = native.QuantizeHow(workers, callback, seed, memory, full_integer or "")
        if budget is None:
            quantized = native.quantize(network._network, samples, wanted, how)
        else:
            file = "" if output is None else os.fsdecode(output)
            allowed = measuring.native(inputs, scale)
            limits = native.Limits(limits_of(budget), 4 if tries is None else tries, file, allowed)
            with impossible_budgets():
                quantized = native.quantize_within(network._network, samples, wanted, limits, how)
    result = Model(quantized.network, "memory", network._options)
    if output is not None:
        result.save(output)
    texts = _report_texts(quantized, output)
    if isinstance(quantized, native.Quantized):
        return Quantized(result, QuantizeReport(texts))
    return Quantized(result, BudgetReport(texts, quantized.sensitivity))


@checked
def evaluate(
    model: Source,
    data: Data,
    labels: Any = None,
    *,
    reference: Source | None = None,
    batch: int = 64,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "test",
    float_activations: bool = False,
    float_order: FloatOrder = "fastest",
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Evaluation:
    """Accuracy of a classifier on labelled samples, and its closeness to a reference network.

    data: as in quantize(). labels: integers [N], unless the data brings them.

    >>> import halftone as ht
    >>> ht.evaluate("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", limit=1000).metric
    'accuracy'
    """
    order = execution(float_activations, float_order)
    workers = check_threads(threads)
    network = as_model(model, example)
    other = None if reference is None else as_model(reference)._network
    samples = samples_of(data, input_names(network), DataOptions(limit, scale, split), labels)
    with Progress(progress) as callback:
        how = native.RunHow(workers, callback, order)
        return Evaluation(native.evaluate(network._network, samples, other, batch, how))


@checked
def bench(
    model: Source,
    *,
    batch: int | None = None,
    seconds: float = 0.5,
    explain: bool = False,
    float_activations: bool = False,
    float_order: FloatOrder = "fastest",
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Measurement:
    """Latency of a run and of every layer. explain: str() says why each kernel was chosen.

    >>> import halftone as ht
    >>> ht.bench("examples/mnist/mnist_mlp_700.onnx", seconds=0, threads=1).batch
    1
    """
    order = execution(float_activations, float_order)
    workers = check_threads(threads)
    network = as_model(model, example)._network
    with Progress(progress) as callback:
        how = native.RunHow(workers, callback, order)
        return Measurement(native.bench(network, batch, seconds, explain, how))


@checked
def inspect(
    model: Source,
    *,
    simplified: bool = False,
    work: bool = False,
    batch: int | None = None,
    example: object = None,
) -> Inspection:
    """What a network is made of; str() is the text of `halftone inspect`.

    simplified: as quantize() sees it. work: count the products and bytes of every node.

    >>> import halftone as ht
    >>> ht.inspect("examples/mnist/mnist_mlp_700.onnx").parameters
    556510
    """
    return as_model(model, example).inspect(simplified=simplified, work=work, batch=batch)


@checked
def convert(
    model: Source,
    output: Path,
    *,
    decoded: bool = False,
    standard: bool = False,
    matmul_nbits: bool = False,
    shapes: Shapes | None = None,
    constants: Constants | None = None,
    example: object = None,
) -> Inspection:
    """Writes a network in the format of another file name, simplified.

    decoded: float32 in place of codes, with operators that every runtime has.
    standard, matmul_nbits: as in Model.save().

    >>> import halftone as ht, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "m.tflite")
    ...     ht.convert("examples/mnist/mnist_mlp_700.onnx", path).format
    'tflite'
    """
    if isinstance(model, Model):
        network = model._network
    else:
        network, _ = read(model, example=example, shapes=shapes, constants=constants)
    form = native.Form(standard, matmul_nbits)
    return Inspection(network.convert(os.fsdecode(output), form, decoded))
