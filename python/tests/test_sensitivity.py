# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of layers, and networks within budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, Program, classes

# Leaves a choice to the small layer alone, whose fit takes a hundredth of the time.
RECIPE = '[[layer]]\nname = "dense1"\nskip = true\n'


def within(budget: Any, **options: Any) -> tuple[ht.Model, ht.BudgetReport]:
    options = {"choices": ["1/8", "2/8", "3/8"], "recipe": RECIPE, "limit": 50} | options
    model, report = ht.quantize(NETWORK, MNIST, budget=budget, progress=False, **options)
    assert isinstance(report, ht.BudgetReport)
    return model, report


def found(**options: Any) -> ht.Sensitivity:
    options = {"choices": [1, "2/8"], "recipe": RECIPE, "limit": 50, "time": False} | options
    return ht.sensitivity(NETWORK, MNIST, progress=False, **options)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    return path


def test_sensitivity_has_the_figures_of_the_program(program: Program, recipe: Path) -> None:
    arguments = ("sensitivity", NETWORK, "--data", MNIST, "--limit", 50, "--choices", "1,2/8",
                 "--recipe", recipe, "--no-time")
    result = found(threads=2)
    assert result.to_json() == program(*arguments, "--json")
    assert str(result) == program(*arguments)
    test = ("--test-data", MNIST, "--test-limit", 40, "--loss", "labels", "--seed", 3, "--json")
    other = found(test_data=MNIST, test_limit=40, loss="labels", seed=3)
    assert other.to_json() == program(*arguments, *test)


def test_sensitivity_says_what_layers_cost() -> None:
    result = found(choices="2/8,float", time=True)
    assert (result.loss, result.weighted_by, result.samples) == ("kl", "gradients", 50)
    assert result.on_fit_samples
    assert [layer.name for layer in result.layers] == ["dense1", "dense2"]
    assert result.layers[1].float_bytes == 10 * 700 * 4
    assert result.units == (ht.SensitiveUnit((0,), False), ht.SensitiveUnit((1,), True))
    two, floats = result.choices
    assert (two.name, two.layers[1].weight_bits, two.layers[1].activation_bits) == ("2/8", 2, 8)
    assert two.us is not None and two.layers[1].us is not None and two.us > two.layers[1].us > 0
    assert two.pj is None and floats.layers[1].sqnr_db is None
    assert two.units[1].loss > floats.units[1].loss == 0
    html = result._repr_html_()
    assert "<th>2/8</th><th>float</th>" in html and "<td>dense2</td>" in html
    assert repr(result) == "<halftone.Sensitivity: 2 layers in 2 choices, loss: kl>"


def test_sensitivity_continues_from_its_state(tmp_path: Path) -> None:
    whole = found()
    state = tmp_path / "s.json"
    assert found(choices=[1], state=state).choices == whole.choices[:1]
    first = state.read_bytes()
    assert b'{"name":"1"' in first
    assert found(state=state).to_json() == whole.to_json()
    assert state.read_bytes().startswith(first)
    with pytest.raises(ValueError, match="has sensitivities of another job: expected"):
        found(state=state, seed=1)


def test_sensitivity_of_a_quantized_network(train: np.ndarray) -> None:
    small = ht.quantize(NETWORK, train, recipe=RECIPE, weight_bits=2, progress=False).model
    labelled = (train, classes("train", 200))
    result = ht.sensitivity(small, labelled, reference=NETWORK, time=False, progress=False)
    (choice,) = result.choices
    assert choice.layers[-1].weight_bits == 2
    both = ht.evaluate(small, labelled, reference=NETWORK, float_order="fixed", progress=False)
    assert both.reference is not None and both.reference.kl is not None
    assert choice.units[-1].accumulated_loss == pytest.approx(both.reference.kl, rel=1e-6)
    with pytest.raises(ValueError, match="reference: the layers of the model are measured as they"):
        ht.sensitivity(small, train, reference=NETWORK, choices=[2], progress=False)


def test_quantize_within_a_loss_is_that_of_the_program(
    program: Program, recipe: Path, tmp_path: Path
) -> None:
    by_program, by_python = tmp_path / "program.onnx", tmp_path / "python.onnx"
    arguments = ("quantize", NETWORK, "-o", by_program, "--data", MNIST, "--limit", 50,
                 "--choices", "1/8,2/8,3/8", "--recipe", recipe, "--budget", "loss=1e-4")
    printed = json.loads(program(*arguments, "--json"))
    model, report = within({"loss": 1e-4}, output=by_python)
    assert by_python.read_bytes() == by_program.read_bytes() == model.to_bytes("onnx")
    facts = report.to_dict()
    del facts["seconds"], printed["seconds"]
    assert facts == printed
    assert report.output_bytes == report.chosen.bytes == by_python.stat().st_size
    again = ht.quantize(NETWORK, MNIST, recipe=report.recipe, limit=50, progress=False).model
    assert again.to_bytes("onnx") == model.to_bytes("onnx")


def test_the_report_says_how_the_network_was_found() -> None:
    limit = 2_201_500  # 2 bits
    model, report = within({"bytes": limit}, tries=2)
    assert report.output_bytes == len(model.to_bytes()) <= limit
    assert report.budget == {"bytes": limit}
    assert report.choices == (
        ht.ChosenLayer("dense1", report.choices[0].choice, False),
        ht.ChosenLayer("dense2", "2/8", True),
    )
    best = next(each for each in report.tries if each.measured == report.chosen)
    assert best.within and best.optimal and best.predicted.loss > 0
    assert report.chosen.us is None
    assert len(report.front) >= 2 and report.front[0].bytes < report.front[-1].bytes
    assert len(report.sensitivity.choices) == 3 and str(report.sensitivity)
    assert "<td>2/8</td>" in report._repr_html_()
    assert repr(report).startswith("<halftone.BudgetReport: bytes <= 2.2015e+06, ")
    assert "Budget: bytes <= 2201500" in str(report)


def test_budgets_of_programs_in_c_are_those_of_export_c(tmp_path: Path) -> None:
    limits = {"flash": 170_000, "ram": 4000}
    model, report = within(limits, choices=[1, 2], recipe=None, limit=30, tries=1)
    written = ht.export_c(model, tmp_path / "c")
    assert report.budget == limits
    assert report.chosen.bytes == written.flash_bytes <= 170_000
    assert report.ram_bytes == written.ram_bytes <= 4000
    with pytest.raises(ValueError, match="ram=100 cannot be met"):
        within({"flash": 170_000, "ram": 100}, choices=[1, 2], limit=30)


def test_budgets_of_instructions_are_those_of_export_c(tmp_path: Path) -> None:
    model, report = within("instructions=1500k", choices=[1, 2], recipe=None, limit=30, tries=1,
                           core="cortex-m3", instruction_pj=20)  # fmt: skip
    written = ht.export_c(model, tmp_path / "c", core="cortex-m3")
    assert report.core == written.core == "cortex-m3"
    assert report.chosen.instructions == written.instructions <= 1_500_000
    assert report.chosen.pj == 20 * written.instructions
    assert written.instructions == sum(layer.instructions for layer in written.layers)
    with pytest.raises(ValueError, match="instructions=100 cannot be met"):
        within({"instructions": 100}, choices=[1, 2], recipe=None, limit=30)
    with pytest.raises(ValueError, match="core: only with budget="):
        ht.quantize(NETWORK, MNIST, core="cortex-m3")


def test_budgets_may_be_texts_and_times() -> None:
    assert within("bytes=2300k,loss=10", tries=1)[1].budget == {"bytes": 2_300_000, "loss": 10}
    report = within({"us": 1e6}, tries=1)[1]
    assert report.chosen.us is not None and report.chosen.us > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": {"bytes": 1000}}, "budget bytes=1000 cannot be met"),
        ({"budget": {}}, "expected one limit or two, found 0"),
        ({"budget": "size=60k"}, "budget: expected bytes=, us=, loss=, pj=, instructions=, flash= or ram="),
        ({"budget": {"pj": 1}}, "budget pj: nothing has measured or estimated it"),
        ({"budget": "loss=1", "weight_bits": 2}, "weight_bits: expected none beside budget="),
        ({"budget": "loss=1", "scheme": "nf4"}, "scheme: expected none beside budget="),
        ({"budget": "loss=1", "full_integer": "onnx"}, "full_integer: expected none beside"),
        ({"budget": "loss=1", "tries": 0}, "tries: expected 1 to 100, found 0"),
        ({"budget": "loss=1", "choices": ["x"]}, "choice: expected float or"),
        ({"budget": "loss=1", "loss": "l2"}, "l2"),
        ({"budget": "loss=1", "test_limit": 3}, "test_limit: only with test_data="),
        ({"choices": [2]}, "choices: only with budget="),
        ({"tries": 2}, "tries: only with budget="),
        ({"test_data": "folder"}, "test_data: only with budget="),
    ],
)
def test_bad_budgets_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, NotImplementedError), match=message):
        ht.quantize(NETWORK, MNIST, limit=10, progress=False, **options)


def test_a_budget_of_another_type_is_an_error() -> None:
    with pytest.raises(TypeError, match='budget: expected {"bytes": 60_000}'):
        ht.quantize(NETWORK, MNIST, limit=10, progress=False, budget=60_000)  # type: ignore[arg-type]
