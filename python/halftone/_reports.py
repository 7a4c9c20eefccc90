# SPDX-License-Identifier: Apache-2.0
"""Results with the figures of the program: str() is what it prints, to_json() its --json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _html
from ._results import Result, key, row


@row
class Layer(NamedTuple):
    """A layer with weights."""

    name: str
    operator: str
    weight_bits: float
    activation_bits: int
    weights: str
    weight_bytes: int
    arithmetic: str | None


class Inspection(Result):
    """What a network is made of."""

    format: str
    bytes: int
    parameters: int
    operators: dict[str, int]
    layers: tuple[Layer, ...]
    work: list[dict[str, Any]]

    def __repr__(self) -> str:
        return f"<halftone.Inspection: {self.format}, {self.parameters} parameters>"

    def _repr_html_(self) -> str:
        return _html.paragraph(
            f"{self.format}, {self.bytes} bytes, {self.parameters} parameters"
        ) + layer_table(self.layers)


def bits_text(bits: float) -> str:
    return "float" if bits == 32 else f"{bits:g}"


def layer_table(layers: tuple[Layer, ...]) -> str:
    head = ("layer", "operator", "weights", "bits", "input bits", "arithmetic", "bytes")
    return _html.table(
        head,
        (
            (
                layer.name,
                layer.operator,
                layer.weights,
                bits_text(layer.weight_bits),
                bits_text(layer.activation_bits),
                layer.arithmetic or "-",
                layer.weight_bytes,
            )
            for layer in layers
        ),
    )


@row
class LayerReport(NamedTuple):
    """A layer after the fit."""

    name: str
    operator: str
    weight_bits: float
    activation_bits: int
    sqnr_db: float | None
    weight_sqnr_db: float | None
    float_bytes: int
    encoded_bytes: int


class MetricDrop(NamedTuple):
    """What a metric says of the float network and of the quantized one."""

    before: float
    after: float
    float_layers: tuple[str, ...]  #: that stay float to keep the largest drop

    @property
    def drop(self) -> float:
        return self.before - self.after


class NetworkFileReport(Result, keys="QuantizeReport"):
    """A network that was made from another one."""

    input_bytes: int
    output_bytes: int
    seconds: float


class QuantizeReport(NetworkFileReport):
    """Sizes and errors of the layers of a quantized network."""

    def __init__(
        self,
        texts: tuple[str, str] | Callable[[], tuple[str, str]],
        metric: MetricDrop | None = None,
    ):
        super().__init__(texts)
        self._metric = metric

    @property
    def metric(self) -> MetricDrop | None:
        """What a metric of the program's own has lost; None without one."""
        return self._metric

    layers: tuple[LayerReport, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<halftone.QuantizeReport: {len(self.layers)} layers, {self.seconds:.1f} s>"

    def _repr_html_(self) -> str:
        head = ("layer", "operator", "weight bits", "input bits", "float", "now", "output dB")
        rows = (
            (
                layer.name,
                layer.operator,
                bits_text(layer.weight_bits),
                bits_text(layer.activation_bits),
                layer.float_bytes,
                layer.encoded_bytes,
                "-" if layer.sqnr_db is None else f"{layer.sqnr_db:.1f}",
            )
            for layer in self.layers
        )
        sizes = f"{self.input_bytes} bytes -> {self.output_bytes} in {self.seconds:.1f} s"
        return _html.table(head, rows) + _html.paragraph(sizes)


@row
class Comparison(NamedTuple):
    """A reference network on the same samples."""

    value: float | None
    agreement: float
    sqnr_db: float | None
    kl: float | None


class Evaluation(Result):
    """How well a network answers."""

    metric: str
    value: float
    samples: int
    reference: Comparison | None

    def __repr__(self) -> str:
        return f"<halftone.Evaluation: {self.metric} {self.value:.4f} of {self.samples} samples>"


class CLayer(NamedTuple):
    """A function of a C program."""

    name: str
    operator: str
    kernel: str  #: the C function that it calls
    weight_bytes: int  #: of flash: weights, bias and multipliers
    table_bytes: int  #: of flash: tables of functions
    ram_bytes: int  #: of values and scratch that live while it runs
    instructions: int  #: an estimate for a run


class CPort(NamedTuple):
    """An input or output of a C program, for one sample."""

    name: str
    type: str  #: of its elements: float32, int8, uint8, ...
    shape: list[int]  #: channels last
    scale: float | None = None  #: value = scale (code - zero_point) + offset; None: no codes
    zero_point: int | None = None
    offset: float | None = None  #: of an input of codes
    levels: list[float] = []  #: that the network rounds an input of float32 to; empty: none


class CExport(Result):
    """What a network takes as C, or as a module for browsers."""

    core: str  #: that kernels were chosen for; "wasm" of export_wasm()

    @property
    def module_bytes(self) -> int | None:
        """Of the module of export_wasm(); None of C."""
        return self._facts.get("module_bytes")

    @property
    def files(self) -> list[str]:
        """Their names in the folder."""
        return [str(name) for name in self._facts["files"]]

    @property
    def flash_bytes(self) -> int:
        """Weights, tables and an estimate of the code."""
        return int(self._facts["flash"]["bytes"])

    @property
    def ram_bytes(self) -> int:
        """Of the arena; a small stack comes on top."""
        return int(self._facts["ram"]["bytes"])

    @property
    def instructions(self) -> int:
        """An estimate for a run on `core`; of export_wasm() for RV32 with Zbb."""
        return int(self._facts["instructions"])

    @property
    def inputs(self) -> list[CPort]:
        """Of a run."""
        return [CPort(**port) for port in self._facts["inputs"]]

    @property
    def outputs(self) -> list[CPort]:
        """Of a run."""
        return [CPort(**port) for port in self._facts["outputs"]]

    @property
    def layers(self) -> list[CLayer]:
        """In order of execution."""
        return [CLayer(**layer) for layer in self._facts["layers"]]

    def __repr__(self) -> str:
        return f"<halftone.CExport: {self.flash_bytes} bytes of flash, {self.ram_bytes} of RAM>"


class Measurement(Result):
    """Latencies in microseconds."""

    batch: int
    threads: int
    median_us: float = key("latency_us.median")
    p10_us: float = key("latency_us.p10")
    p99_us: float = key("latency_us.p99")
    predicted_us: float | None = key("predicted_us", "Of a run on the accelerator; None: none was named.")
    layers: list[dict[str, Any]] = key("layers", "Kernel and time of every layer.")

    def __repr__(self) -> str:
        return f"<halftone.Measurement: batch {self.batch}, median {self.median_us:.1f} us>"


@row
class EpochResult(NamedTuple):
    """A finished epoch of training."""

    loss: float
    agreement: float
    validation_accuracy: float | None
    learning_rate: float
    seconds: float


class TrainReport(NetworkFileReport):
    """The course of a training."""

    epochs: tuple[EpochResult, ...]
    best_epoch: int | None

    def __repr__(self) -> str:
        loss = f", loss {self.epochs[-1].loss:.4g}" if self.epochs else ""
        return f"<halftone.TrainReport: {len(self.epochs)} epochs{loss}, {self.seconds:.1f} s>"

    def _repr_html_(self) -> str:
        head = ("epoch", "loss", "agreement", "validation", "seconds")
        rows = (
            (
                index + 1,
                f"{epoch.loss:.4f}",
                f"{100 * epoch.agreement:.2f} %",
                "-" if epoch.validation_accuracy is None else f"{epoch.validation_accuracy:.2%}",
                f"{epoch.seconds:.1f}",
            )
            for index, epoch in enumerate(self.epochs)
        )
        return _html.table(head, rows)


class Generation(Result):
    """A text that a language model has written; str() is the text."""

    @property
    def text(self) -> str:
        """Without the stop text; bytes of the model that are no UTF-8 became U+FFFD."""
        return str(self)

    tokens: list[int]
    end: str
    prompt_tokens: int
    reused_tokens: int
    forgotten_messages: int
    guessed_tokens: int
    accepted_tokens: int
    tokens_per_second: float | None
    seconds: float

    def __repr__(self) -> str:
        return f"<halftone.Generation: {len(self.tokens)} tokens, end: {self.end}>"


class TextEvaluation(Result):
    """How well a language model predicts a text."""

    perplexity: float = key("value")
    standard_error: float
    tokens: int
    windows: int
    reference: dict[str, Any] | None

    def __repr__(self) -> str:
        about = f"perplexity {self.perplexity:.4f} of {self.tokens} tokens"
        return f"<halftone.TextEvaluation: {about}>"


@row
class SpeedAtDepth(NamedTuple):
    """How fast a language model is with some tokens in front: the median of three runs."""

    depth: int
    prompt_tokens_per_second: float | None
    tokens_per_second: float | None
    bytes_per_token: int | None
    bandwidth_share: float | None


@row
class SpeedOnRanks(NamedTuple):
    """How fast several processes would write together, predicted."""

    ranks: int
    link: float
    latency: float
    tokens_per_second: float
    speedup: float
    message_share: float
    weight_bytes: int


class LanguageSpeed(Result):
    """How fast a language model reads and writes."""

    threads: int
    prompt_tokens: int
    generated_tokens: int
    memory_bytes_per_second: float
    depths: tuple[SpeedAtDepth, ...]
    ranks: tuple[SpeedOnRanks, ...]


@row
class QuantizedMatrix(NamedTuple):
    """A matrix of a language model after the fit."""

    name: str
    type: str
    weight_bits: float
    encoded_bytes: int
    sqnr_db: float | None
    relative_error: float


class TextDivergence(NamedTuple):
    """The divergence of a model on a text from its float model, in nats per token."""

    before: float
    after: float
    tokens: int

    @classmethod
    def of(cls, facts: dict[str, Any]) -> TextDivergence:
        """From the JSON of a report."""
        return cls(facts["kl_divergence_before"], facts["kl_divergence"], facts["tokens"])


class LanguageFileReport(Result, keys="LanguageConvertReport"):
    """A language model that was written anew."""

    input_bytes: int
    output_bytes: int
    warnings: tuple[str, ...]


class LanguageReport(LanguageFileReport, keys="LanguageQuantizeReport"):
    """What a change of a language model has written."""

    fit_tokens: int
    seconds: float


class LanguageDistillReport(LanguageReport):
    """What the tuning of a quantized language model changed."""

    held_out: TextDivergence
    second_text: TextDivergence | None

    @property
    def losses(self) -> tuple[float, ...]:
        """Mean divergence of the samples of each step, before it, in nats per token."""
        return tuple(step["loss"] for step in self._facts["steps"])

    @property
    def evaluations(self) -> tuple[tuple[int, float], ...]:
        """Steps done, and the divergence of the samples held out then; the first before all."""
        found = self._facts["evaluations"]
        return tuple((int(each["steps"]), float(each["kl_divergence"])) for each in found)

    best_steps: int
    scales: int
    gains: int
    bases: tuple[str, ...]

    def __repr__(self) -> str:
        about = f"divergence {self.held_out.before:.4g} -> {self.held_out.after:.4g}"
        return f"<halftone.LanguageDistillReport: {about}>"


class LanguageConvertReport(LanguageFileReport):
    """Sizes of a language model that was converted."""

    changed_matrices: int


@row
class NetworkCosts(NamedTuple):
    """What networks within budgets, and language models, are compared by."""

    loss: float
    bytes: float
    us: float | None
    pj: float | None
    instructions: float | None


class LanguageQuantizeReport(LanguageReport):
    """Sizes and errors of the matrices of a quantized language model."""

    matrices: tuple[QuantizedMatrix, ...] = key("layers")
    weight_bits: float
    predicted_loss: float | None
    front: tuple[NetworkCosts, ...]
    held_out_tokens: int
    fit_loss: float
    held_out_loss: float | None

    def __repr__(self) -> str:
        about = f"{len(self.matrices)} matrices, {self.weight_bits:.3f} bits per weight"
        return f"<halftone.LanguageQuantizeReport: {about}>"

    def _repr_html_(self) -> str:
        head = ("matrix", "type", "bits", "bytes", "output dB")
        rows = (
            (
                matrix.name,
                matrix.type,
                f"{matrix.weight_bits:.3f}",
                matrix.encoded_bytes,
                "-" if matrix.sqnr_db is None else f"{matrix.sqnr_db:.1f}",
            )
            for matrix in self.matrices
        )
        sizes = f"{self.input_bytes} bytes -> {self.output_bytes} in {self.seconds:.1f} s"
        return _html.table(head, rows) + _html.paragraph(sizes)
