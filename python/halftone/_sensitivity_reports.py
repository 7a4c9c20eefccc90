# SPDX-License-Identifier: Apache-2.0
"""What layers cost, and how a network within a budget was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _html
from ._reports import NetworkCosts, QuantizeReport, Result


class SensitiveLayer(NamedTuple):
    """A layer with weights: of a language model a matrix, of experts all."""

    name: str  #: of a matrix as in GGUF files
    operator: str  #: of a network; empty for a matrix
    float_bytes: int
    type: str  #: of the weights before, such as "F32"
    rows: int  #: of the weights as a matrix
    cols: int
    bytes: int  #: of the weights in this type


class SensitiveUnit(NamedTuple):
    """Layers that get one choice together, because they share weights or an input."""

    layers: tuple[int, ...]  #: indices, ascending
    may_change: bool  #: False: the recipe gives its layers the same in each choice


class LayerSensitivity(NamedTuple):
    """A layer in a choice."""

    weight_bits: float  #: of a type with its share of the scales
    activation_bits: int
    bytes: int  #: of its weights and their levels
    sqnr_db: float | None  #: of its output, if it is the only quantized layer; None: no error
    accumulated_sqnr_db: float | None  #: the same if all layers have this choice
    weighted_error: float  #: estimate of the loss if it is the only quantized layer
    loss: float  #: the same
    us: float | None  #: microseconds for a sample; None: not measured
    pj: float | None  #: picojoules; None: only of described hardware, in the program
    is_possible: bool = True  #: False: rows are no whole blocks of the type, or it is no choice


class UnitSensitivity(NamedTuple):
    """A unit in a choice."""

    bytes: int  #: of weights and levels; shared weights count once
    loss: float  #: if its layers are the only quantized ones; of a language model predicted
    accumulated_loss: float | None  #: if all before are quantized too; None: not measured
    is_possible: bool = True  #: as that of its layers


class ChoiceSensitivity(NamedTuple):
    """All layers in one choice."""

    name: str
    weight_bits: float | None  #: mean over the weights; None: no layer has this choice
    bytes: int  #: of the layers that have it
    loss: float  #: the sum of the losses of single units
    us: float | None  #: of the whole network
    pj: float | None
    layers: tuple[LayerSensitivity, ...]  #: as Sensitivity.layers
    units: tuple[UnitSensitivity, ...]  #: as Sensitivity.units

    @classmethod
    def of(cls, facts: dict[str, Any]) -> ChoiceSensitivity:
        """From the JSON of a report."""
        nan = float("nan")
        no_layer = LayerSensitivity(nan, 0, 0, None, None, nan, nan, None, None, False)
        no_unit = UnitSensitivity(0, nan, None, False)
        layers = tuple(LayerSensitivity(**row) if row else no_layer for row in facts["layers"])
        units = tuple(UnitSensitivity(**row) if row else no_unit for row in facts["units"])
        return cls(**{**facts, "layers": layers, "units": units})


class Sensitivity(Result):
    """What each layer of a network, or matrix of a language model, costs in each choice."""

    @property
    def loss(self) -> str:
        """What is measured: "kl", "error" or "labels"."""
        return str(self._facts["loss"])

    @property
    def weighted_by(self) -> str:
        """How the errors of layers are weighted: by "gradients" or "noise"."""
        return str(self._facts["weighted_by"])

    @property
    def samples(self) -> int:
        """On which losses were measured or predicted."""
        return int(self._facts["samples"])

    @property
    def tokens(self) -> int | None:
        """Of each sample, of a language model."""
        return None if (tokens := self._facts["tokens"]) is None else int(tokens)

    @property
    def on_fit_samples(self) -> bool:
        """Whether these are known to be those of the fit, on which losses are lower."""
        return bool(self._facts["on_fit_samples"])

    @property
    def model_loss(self) -> float | None:
        """Of a language model itself on them: mean of -log p in nats per token."""
        return None if (loss := self._facts["model_loss"]) is None else float(loss)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line each, such as samples that were left out."""
        return tuple(self._facts["warnings"])

    @property
    def layers(self) -> tuple[SensitiveLayer, ...]:
        """In order of execution."""
        return tuple(SensitiveLayer(**row) for row in self._facts["layers"])

    @property
    def units(self) -> tuple[SensitiveUnit, ...]:
        return tuple(
            SensitiveUnit(tuple(row["layers"]), row["may_change"]) for row in self._facts["units"]
        )

    @property
    def choices(self) -> tuple[ChoiceSensitivity, ...]:
        """As given; the types of a language model by rising bits."""
        return tuple(ChoiceSensitivity.of(facts) for facts in self._facts["choices"])

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


class BudgetTry(NamedTuple):
    """A network that was quantized."""

    predicted: NetworkCosts  #: from the sensitivity
    measured: NetworkCosts
    within: bool  #: whether what was measured is within the budget
    optimal: bool  #: False: there are too many choices to know that none is predicted to be better

    @classmethod
    def of(cls, facts: dict[str, Any]) -> BudgetTry:
        """From the JSON of a report."""
        predicted, measured = (NetworkCosts(**facts[each]) for each in ("predicted", "measured"))
        return cls(predicted, measured, facts["within"], facts["optimal"])


class ChosenLayer(NamedTuple):
    """What a layer has got."""

    layer: str
    choice: str
    may_change: bool  #: False: the recipe says what it has


class BudgetReport(QuantizeReport):
    """A network within a budget, and how it was found."""

    def __init__(
        self,
        texts: tuple[str, str] | Callable[[], tuple[str, str]],
        sensitivity: Callable[[], tuple[str, str]],
    ):
        super().__init__(texts)
        self._sensitivity = Sensitivity(sensitivity)

    @property
    def budget(self) -> dict[str, float]:
        """The limits: of "loss", "bytes" and "us"."""
        return dict(self._facts["budget"])

    @property
    def chosen(self) -> NetworkCosts:
        """What was measured of the network."""
        return NetworkCosts(**self._facts["chosen"])

    @property
    def choices(self) -> tuple[ChosenLayer, ...]:
        return tuple(ChosenLayer(**row) for row in self._facts["choices"])

    @property
    def tries(self) -> tuple[BudgetTry, ...]:
        """The networks that were quantized, one of which is the result."""
        return tuple(BudgetTry.of(facts) for facts in self._facts["tries"])

    @property
    def front(self) -> tuple[NetworkCosts, ...]:
        """Predicted networks that none beats in both loss and size, the smallest first."""
        return tuple(NetworkCosts(**row) for row in self._facts["front"])

    @property
    def recipe(self) -> str:
        """In TOML: quantize() makes the same network with it."""
        return str(self._facts["recipe"])

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
