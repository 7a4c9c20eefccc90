# SPDX-License-Identifier: Apache-2.0
"""Networks on described hardware: estimate, explore, crossbar."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from . import _halftone as native
from ._arguments import checked
from ._choices import Path
from ._data import Data, DataOptions, samples_of
from ._descriptions import Description, described_files, description_text, missing_files
from ._fields import described, set_fields
from ._hardware_reports import (
    CrossbarReport,
    EstimateReport,
    ExploreReport,
    LanguageEstimateReport,
)
from ._jobs import check_threads, input_names, settings_of
from ._metric import names_to_skip
from ._model import as_model
from ._progress import Progress, ProgressCallback
from ._recipes import Bits, Recipe, Skip, recipe_of
from ._sources import Source

Method: TypeAlias = Literal["roofline", "tiles", "events"]
Limits: TypeAlias = Annotated[Mapping[str, float] | str, '{"area": 2.5} or "area=2.5"']


def accelerators() -> list[str]:
    """The names of the hardware that the package describes.

    >>> import halftone as ht
    >>> "h100" in ht.accelerators()
    True
    """
    return native.accelerators()


@checked
def accelerator_text(name: str) -> str:
    """The description of hardware as TOML, to be changed; docs/accelerators.md has the keys.

    >>> import halftone as ht
    >>> text = ht.accelerator_text("edge-2bit").replace("clock_hz = 5e8", "clock_hz = 1e9")
    >>> ht.estimate("examples/mnist/mnist_mlp_700.onnx", text).accelerator
    '2-bit edge design'
    """
    with missing_files([name]):
        return native.accelerator_text(name)


@checked
def measure_hardware(
    device: str = "cpu",
    *,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
) -> str:
    """Describes the hardware at hand by measuring it: TOML, as estimate() takes it.

    device: the processor, or a graphics card, as in load().

    >>> import halftone as ht
    >>> chip = ht.measure_hardware(progress=False)                        # doctest: +SKIP
    >>> ht.estimate("examples/mnist/mnist_mlp_700.onnx", chip).seconds    # doctest: +SKIP
    """
    how = native.MeasureHardwareArguments()
    how.threads = check_threads(threads)
    with Progress(progress) as callback:
        how.progress = callback
        return native.measure_hardware(device, how)


@checked
@described("estimate")
def estimate(
    model: Source,
    accelerator: Description,
    *,
    batch: int | None = None,
    weight_bits: int | None = None,
    activation_bits: int | Literal["none"] | None = None,
    scheme: str | None = None,
    recipe: Recipe | None = None,
    skip: Skip | None = None,
    bits: Bits | None = None,
    training: bool = False,
    method: Method = "tiles",
    devices: int = 1,
    split: Literal["data", "tensor", "pipeline"] = "data",
    example: object = None,
) -> EstimateReport:
    """Time and energy of a network on described hardware, as `halftone estimate` prints them.

    model: as load() takes it.
    accelerator: a name of accelerators(), the path of a TOML file, its text, or the same as a dict.
    FIELDS
    weight_bits, activation_bits, scheme, recipe, skip, bits: codes that the layers of a float
    network get without data, as in quantize(): their bits count, not their values.

    >>> import halftone as ht
    >>> network = "examples/mnist/mnist_mlp_700.onnx"
    >>> found = ht.estimate(network, "edge-2bit", weight_bits=2, activation_bits=2)
    >>> found.seconds < ht.estimate(network, "edge-2bit").seconds
    True
    """
    how = native.EstimateArguments()
    set_fields(how, {"batch": batch, "training": training, "method": method, "devices": devices,
                     "split": split})  # fmt: skip
    network = as_model(model, example)
    codes = None
    if (weight_bits, activation_bits, scheme, recipe, skip, bits) != (None,) * 6:
        settings = settings_of(
            weight_bits=weight_bits, activation_bits=activation_bits, scheme=scheme
        )
        codes = recipe_of(recipe, settings, names_to_skip(skip, network), bits)
    described = description_text(accelerator, "accelerator")
    with missing_files(described_files(described)):
        return EstimateReport(native.estimate(network._network, described, codes, how))


@checked
@described("language_estimate")
def language_estimate(
    model: Path,
    accelerator: Description,
    *,
    weight_bits: int | None = None,
    bits: int | None = None,
    activation_bits: int = 16,
    cache_bits: int = 16,
    group_size: int = 0,
    batch: int = 1,
    prompt: int = 512,
    context: int = 1024,
    method: Method = "tiles",
    devices: int = 1,
    split: Literal["data", "tensor", "pipeline"] = "data",
) -> LanguageEstimateReport:
    """Time and energy of a language model on described hardware, as `halftone estimate` prints them.

    model: config.json of a folder of Hugging Face, whose shape counts; or a file or folder as
    LanguageModel.open() takes it, each matrix in its own type.
    accelerator: as in estimate().
    FIELDS

    >>> import halftone as ht, json
    >>> shape = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22,
    ...          "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 5632,
    ...          "vocab_size": 32000}
    >>> with open("build/config.json", "w") as file:
    ...     json.dump(shape, file)
    >>> found = ht.language_estimate("build/config.json", "h100", weight_bits=4, group_size=32)
    >>> found.token.seconds < found.prompt.seconds, found.weights
    (True, 'int4')
    """
    how = native.LanguageEstimateArguments()
    set_fields(how, {"weight_bits": weight_bits, "bits": bits,
                     "activation_bits": activation_bits, "cache_bits": cache_bits,
                     "group_size": group_size, "batch": batch, "prompt": prompt,
                     "context": context, "method": method, "devices": devices,
                     "split": split})  # fmt: skip
    described = description_text(accelerator, "accelerator")
    with missing_files([os.fsdecode(model), *described_files(described)]):
        return LanguageEstimateReport(native.estimate_language(model, described, how))


def _budget_text(budget: Limits | None) -> str:
    if budget is None or isinstance(budget, str):
        return budget or ""
    return ",".join(f"{name.replace('_', '-')}={float(limit)!r}" for name, limit in budget.items())


@checked
@described("explore", "data")
def explore(
    model: Source,
    data: Data,
    space: Description,
    *,
    objective: Literal["time", "energy", "edp"] = "time",
    budget: Limits | None = None,
    method: Method = "tiles",
    recipe: Recipe | None = None,
    test_data: Data = None,
    test_limit: int | None = None,
    batch: int | None = None,
    tries: int = 6,
    state: Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "train",
    memory: int | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> ExploreReport:
    """Chooses hardware and bits for each layer together, as `halftone explore` does.

    It measures what each layer loses, finds the designs that no other one beats, quantizes the best
    ones and measures them. For the same samples the figures are those of the program.

    model: a float network, as load() takes it. data: as in quantize(), to which layers are fitted.
    space: what may change: the path of a TOML file, its text, or the same as a dict;
    docs/explore.md has the keys.
    FIELDS
    budget: limits: "accuracy-drop" (0.01 unless given), "area" in mm2, "time" in seconds, "energy"
    in joules, as {"area": 1.5} or "area=1.5,accuracy-drop=0.02".
    recipe: how layers are fitted.
    test_data: samples on which losses are measured; None: every fourth one of the data, which the
    fit does not see then. test_limit: use only so many of them.
    threads, progress: as in quantize().

    >>> import halftone as ht
    >>> space = {"accelerator": "edge-2bit", "weight_bits": [2, 8]}
    >>> found = ht.explore("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", space, limit=60,
    ...                    objective="energy", budget={"accuracy-drop": 0.3}, progress=False)
    >>> found.is_within, len(found.chosen.design.bits)
    (True, 2)
    """
    if test_data is None and test_limit is not None:
        raise ValueError("test_limit: only with test_data=")
    how = native.ExploreArguments()
    how.threads, how.space = check_threads(threads), description_text(space, "space")
    how.budget = _budget_text(budget)
    set_fields(how, {"objective": objective, "method": method, "batch": batch, "tries": tries,
                     "state": state, "seed": seed, "memory": memory})  # fmt: skip
    fitted = recipe_of(recipe)
    network = as_model(model, example, data)
    inputs = input_names(network)
    samples = samples_of(data, inputs, DataOptions(limit, scale, split))
    judged = None
    if test_data is not None:
        judged = samples_of(test_data, inputs, DataOptions(test_limit, scale, "test"))
    with Progress(progress) as callback, missing_files(described_files(how.space)):
        how.progress = callback
        return ExploreReport(native.explore(network._network, samples, judged, fitted, how))


@checked
@described("crossbar", "data")
def crossbar(
    model: Source,
    data: Data,
    labels: Any = None,
    *,
    device: Description,
    seeds: int = 10,
    seconds: float | None = None,
    batch: int = 64,
    seed: int = 0,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "test",
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> CrossbarReport:
    """Simulates the layers of bits on memristive crossbars, as `halftone crossbar` does.

    model: a network with layers of bits, as quantize() makes it. data, labels: as in evaluate().
    device: "ideal", "pcm", "reram", the path of a TOML file, its text, or the same as a dict;
    docs/crossbar.md has the keys.
    FIELDS

    >>> import halftone as ht
    >>> small, _ = ht.quantize("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", limit=50,
    ...                        weight_bits=1, activation_bits=1, progress=False)
    >>> ht.crossbar(small, "examples/mnist", device="ideal", limit=100, progress=False).is_equal
    True
    """
    how = native.CrossbarArguments()
    how.threads = check_threads(threads)
    set_fields(how, {"seeds": seeds, "seconds": seconds, "seed": seed, "batch": batch})
    described = description_text(device, "device")
    network = as_model(model, example, data)
    samples = samples_of(data, input_names(network), DataOptions(limit, scale, split), labels)
    with Progress(progress) as callback, missing_files(described_files(described)):
        how.progress = callback
        return CrossbarReport(native.crossbar(network._network, samples, described, how))
