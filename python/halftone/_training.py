# SPDX-License-Identifier: Apache-2.0
"""Networks that learn: from labels, or from the answers of teachers. Needs libtorch."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack

from . import _halftone as native
from ._arguments import checked
from ._choices import Path
from ._data import Data, DataOptions, samples_of
from ._descriptions import Description, description_text
from ._fields import check_options, documented, set_fields
from ._jobs import check_threads, input_names, report_texts, settings_of
from ._metric import names_to_skip
from ._model import Model, as_model
from ._progress import Progress, ProgressCallback
from ._recipes import Bits, Recipe, Skip, recipe_of
from ._reports import EpochResult, TrainReport
from ._sources import Source

#: Called with each epoch when it is finished.
OnEpoch: TypeAlias = Callable[[EpochResult], object]


class _NoTorch:
    """Refuses to import torch, whose libtorch would crash beside the one that is loaded."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError(
                "torch cannot be loaded in a process in which halftone has trained: it has another "
                "libtorch; use another process",
                name=name,
            )


def training_module(job: str) -> ModuleType:
    """The compiled module with libtorch, loaded where it is needed: it may not be there."""
    torch = sys.modules.get("torch")
    if torch is not None and "dist-packages" not in str(torch.__file__):  # not that of the system
        raise NotImplementedError(
            f"{job} cannot run in a process that has loaded torch, which has another libtorch; use "
            "another process"
        )
    try:
        module = importlib.import_module("._halftone_train", __package__)
    except ImportError as error:
        raise NotImplementedError(
            f"{job} needs the module _halftone_train, which cannot be loaded ({error}): build it "
            "with libtorch, see 'Train' in docs/guides/python.md"
        ) from None
    if torch is None and _NoTorch not in sys.meta_path:
        sys.meta_path.insert(0, _NoTorch)
    return module


@documented("train")
class TrainOptions(TypedDict, total=False):
    """Options of train() and distill(): those of `halftone train`, see docs/training.md."""

    epochs: int
    batch: int
    parts: int
    optimizer: Literal["adam", "sgd"]
    learning_rate: float
    momentum: float
    weight_decay: float
    clip_grad_norm: float
    schedule: Literal["cosine", "step", "constant"]
    milestones: Sequence[float]
    schedule_decay: float
    warmup_epochs: float
    precision: str
    gradient_format: str
    gradient_rounding: Literal["stochastic", "nearest"]
    loss_scale: float
    batch_norm: bool
    freeze_from: float
    flip: bool
    crop: int
    seed: int
    validation_split: float
    patience: int
    checkpoint: str | os.PathLike[str] | None
    checkpoint_minutes: float
    resume: bool
    device: Literal["cpu", "cuda"]


class Trained(NamedTuple):
    """What train() and distill() return."""

    model: Model
    report: TrainReport


def _set_callbacks(how: Any, callback: ProgressCallback | None, on_epoch: OnEpoch | None) -> None:
    how.progress = callback
    if on_epoch is not None:
        how.on_epoch = lambda *facts: on_epoch(EpochResult(*facts))


def _finished(trained: Any, network: Model, output: Path | None) -> Trained:
    model = Model(trained.network, "memory", network._options)
    if output is not None:
        model.save(output)
    return Trained(model, TrainReport(report_texts(trained, output)))


@checked
def train(
    model: Source,
    data: Data,
    labels: Any = None,
    *,
    keep: bool = False,
    output: Path | None = None,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "train",
    on_epoch: OnEpoch | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
    **options: Unpack[TrainOptions],
) -> Trained:
    """Trains a float network on labels, from its graph alone, as `halftone train` does.

    Needs a build with libtorch, else it raises NotImplementedError. The result has the bytes of the
    program's for the same options and samples, for any number of threads.

    model: as load() takes it. data, labels: as in evaluate(). keep: start from the values of the
    network, not from fresh ones.
    output: a file to write, whose size the report then has.
    on_epoch: called with an EpochResult after each epoch.
    options: those of TrainOptions.

    Ctrl-C, and exceptions of callbacks, end the run after its step; with checkpoint= the same call
    with resume=True continues it.

        trained, report = ht.train("model.onnx", (x, y), epochs=10, validation_split=0.1)
    """
    module = training_module("train")
    how = module.TrainArguments()
    check_options(options, TrainOptions)
    set_fields(how, options)
    how.threads = check_threads(threads)
    network = as_model(model, example, data)
    samples = samples_of(data, input_names(network), DataOptions(limit, scale, split), labels)
    if output is not None:
        native.check_output(network._network, samples, os.fsdecode(output))
    with Progress(progress) as callback:
        _set_callbacks(how, callback, on_epoch)
        return _finished(module.train(network._network, samples, keep, how), network, output)


@documented("distill")
class DistillOptions(TrainOptions, total=False):
    """Options of distill() alone, beside those of TrainOptions.

    stages (default ()): Epochs in more bits before: ("8:2", "4:1").
    features (default ()): Values of the first teacher and the student to be alike, with weights:
        ("a=b", "c=d:0.5").
    crossbar also takes a description as a dict.
    """

    fresh: bool
    calibration: int
    stages: Sequence[str]
    label_weight: float
    temperature: float
    loss: Literal["auto", "kl", "mse"]
    features: Sequence[str]
    teacher_cache: str | os.PathLike[str] | None
    levels: Literal["gradient", "average"]
    level_rate_factor: float
    crossbar: str | os.PathLike[str] | Mapping[str, Any] | None
    crossbar_seconds: float | None


def _set_distillation(how: Any, options: Mapping[str, Any], recipe: native.Recipe | None) -> None:
    check_options(options, DistillOptions)
    given = dict(options)
    device: Description | None = given.pop("crossbar", None)
    if device is not None:
        given["crossbar"] = description_text(device, "crossbar")
    elif given.get("crossbar_seconds") is not None:
        raise ValueError("crossbar_seconds: only with crossbar=")
    if recipe is not None:
        how.set_recipe(recipe.to_toml())
    how.set_stages(list(given.pop("stages", ())))
    how.set_features(list(given.pop("features", ())))
    set_fields(how, given)


@checked
def distill(
    model: Source,
    data: Data,
    labels: Any = None,
    *,
    teacher: Source | Sequence[Source] | None = None,
    weight_bits: int | None = None,
    activation_bits: int | Literal["none"] | None = None,
    ends: int | None = None,
    scheme: str | None = None,
    recipe: Recipe | None = None,
    skip: Skip | None = None,
    bits: Bits | None = None,
    output: Path | None = None,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "train",
    on_epoch: OnEpoch | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
    **options: Unpack[DistillOptions],
) -> Trained:
    """Trains a network in few bits on the answers of a float network, as `halftone distill` does.

    Needs a build with libtorch, else it raises NotImplementedError. The result has the bytes of the
    program's for the same options and samples, for any number of threads.

    model: the student: a float network or one in few bits. data: as in quantize(). labels: as in
    evaluate(), for label_weight.
    teacher: a float network, or several, whose answers are averaged; None: the model as it is,
    before it gets few bits.
    weight_bits, activation_bits, ends, scheme, recipe, skip, bits: as in quantize(): the student is
    quantized so before it learns. Without them and with a teacher, it learns as it is.
    output, on_epoch, threads, progress: as in train().
    options: those of DistillOptions and TrainOptions.

        small, report = ht.distill("model.onnx", x, weight_bits=1, activation_bits=1, epochs=20)
        tuned, report = ht.distill(small, x, teacher="model.onnx", epochs=5)
    """
    module = training_module("distill")
    how = module.TrainArguments()
    network = as_model(model, example, data)
    codes = (weight_bits, activation_bits, ends, scheme, recipe, skip, bits)
    wanted = None
    if teacher is None or codes != (None,) * len(codes):
        settings = settings_of(
            weight_bits=weight_bits, activation_bits=activation_bits, scheme=scheme, ends=ends
        )
        wanted = recipe_of(recipe, settings, names_to_skip(skip, network), bits)
    _set_distillation(how, options, wanted)
    how.threads = check_threads(threads)
    several = list(teacher) if isinstance(teacher, (list, tuple)) else [teacher]
    teachers = [network if each is None else as_model(each) for each in several]
    samples = samples_of(data, input_names(network), DataOptions(limit, scale, split), labels)
    if output is not None:
        native.check_output(network._network, samples, os.fsdecode(output))
    student = None if teacher is None else network._network
    with Progress(progress) as callback:
        _set_callbacks(how, callback, on_epoch)
        networks = [each._network for each in teachers]
        return _finished(module.distill(networks, student, samples, how), network, output)
