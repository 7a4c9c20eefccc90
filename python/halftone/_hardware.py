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
    batch: samples of a run; None: 1, or that of the network.
    weight_bits, activation_bits, scheme, recipe, skip, bits: codes that the layers of a float
    network get without data, as in quantize(): their bits count, not their values.
    training: a training step, also the way back and the update of the weights.
    method: "roofline" (a lower bound), "tiles" (closed forms) or "events" (a simulation).
    devices, split: chips that share the work, and what they share.

    >>> import halftone as ht
    >>> network = "examples/mnist/mnist_mlp_700.onnx"
    >>> found = ht.estimate(network, "edge-2bit", weight_bits=2, activation_bits=2)
    >>> found.seconds < ht.estimate(network, "edge-2bit").seconds
    True
    """
    how = native.EstimateArguments()
    how.batch, how.training, how.method = batch, training, method
    how.devices, how.split = devices, split
    network = as_model(model, example)
    codes = None
    if (weight_bits, activation_bits, scheme, recipe, skip, bits) != (None,) * 6:
        settings = settings_of(weight_bits, activation_bits, {"scheme": scheme})
        codes = recipe_of(recipe, settings, names_to_skip(skip, network), bits)
    described = description_text(accelerator, "accelerator")
    with missing_files(described_files(described)):
        return EstimateReport(native.estimate(network._network, described, codes, how))


@checked
def language_estimate(
    model: Path,
    accelerator: Description,
    *,
    weight_bits: int | None = None,
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
    accelerator, method, devices, split: as in estimate().
    weight_bits, group_size: of a model by its shape: bits of a weight (None: 16), and weights that
    share a scale of 16 bits (0: scales are not counted).
    activation_bits, cache_bits: bits of activations, and of keys and values; from 16 on floats.
    batch: sequences. prompt: tokens of the prompt. context: tokens in the cache when one is
    generated.

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
    how.weight_bits, how.activation_bits, how.cache_bits = weight_bits, activation_bits, cache_bits
    how.group_size, how.batch, how.prompt, how.context = group_size, batch, prompt, context
    how.method, how.devices, how.split = method, devices, split
    described = description_text(accelerator, "accelerator")
    with missing_files([os.fsdecode(model), *described_files(described)]):
        return LanguageEstimateReport(native.estimate_language(model, described, how))


def _budget_text(budget: Limits | None) -> str:
    if budget is None or isinstance(budget, str):
        return budget or ""
    return ",".join(f"{name.replace('_', '-')}={float(limit)!r}" for name, limit in budget.items())


@checked
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
    objective: what is least: "time", "energy" or "edp", their product.
    budget: limits: "accuracy-drop" (0.01 unless given), "area" in mm2, "time" in seconds, "energy"
    in joules, as {"area": 1.5} or "area=1.5,accuracy-drop=0.02".
    method, batch: as in estimate(). recipe: how layers are fitted.
    test_data: samples on which losses are measured; None: every fourth one of the data, which the
    fit does not see then. test_limit: use only so many of them.
    tries: designs to quantize, at most.
    state: a file that keeps what was measured, from which the same call continues.
    memory, threads, progress: as in quantize().

    >>> import halftone as ht
    >>> space = {"accelerator": "edge-2bit", "weight_bits": [2, 8]}
    >>> found = ht.explore("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", space, limit=60,
    ...                    objective="energy", budget={"accuracy-drop": 0.3}, progress=False)
    >>> found.is_within, len(found.chosen.design.bits)
    (True, 2)
    """
    if tries < 1:
        raise ValueError(f"tries: expected at least 1, found {tries}")
    if test_data is None and test_limit is not None:
        raise ValueError("test_limit: only with test_data=")
    how = native.ExploreArguments()
    how.threads, how.seed, how.memory = check_threads(threads), seed, memory
    how.space, how.objective, how.method = description_text(space, "space"), objective, method
    how.budget, how.batch, how.tries = _budget_text(budget), batch, tries
    how.state = "" if state is None else os.fsdecode(state)
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
    seeds: devices to program, with seeds from `seed` on. seconds: from programming to reading;
    None: as the description says.

    >>> import halftone as ht
    >>> small, _ = ht.quantize("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", limit=50,
    ...                        weight_bits=1, activation_bits=1, progress=False)
    >>> ht.crossbar(small, "examples/mnist", device="ideal", limit=100, progress=False).is_equal
    True
    """
    how = native.CrossbarArguments()
    how.threads, how.seeds, how.seconds = check_threads(threads), seeds, seconds
    how.seed, how.batch = seed, batch
    described = description_text(device, "device")
    network = as_model(model, example, data)
    samples = samples_of(data, input_names(network), DataOptions(limit, scale, split), labels)
    with Progress(progress) as callback, missing_files(described_files(described)):
        how.progress = callback
        return CrossbarReport(native.crossbar(network._network, samples, described, how))
