# SPDX-License-Identifier: Apache-2.0
"""The verbs of the program: evaluate, bench, inspect, convert, export."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from . import _halftone as native
from ._arguments import checked
from ._data import Data, DataOptions, samples_of
from ._descriptions import Description, described_files, description_text, missing_files
from ._fields import described, set_fields
from ._model import MAX_THREADS, FloatOrder, Model, as_model, execution
from ._progress import Progress, ProgressCallback
from ._reports import CExport, Evaluation, Inspection, Measurement
from ._sources import Constants, Shapes, Source, read

Path: TypeAlias = str | os.PathLike[str]


def settings_of(**given: int | str | None) -> native.Settings:
    """The settings of all layers that are given, by the names of recipes, and ends."""
    for name, value in given.items():
        if value == "":
            raise ValueError(f"{name}: expected a name, found ''")
    settings = native.Settings()
    set_fields(settings, {name: value for name, value in given.items() if value is not None})
    return settings


def check_threads(threads: int | None) -> int:
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise ValueError(
            f"threads: expected at least 1 and at most {MAX_THREADS}, or None for all cores, found "
            f"{threads}"
        )
    return threads or 0


def input_names(model: Model) -> list[str]:
    return [port.name for port in model.inputs]


class HasReport(Protocol):
    """A network in the compiled module, and its report, which needs the size of a file."""

    @property
    def network(self) -> native.Network: ...
    def report(self, output_bytes: int) -> tuple[str, str]: ...


def report_texts(
    quantized: HasReport, output: Path | None
) -> Callable[[], tuple[str, str]]:
    size = None if output is None else os.path.getsize(output)

    def texts() -> tuple[str, str]:
        if size is not None:
            return quantized.report(size)
        form = native.Form(False, False, False)
        try:
            return quantized.report(len(quantized.network.to_bytes("circle", form)))
        except NotImplementedError:
            return quantized.report(len(quantized.network.to_bytes("onnx", form)))

    return texts


@checked
@described("evaluate", "data")
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
    device: str = "cpu",
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Evaluation:
    """Accuracy of a classifier on labelled samples, and its closeness to a reference network.

    data: as in quantize(). labels: integers [N], unless the data brings them.
    FIELDS
    device: as in load().

    >>> import halftone as ht
    >>> ht.evaluate("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", limit=1000).metric
    'accuracy'
    """
    order = execution(float_activations, float_order, device)
    workers = check_threads(threads)
    network = as_model(model, example, data)
    other = None if reference is None else as_model(reference)._network
    samples = samples_of(data, input_names(network), DataOptions(limit, scale, split), labels)
    with Progress(progress) as callback:
        how = native.RunArguments(workers, callback, order)
        return Evaluation(native.evaluate(network._network, samples, other, batch, how))


@checked
@described("bench")
def bench(
    model: Source,
    *,
    batch: int | None = None,
    seconds: float = 0.5,
    explain: bool = False,
    float_activations: bool = False,
    float_order: FloatOrder = "fastest",
    device: str = "cpu",
    accelerator: Description | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Measurement:
    """Latency of a run and of every layer. explain: str() says why each kernel was chosen.

    FIELDS
    device: as in load(). Layers without a kernel there run on the processor, and values are copied.
    accelerator: hardware as estimate() takes it, whose times stand beside the measured ones.

    >>> import halftone as ht
    >>> ht.bench("examples/mnist/mnist_mlp_700.onnx", seconds=0, threads=1).batch
    1
    """
    order = execution(float_activations, float_order, device)
    workers = check_threads(threads)
    network = as_model(model, example)._network
    hardware = "" if accelerator is None else description_text(accelerator, "accelerator")
    with Progress(progress) as callback, missing_files(described_files(hardware)):
        how = native.RunArguments(workers, callback, order)
        how.accelerator = hardware
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


def onnxruntime_library() -> str:
    """The library of operators for ONNX Runtime 1.16 or later, which runs .onnx files with layers of
    few bits, and those that Model.save(..., one_operator=True) writes:

        options = onnxruntime.SessionOptions()
        options.register_custom_ops_library(ht.onnxruntime_library())

    A layer uses all cores, or as many threads as the entry "halftone.threads" of the options says
    when they are given the library.

    >>> import halftone as ht, os
    >>> os.path.exists(ht.onnxruntime_library())
    True
    """
    return os.path.abspath(native.__file__)


def litert_library() -> str:
    """The library of operators for LiteRT, a delegate, which runs .tflite files with layers of few
    bits, and those that Model.save(..., one_operator=True) writes:

        delegate = load_delegate(ht.litert_library(), {"threads": 2})
        interpreter = Interpreter("small.tflite", experimental_delegates=[delegate])

    Without the option "threads" it uses as many as the interpreter has.

    >>> import halftone as ht, os
    >>> os.path.exists(ht.litert_library())
    True
    """
    return os.path.abspath(native.__file__)


@checked
def convert(
    model: Source,
    output: Path,
    *,
    decoded: bool = False,
    standard: bool = False,
    matmul_nbits: bool = False,
    one_operator: bool = False,
    shapes: Shapes | None = None,
    constants: Constants | None = None,
    example: object = None,
) -> Inspection:
    """Writes a network in the format of another file name, simplified.

    decoded: float32 in place of codes, with operators that every runtime has.
    standard, matmul_nbits, one_operator: as in Model.save().

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
    form = native.Form(standard, matmul_nbits, one_operator)
    return Inspection(network.convert(os.fsdecode(output), form, decoded))


@checked
def export_c(
    model: Source,
    folder: Path,
    *,
    name: str = "net",
    ram: int | None = None,
    vectors: int = 3,
    core: str = "cortex-m4",
    input_codes: bool = False,
    pointers: bool = False,
    shapes: Shapes | None = None,
    constants: Constants | None = None,
    example: object = None,
) -> CExport:
    """Writes a network to a folder as C99 that needs nothing, with the bits of a run here.

    name: of files, functions and types in C.
    ram: bytes that values and scratch may take; more is an error, and nothing is written.
    vectors: runs that the program of the test, main.c, repeats.
    core: processor for which kernels are chosen: cortex-m0, cortex-m3, cortex-m4, cortex-m7,
    cortex-m33, cortex-m55, rv32 or rv32-zbb. The program runs on any.
    input_codes: inputs of float32 that the network encodes at once are its codes of 8 bits.
    pointers: inputs and outputs stay in the memory of the caller, who passes pointers to each run.

    >>> import halftone as ht, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = ht.export_c("examples/mnist/mnist_mlp_700.onnx", folder)
    >>> written.ram_bytes
    5936
    """
    for key, number, low in (("ram", ram, 1), ("vectors", vectors, 1)):
        if number is not None and number < low:
            raise ValueError(f"{key}: expected at least {low}, found {number}")
    if isinstance(model, Model):
        network = model._network
    else:
        network, _ = read(model, example=example, shapes=shapes, constants=constants)
    how = native.ExportCOptions(name, ram or 0, vectors, core, input_codes, pointers)
    return CExport(network.export_c(os.fsdecode(folder), how))


@checked
def export_wasm(
    model: Source,
    folder: Path,
    *,
    name: str = "net",
    ram: int | None = None,
    shapes: Shapes | None = None,
    constants: Constants | None = None,
    example: object = None,
) -> CExport:
    """Writes a network to a folder as a module for browsers, with the bits of a run here.

    The folder gets NAME.wasm, NAME.js, whose class HalftoneNet calls it, and index.html, a page that
    runs it. Needs clang and wasm-ld (Debian: clang and lld). name, ram: as in export_c().

    >>> import halftone as ht, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = ht.export_wasm("examples/mnist/mnist_mlp_700.onnx", folder)
    >>> written.files
    ['net.wasm', 'net.js', 'index.html']
    """
    if ram is not None and ram < 1:
        raise ValueError(f"ram: expected at least 1, found {ram}")
    if isinstance(model, Model):
        network = model._network
    else:
        network, _ = read(model, example=example, shapes=shapes, constants=constants)
    how = native.ExportCOptions(name, ram or 0, 1, "cortex-m4", False, False)
    return CExport(network.export_wasm(os.fsdecode(folder), how))
