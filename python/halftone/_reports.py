# SPDX-License-Identifier: Apache-2.0
"""Results with the figures of the program: str() is what it prints, to_json() its --json."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from . import _html


class Result:
    """A result of the program, read from its JSON."""

    def __init__(self, texts: tuple[str, str] | Callable[[], tuple[str, str]]):
        self._source = texts

    @cached_property
    def _texts(self) -> tuple[str, str]:
        return self._source() if callable(self._source) else self._source

    @cached_property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self._texts[1])
        return facts

    def __str__(self) -> str:
        return self._texts[0]

    def to_json(self) -> str:
        """The text that the program prints with --json."""
        return self._texts[1]

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of its own."""
        facts: dict[str, Any] = json.loads(self._texts[1])
        return facts

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: the texts."""
        return {**self.__dict__, "_source": self._texts}

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Layer(NamedTuple):
    """A layer with weights."""

    name: str
    operator: str
    weight_bits: float  #: 3.5: a code of 7 bits for two weights
    activation_bits: int
    weights: str  #: type of the weights: "basis(2 bits, channel, offset)[700, 784]"
    weight_bytes: int
    arithmetic: str | None  #: "bits", "integers", "float"; None where there is no choice


class Inspection(Result):
    """What a network is made of."""

    @property
    def format(self) -> str:
        return str(self._facts["format"])

    @property
    def bytes(self) -> int:
        """Of the file and its external data."""
        return int(self._facts["bytes"])

    @property
    def parameters(self) -> int:
        return int(self._facts["parameters"])

    @property
    def operators(self) -> dict[str, int]:
        """How often each operator occurs."""
        return dict(self._facts["operators"])

    @property
    def layers(self) -> tuple[Layer, ...]:
        names = Layer._fields
        return tuple(Layer(**{n: layer[n] for n in names}) for layer in self._facts["layers"])

    @property
    def work(self) -> list[dict[str, Any]]:
        """Products, operations and bytes of every node, if they were asked for."""
        nodes: list[dict[str, Any]] = self.to_dict().get("work", [])
        return nodes

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


class LayerReport(NamedTuple):
    """A layer after the fit."""

    name: str
    operator: str
    weight_bits: float  #: 3.5: a code of 7 bits for two weights
    activation_bits: int
    sqnr_db: float | None  #: of the output, on the samples
    weight_sqnr_db: float | None  #: None: the weights stay float
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


class NetworkFileReport(Result):
    """A network that was made from another one."""

    @property
    def input_bytes(self) -> int:
        """Of the file or the bytes of the network before; 0 if it came from neither."""
        return int(self._facts["input_bytes"])

    @property
    def output_bytes(self) -> int:
        """Of the file written; without one, of the network as a .circle file."""
        return int(self._facts["output_bytes"])

    @property
    def seconds(self) -> float:
        return float(self._facts["seconds"])


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

    @property
    def layers(self) -> tuple[LayerReport, ...]:
        names = LayerReport._fields
        return tuple(LayerReport(**{n: row[n] for n in names}) for row in self._facts["layers"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line each, such as samples that were left out."""
        return tuple(self._facts["warnings"])

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


class Comparison(NamedTuple):
    """A reference network on the same samples."""

    value: float | None  #: its accuracy, if there are labels
    agreement: float  #: share of samples with the same answer
    sqnr_db: float | None  #: of the output; None: equal
    kl: float | None  #: divergence of the probabilities, nats per sample; None: no classifier


class Evaluation(Result):
    """How well a network answers."""

    @property
    def metric(self) -> str:
        """"accuracy" with labels, else "agreement"."""
        return str(self._facts["metric"])

    @property
    def value(self) -> float:
        return float(self._facts["value"])

    @property
    def samples(self) -> int:
        return int(self._facts["samples"])

    @property
    def reference(self) -> Comparison | None:
        facts = self._facts.get("reference")
        if facts is None:
            return None
        return Comparison(
            facts.get("value"), facts["agreement"], facts["sqnr_db"], facts.get("kl")
        )

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


class CExport(Result):
    """What a network takes as C."""

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
    def layers(self) -> list[CLayer]:
        """In order of execution."""
        return [CLayer(**layer) for layer in self._facts["layers"]]

    def __repr__(self) -> str:
        return f"<halftone.CExport: {self.flash_bytes} bytes of flash, {self.ram_bytes} of RAM>"


class Measurement(Result):
    """Latencies in microseconds."""

    @property
    def batch(self) -> int:
        return int(self._facts["batch"])

    @property
    def threads(self) -> int:
        return int(self._facts["threads"])

    @property
    def median_us(self) -> float:
        return float(self._facts["latency_us"]["median"])

    @property
    def p10_us(self) -> float:
        return float(self._facts["latency_us"]["p10"])

    @property
    def p99_us(self) -> float:
        return float(self._facts["latency_us"]["p99"])

    @property
    def predicted_us(self) -> float | None:
        """Of a run on the hardware that was named; None: none was."""
        found: float | None = self._facts["predicted_us"]
        return found

    @property
    def layers(self) -> list[dict[str, Any]]:
        """Kernel and time of every layer."""
        layers: list[dict[str, Any]] = self.to_dict()["layers"]
        return layers

    def __repr__(self) -> str:
        return f"<halftone.Measurement: batch {self.batch}, median {self.median_us:.1f} us>"


class EpochResult(NamedTuple):
    """A finished epoch of training."""

    loss: float  #: mean over the samples
    agreement: float  #: share of samples that agree with the teachers, or else the labels
    validation_accuracy: float | None  #: None without a validation split
    learning_rate: float  #: of the last step
    seconds: float


class TrainReport(NetworkFileReport):
    """The course of a training."""

    @property
    def epochs(self) -> tuple[EpochResult, ...]:
        return tuple(
            EpochResult(*(epoch.get(name) for name in EpochResult._fields))
            for epoch in self._facts["epochs"]
        )

    @property
    def best_epoch(self) -> int | None:
        """Whose network was returned, counted from 1; None without a validation split."""
        found: int | None = self._facts.get("best_epoch")
        return found

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

    @property
    def tokens(self) -> list[int]:
        """With the end token."""
        return list(self._facts["tokens"])

    @property
    def end(self) -> str:
        """Why it ended: "count", "token", "text", "context" or "interrupted"."""
        return str(self._facts["end"])

    @property
    def prompt_tokens(self) -> int:
        """Of the prompt, with those that the sequence had already."""
        return int(self._facts["prompt_tokens"])

    @property
    def reused_tokens(self) -> int:
        """Of the prompt, which the sequence had already."""
        return int(self._facts["reused_tokens"])

    @property
    def forgotten_messages(self) -> int:
        """Messages of a conversation that were left out to make room."""
        return int(self._facts["forgotten_messages"])

    @property
    def tokens_per_second(self) -> float | None:
        """After the first token; None if there were none."""
        speed: float | None = self._facts["tokens_per_second"]
        return speed

    @property
    def seconds(self) -> float:
        return float(self._facts["seconds"])

    def __repr__(self) -> str:
        return f"<halftone.Generation: {len(self.tokens)} tokens, end: {self.end}>"


class TextEvaluation(Result):
    """How well a language model predicts a text."""

    @property
    def perplexity(self) -> float:
        """e^(mean of -log p(token))."""
        return float(self._facts["value"])

    @property
    def standard_error(self) -> float:
        """Of the perplexity; takes tokens for independent."""
        return float(self._facts["standard_error"])

    @property
    def tokens(self) -> int:
        """That count."""
        return int(self._facts["tokens"])

    @property
    def windows(self) -> int:
        """Of the text, each of which was a sequence."""
        return int(self._facts["windows"])

    @property
    def reference(self) -> dict[str, Any] | None:
        """Closeness to the reference, as `halftone eval --json` prints it: "kl_divergence", ..."""
        facts: dict[str, Any] | None = self.to_dict().get("reference")
        return facts

    def __repr__(self) -> str:
        about = f"perplexity {self.perplexity:.4f} of {self.tokens} tokens"
        return f"<halftone.TextEvaluation: {about}>"


class QuantizedMatrix(NamedTuple):
    """A matrix of a language model after the fit."""

    name: str  #: as in GGUF files; of experts with their number
    type: str  #: such as "4x8" or "Q4_K"
    weight_bits: float  #: with its share of the scales
    encoded_bytes: int  #: of codes and scales
    sqnr_db: float | None  #: of the output, on the samples held out; None: no error
    relative_error: float  #: the same as a ratio


class TextDivergence(NamedTuple):
    """The divergence of a model on a text from its float model, in nats per token."""

    before: float
    after: float
    tokens: int

    @classmethod
    def of(cls, facts: dict[str, Any]) -> TextDivergence:
        """From the JSON of a report."""
        return cls(facts["kl_divergence_before"], facts["kl_divergence"], facts["tokens"])


class LanguageFileReport(Result):
    """A language model that was written anew."""

    @property
    def input_bytes(self) -> int:
        """Of the model that was read, in its files."""
        return int(self._facts["input_bytes"])

    @property
    def output_bytes(self) -> int:
        """Of what was written."""
        return int(self._facts["output_bytes"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line each."""
        return tuple(self._facts["warnings"])


class LanguageReport(LanguageFileReport):
    """What a change of a language model has written."""

    @property
    def fit_tokens(self) -> int:
        """From which numbers were learned: of the texts, without those held out."""
        return int(self._facts["fit_tokens"])

    @property
    def seconds(self) -> float:
        return float(self._facts["seconds"])


class LanguageDistillReport(LanguageReport):
    """What the tuning of a quantized language model changed."""

    @property
    def held_out(self) -> TextDivergence:
        """Of the samples held out, by which the best state was chosen."""
        return TextDivergence.of(self._facts["held_out"])

    @property
    def second_text(self) -> TextDivergence | None:
        """None without one."""
        found = self._facts["second_text"]
        return None if found is None else TextDivergence.of(found)

    @property
    def losses(self) -> tuple[float, ...]:
        """Mean divergence of the samples of each step, before it, in nats per token."""
        return tuple(step["loss"] for step in self._facts["steps"])

    @property
    def evaluations(self) -> tuple[tuple[int, float], ...]:
        """Steps done, and the divergence of the samples held out then; the first before all."""
        found = self._facts["evaluations"]
        return tuple((int(each["steps"]), float(each["kl_divergence"])) for each in found)

    @property
    def best_steps(self) -> int:
        """Steps after which the model was as it is written; 0: as it was."""
        return int(self._facts["best_steps"])

    @property
    def scales(self) -> int:
        """Scales and offsets, or their factors, that were tuned."""
        return int(self._facts["scales"])

    @property
    def gains(self) -> int:
        """Elements of gains and biases that were tuned."""
        return int(self._facts["gains"])

    @property
    def bases(self) -> tuple[str, ...]:
        """Vector bases that were tuned, such as "4x8"."""
        return tuple(self._facts["bases"])

    def __repr__(self) -> str:
        about = f"divergence {self.held_out.before:.4g} -> {self.held_out.after:.4g}"
        return f"<halftone.LanguageDistillReport: {about}>"


class LanguageConvertReport(LanguageFileReport):
    """Sizes of a language model that was converted."""

    @property
    def changed_matrices(self) -> int:
        """Of an adapter."""
        return int(self._facts["changed_matrices"])


class NetworkCosts(NamedTuple):
    """What networks within budgets, and language models, are compared by."""

    loss: float
    bytes: float  #: of the file
    us: float | None  #: microseconds for a sample; None: not measured
    pj: float | None


class LanguageQuantizeReport(LanguageReport):
    """Sizes and errors of the matrices of a quantized language model."""

    @property
    def matrices(self) -> tuple[QuantizedMatrix, ...]:
        names = QuantizedMatrix._fields
        return tuple(QuantizedMatrix(**{n: row[n] for n in names}) for row in self._facts["layers"])

    @property
    def weight_bits(self) -> float:
        """Mean of all weights that were fitted."""
        return float(self._facts["weight_bits"])

    @property
    def predicted_loss(self) -> float | None:
        """Divergence from the float model in nats per token, if types were chosen for a size."""
        loss: float | None = self._facts["predicted_loss"]
        return loss

    @property
    def front(self) -> tuple[NetworkCosts, ...]:
        """Predicted files that none beats in both loss and bytes, the smallest first.

        Empty unless types were chosen for a size or a loss.
        """
        return tuple(NetworkCosts(**row) for row in self._facts["front"])

    @property
    def held_out_tokens(self) -> int:
        """By which the errors were measured."""
        return int(self._facts["held_out_tokens"])

    @property
    def fit_loss(self) -> float:
        """Of the float model on the samples that it was fitted to, in nats per token."""
        return float(self._facts["fit_loss"])

    @property
    def held_out_loss(self) -> float | None:
        """The same of the samples held out; None without them."""
        loss: float | None = self._facts["held_out_loss"]
        return loss

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
