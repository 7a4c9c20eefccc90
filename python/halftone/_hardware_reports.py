# SPDX-License-Identifier: Apache-2.0
"""What networks take on described hardware."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _html
from ._reports import Result


class MemoryTraffic(NamedTuple):
    """Bytes that cross the boundary below a memory, and the time they take."""

    memory: str
    bytes_read: float
    bytes_written: float
    seconds: float


class OperationEstimate(NamedTuple):
    """An operation of a network on described hardware."""

    name: str
    operator: str
    unit: str  #: that computes it; "-" for what only moves bytes
    bound: str  #: "compute", the name of a memory, "link" or "overhead"
    products: float
    seconds: float
    energy_joules: float
    utilization: float  #: products over those at the peak rate
    traffic: tuple[MemoryTraffic, ...]  #: by memory, outermost first

    @classmethod
    def of(cls, facts: dict[str, Any]) -> OperationEstimate:
        """From the JSON of a report."""
        traffic = tuple(MemoryTraffic(**row) for row in facts["traffic"])
        plain = {name: facts[name] for name in cls._fields if name != "traffic"}
        return cls(**plain, traffic=traffic)


class EstimateReport(Result):
    """Time and energy of a network on described hardware."""

    def __init__(self, texts: tuple[str, ...]):
        super().__init__((texts[0], texts[1]))
        self._pictures = texts[2:]

    @property
    def accelerator(self) -> str:
        return str(self._facts["accelerator"])

    @property
    def comparison(self) -> str | None:
        """The error measured against real hardware; None: not measured."""
        found: str | None = self._facts["comparison"]
        return found

    @property
    def batch(self) -> int:
        """Samples of the run."""
        return int(self._facts["batch"])

    @property
    def seconds(self) -> float:
        """Of all operations, one after another."""
        return float(self._facts["seconds"])

    @property
    def interval_seconds(self) -> float:
        """Between batches: `seconds`, or the slowest stage of a pipeline."""
        return float(self._facts["interval_seconds"])

    @property
    def energy_joules(self) -> float:
        return float(self._facts["energy_joules"])

    @property
    def memory_bytes(self) -> dict[str, float]:
        """Kept in the outermost memory of each chip: "total", "weights", "activations", ..."""
        return dict(self._facts["memory_bytes"])

    @property
    def operations(self) -> tuple[OperationEstimate, ...]:
        """In order of execution."""
        return tuple(map(OperationEstimate.of, self._facts["layers"]))

    @property
    def roofline(self) -> str:
        """The roofline plot, an SVG picture."""
        return self._pictures[0]

    @property
    def timeline(self) -> str:
        """What runs when, an SVG picture."""
        return self._pictures[1]

    @property
    def trace(self) -> str:
        """The timeline as JSON for Perfetto and chrome://tracing."""
        return self._pictures[2]

    def __repr__(self) -> str:
        about = f"{self.seconds:.3g} s, {self.energy_joules:.3g} J on {self.accelerator}"
        return f"<halftone.EstimateReport: {about}>"

    def _repr_html_(self) -> str:
        head = ("operation", "operator", "unit", "limit", "us", "uJ")
        rows = (
            (
                each.name,
                each.operator,
                each.unit,
                each.bound,
                f"{1e6 * each.seconds:.3g}",
                f"{1e6 * each.energy_joules:.3g}",
            )
            for each in self.operations
        )
        about = f"{self.accelerator}: {1e6 * self.seconds:.3g} us, {1e6 * self.energy_joules:.3g} uJ"
        return _html.table(head, rows) + _html.paragraph(about)


class BatchSpeed(NamedTuple):
    """The speed for a number of sequences."""

    batch: int
    seconds: float  #: of one step, a token for each sequence
    tokens_per_second: float


class LanguageEstimateReport(Result):
    """Time and energy of a language model on described hardware."""

    def __init__(self, texts: tuple[str, str, tuple[str, ...], tuple[str, ...]]):
        super().__init__((texts[0], texts[1]))
        self.prompt = EstimateReport(texts[2])  #: reading the prompt
        self.token = EstimateReport(texts[3])  #: generating a token at the context

    @property
    def parameters(self) -> float:
        """Matrices and the embedding table, without norms and biases."""
        return float(self._facts["parameters"])

    @property
    def active_parameters(self) -> float:
        """Those that a token is multiplied with."""
        return float(self._facts["active_parameters"])

    @property
    def weights(self) -> str:
        """What weights are stored as: "int4", or "4.85 bits in the file"."""
        return str(self._facts["weights"])

    @property
    def devices_needed(self) -> int:
        """Whose memory holds weights, cache and activations."""
        return int(self._facts["devices_needed"])

    @property
    def batches(self) -> tuple[BatchSpeed, ...]:
        """The speed by sequences: powers of two, as far as the memory goes."""
        return tuple(BatchSpeed(**row) for row in self._facts["batches"])

    def __repr__(self) -> str:
        about = f"{1 / self.token.seconds:.3g} tokens/s on {self.token.accelerator}"
        return f"<halftone.LanguageEstimateReport: {about}>"


class HardwareDesign(NamedTuple):
    """Hardware and bits for each layer."""

    hardware: int  #: index of the combination of the parameters of the space
    bits: tuple[tuple[int, int], ...]  #: of weights and of inputs, of each layer
    seconds: float
    energy_joules: float
    area_mm2: float
    noise: float  #: predicted: the sum over layers
    predicted_drop: float  #: of accuracy, from the noise

    @classmethod
    def of(cls, facts: dict[str, Any]) -> HardwareDesign:
        """From the JSON of a report."""
        pairs = (pair.split("/") for pair in facts["bits"].split())
        bits = tuple((int(weights), int(inputs)) for weights, inputs in pairs)
        plain = {name: facts[name] for name in cls._fields if name != "bits"}
        return cls(**plain, bits=bits)


class VerifiedDesign(NamedTuple):
    """A design that was quantized, and what it really loses."""

    design: HardwareDesign
    measured_noise: float
    measured_drop: float  #: of accuracy
    drop_standard_error: float  #: the budget limits the drop with it

    @classmethod
    def of(cls, facts: dict[str, Any]) -> VerifiedDesign:
        """From the JSON of a report."""
        return cls(HardwareDesign.of(facts), *(facts[name] for name in cls._fields[1:]))


class ExploreReport(Result):
    """The search of hardware and bits, and the design that was chosen."""

    def __init__(self, texts: tuple[str, ...]):
        super().__init__((texts[0], texts[1]))
        self._files = texts[2:]

    @property
    def layers(self) -> tuple[str, ...]:
        """Whose bits were chosen."""
        return tuple(self._facts["layers"])

    @property
    def designs(self) -> float:
        """Combinations of hardware and bits that the search compared."""
        return float(self._facts["designs"])

    @property
    def front(self) -> tuple[HardwareDesign, ...]:
        """Designs that no other one beats in objective, noise and area; ascending objective."""
        return tuple(map(HardwareDesign.of, self._facts["front"]))

    @property
    def verified(self) -> tuple[VerifiedDesign, ...]:
        """In the order in which they were tried."""
        return tuple(map(VerifiedDesign.of, self._facts["verified"]))

    @property
    def chosen(self) -> VerifiedDesign:
        return VerifiedDesign.of(self._facts["chosen"])

    @property
    def is_within(self) -> bool:
        """Whether the chosen design keeps the budget."""
        return bool(self._facts["chosen"]["is_within_budget"])

    @property
    def picture(self) -> str:
        """The front: drop over objective, an SVG picture."""
        return self._files[0]

    @property
    def accelerator(self) -> str:
        """The chosen hardware as TOML, as estimate() takes it."""
        return self._files[1]

    @property
    def recipe(self) -> str:
        """The chosen bits as TOML, as quantize() takes them."""
        return self._files[2]

    def __repr__(self) -> str:
        about = f"{self.designs:.0f} designs, {len(self.verified)} verified"
        return f"<halftone.ExploreReport: {about}>"


class CrossbarLayer(NamedTuple):
    """A layer on crossbars, or why it is not on them."""

    name: str
    operator: str
    digital: str | None  #: why the layer is not on arrays; then the rest is 0
    inputs: int = 0  #: of an output
    outputs: int = 0
    weight_bits: int = 0
    input_bits: int = 0
    arrays: int = 0
    cells: int = 0  #: occupied
    conversions: float = 0  #: per sample
    joules: float = 0  #: per sample
    seconds: float = 0  #: per sample: of the conversions that follow one another


class CrossbarReport(Result):
    """A network whose layers of bits are on simulated crossbars."""

    @property
    def metric(self) -> str:
        """"accuracy" with labels, else "agreement"."""
        return str(self._facts["metric"])

    @property
    def values(self) -> tuple[float, ...]:
        """Of each programmed device."""
        return tuple(self._facts["values"])

    @property
    def mean(self) -> float:
        return float(self._facts["mean"])

    @property
    def deviation(self) -> float:
        """The standard deviation of the values."""
        return float(self._facts["deviation"])

    @property
    def digital(self) -> float | None:
        """The accuracy of the digital network; None without labels."""
        found: float | None = self._facts["digital"]
        return found

    @property
    def agreement(self) -> float:
        """Share of samples with the answer of the digital network."""
        return float(self._facts["agreement"])

    @property
    def is_equal(self) -> bool:
        """Whether all outputs have the bits of the digital network."""
        return bool(self._facts["equal"])

    @property
    def samples(self) -> int:
        return int(self._facts["samples"])

    @property
    def layers(self) -> tuple[CrossbarLayer, ...]:
        return tuple(CrossbarLayer(**row) for row in self._facts["layers"])

    def __repr__(self) -> str:
        about = f"{self.metric} {self.mean:.4f} of {self.samples} samples"
        return f"<halftone.CrossbarReport: {about}, {len(self.values)} devices>"
