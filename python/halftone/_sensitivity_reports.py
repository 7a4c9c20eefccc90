# SPDX-License-Identifier: Apache-2.0
"""What layers cost, and how a network within a budget was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _html
from ._reports import NetworkCosts, QuantizeReport
from ._results import Result, row, row_of


@row
class SensitiveLayer(NamedTuple):
    """A layer with weights: of a language model a matrix, of experts all."""

    name: str
    operator: str
    float_bytes: int
    type: str
    rows: int
    cols: int
    bytes: int


@row
class SensitiveUnit(NamedTuple):
    """Layers that get one choice together, because they share weights or an input."""

    layers: tuple[int, ...]
    may_change: bool


@row
class LayerSensitivity(NamedTuple):
    """A layer in a choice."""

    weight_bits: float
    activation_bits: int
    bytes: int
    sqnr_db: float | None
    accumulated_sqnr_db: float | None
    weighted_error: float
    loss: float
    us: float | None
    pj: float | None
    instructions: float | None
    is_possible: bool = True  #: False: rows are no whole blocks of the type, or it is no choice


@row
class UnitSensitivity(NamedTuple):
    """A unit in a choice."""

    bytes: int
    loss: float
    accumulated_loss: float | None
    is_possible: bool = True  #: as that of its layers


@row
class ChoiceSensitivity(NamedTuple):
    """All layers in one choice."""

    name: str
    weight_bits: float | None
    bytes: int
    loss: float
    us: float | None
    pj: float | None
    instructions: float | None
    layers: tuple[LayerSensitivity, ...]
    units: tuple[UnitSensitivity, ...]

    @classmethod
    def of(cls, facts: dict[str, Any]) -> ChoiceSensitivity:
        """From the JSON of a report."""
        nan = float("nan")
        no_layer = LayerSensitivity(nan, 0, 0, None, None, nan, nan, None, None, False)
        no_unit = UnitSensitivity(0, nan, None, False)
        found = row_of(cls, facts)
        layers = tuple(each or no_layer for each in found["layers"])
        units = tuple(each or no_unit for each in found["units"])
        return cls(**{**found, "layers": layers, "units": units})


class Sensitivity(Result):
    """What each layer of a network, or matrix of a language model, costs in each choice."""

    loss: str
    weighted_by: str
    samples: int
    tokens: int | None
    on_fit_samples: bool
    model_loss: float | None
    warnings: tuple[str, ...]
    layers: tuple[SensitiveLayer, ...]
    units: tuple[SensitiveUnit, ...]
    choices: tuple[ChoiceSensitivity, ...]

    def __repr__(self) -> str:
        about = f"{len(self.layers)} layers in {len(self.choices)} choices"
        return f"<halftone.Sensitivity: {about}, loss: {self.loss}>"

    def _repr_html_(self) -> str:
        layers, choices = self.layers, self.choices
        rows = [
            (
                " + ".join(layers[i].name for i in unit.layers),
                layers[unit.layers[0]].operator or layers[unit.layers[0]].type,
                sum(layers[i].bytes for i in unit.layers),
                *(f"{cost.loss:.3g}" if (cost := choice.units[index]).is_possible else "-"
                  for choice in choices),
            )
            for index, unit in enumerate(self.units)
        ]
        kind = "type" if self.tokens else "operator"
        head = ("layer", kind, "bytes", *(choice.name for choice in choices))
        about = f"loss: {self.loss}, of the layer alone, on {self.samples} samples"
        return _html.table(head, rows) + _html.paragraph(about)


@row
class BudgetTry(NamedTuple):
    """A network that was quantized."""

    predicted: NetworkCosts
    measured: NetworkCosts
    within: bool
    optimal: bool


@row
class ChosenLayer(NamedTuple):
    """What a layer has got."""

    layer: str
    choice: str
    may_change: bool


class BudgetReport(QuantizeReport):
    """A network within a budget, and how it was found."""

    def __init__(
        self,
        texts: tuple[str, str] | Callable[[], tuple[str, str]],
        sensitivity: Callable[[], tuple[str, str]],
    ):
        super().__init__(texts)
        self._sensitivity = Sensitivity(sensitivity)

    budget: dict[str, float]
    chosen: NetworkCosts
    ram_bytes: int | None
    core: str | None
    choices: tuple[ChosenLayer, ...]
    tries: tuple[BudgetTry, ...]
    front: tuple[NetworkCosts, ...]
    recipe: str

    @property
    def sensitivity(self) -> Sensitivity:
        """By which the layers got their bits."""
        return self._sensitivity

    def __repr__(self) -> str:
        budget = ", ".join(f"{name} <= {limit:g}" for name, limit in self.budget.items())
        return f"<halftone.BudgetReport: {budget}, {len(self.tries)} tries>"

    def _repr_html_(self) -> str:
        rows = (
            (
                f"{each.predicted.loss:.3g}",
                f"{each.measured.loss:.3g}",
                f"{each.predicted.bytes:.0f}",
                f"{each.measured.bytes:.0f}",
                "yes" if each.within else "no",
            )
            for each in self.tries
        )
        head = ("loss predicted", "measured", "bytes predicted", "measured", "within")
        choices = ((each.layer, each.choice) for each in self.choices)
        return (
            super()._repr_html_()
            + _html.table(("layer", "choice"), choices)
            + _html.table(head, rows)
        )
