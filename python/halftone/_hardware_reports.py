# SPDX-License-Identifier: Apache-2.0
"""What networks take on described hardware."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _html
from ._results import Result, key, row, row_of


@row
class MemoryTraffic(NamedTuple):
    """Bytes that cross the boundary below a memory, and the time they take."""

    memory: str
    bytes_read: float
    bytes_written: float
    seconds: float


@row
class OperationEstimate(NamedTuple):
    """An operation of a network on described hardware."""

    name: str
    operator: str
    unit: str
    bound: str
    products: float
    seconds: float
    energy_joules: float
    utilization: float
    traffic: tuple[MemoryTraffic, ...]


class EstimateReport(Result):
    """Time and energy of a network on described hardware."""

    def __init__(self, texts: tuple[str, ...]):
        super().__init__((texts[0], texts[1]))
        self._pictures = texts[2:]

    accelerator: str
    comparison: str | None
    batch: int
    seconds: float
    interval_seconds: float
    energy_joules: float
    memory_bytes: dict[str, float]
    operations: tuple[OperationEstimate, ...] = key("layers")

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


@row
class BatchSpeed(NamedTuple):
    """The speed for a number of sequences."""

    batch: int
    seconds: float
    tokens_per_second: float


class LanguageEstimateReport(Result):
    """Time and energy of a language model on described hardware."""

    def __init__(self, texts: tuple[str, str, tuple[str, ...], tuple[str, ...]]):
        super().__init__((texts[0], texts[1]))
        self.prompt = EstimateReport(texts[2])  #: reading the prompt
        self.token = EstimateReport(texts[3])  #: generating a token at the context

    parameters: float
    active_parameters: float
    weights: str
    devices_needed: int
    batches: tuple[BatchSpeed, ...]

    def __repr__(self) -> str:
        about = f"{1 / self.token.seconds:.3g} tokens/s on {self.token.accelerator}"
        return f"<halftone.LanguageEstimateReport: {about}>"


@row
class HardwareDesign(NamedTuple):
    """Hardware and bits for each layer."""

    hardware: int
    bits: tuple[tuple[int, int], ...]
    seconds: float
    energy_joules: float
    area_mm2: float
    noise: float
    predicted_drop: float

    @classmethod
    def of(cls, facts: dict[str, Any]) -> HardwareDesign:
        """From the JSON of a report."""
        pairs = [tuple(map(int, pair.split("/"))) for pair in facts["bits"].split()]
        return cls(**row_of(cls, {**facts, "bits": pairs}))


@row
class VerifiedDesign(NamedTuple):
    """A design that was quantized, and what it really loses."""

    design: HardwareDesign
    measured_noise: float
    measured_drop: float
    drop_standard_error: float

    @classmethod
    def of(cls, facts: dict[str, Any]) -> VerifiedDesign:
        """From the JSON of a report."""
        return cls(**row_of(cls, {**facts, "design": facts}))


class ExploreReport(Result):
    """The search of hardware and bits, and the design that was chosen."""

    def __init__(self, texts: tuple[str, ...]):
        super().__init__((texts[0], texts[1]))
        self._files = texts[2:]

    layers: tuple[str, ...]
    designs: float
    front: tuple[HardwareDesign, ...]
    verified: tuple[VerifiedDesign, ...]
    chosen: VerifiedDesign
    is_within: bool = key(
        "chosen.is_within_budget", "Whether the chosen design keeps the budget."
    )

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


@row
class CrossbarLayer(NamedTuple):
    """A layer on crossbars, or why it is not on them."""

    name: str
    operator: str
    digital: str | None
    inputs: int = 0
    outputs: int = 0
    weight_bits: int = 0
    input_bits: int = 0
    arrays: int = 0
    cells: int = 0
    conversions: float = 0
    joules: float = 0
    seconds: float = 0


class CrossbarReport(Result):
    """A network whose layers of bits are on simulated crossbars."""

    metric: str
    values: tuple[float, ...]
    mean: float
    deviation: float
    digital: float | None
    agreement: float
    is_equal: bool = key("equal")
    samples: int
    layers: tuple[CrossbarLayer, ...]

    def __repr__(self) -> str:
        about = f"{self.metric} {self.mean:.4f} of {self.samples} samples"
        return f"<halftone.CrossbarReport: {about}, {len(self.values)} devices>"
