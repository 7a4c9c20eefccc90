# SPDX-License-Identifier: Apache-2.0
"""Presets, metrics of a program's own, and layers that a function picks."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, Program, classes, pixels, write_tiny_gguf
from halftone import _halftone as native
from halftone._metric import escaped, within_drop
from halftone._presets import Preset

FAST: Any = {"limit": 60, "progress": False}


def accuracy(model: ht.Model) -> float:
    return ht.evaluate(model, MNIST, limit=300, progress=False).value


def bits(model: ht.Model) -> list[tuple[int, int]]:
    return [(layer.weight_bits, layer.activation_bits) for layer in model.layers]


def test_presets_are_those_of_the_program(program: Program, tmp_path: Path) -> None:
    assert list(get_args(Preset)) == native.preset_names()
    out = tmp_path / "small.circle"
    program("quantize", NETWORK, "-o", out, "--data", MNIST, "--limit", 60, "--preset", "int8")
    expected, _ = ht.quantize(NETWORK, MNIST, "int8", **FAST)
    assert out.read_bytes() == expected.to_bytes()


def test_presets_are_of_networks_alone(program: Program, tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "m.gguf")
    (tmp_path / "t.txt").write_text("foxes ran away")
    words = ["quantize", tmp_path / "m.gguf", "-o", tmp_path / "o.gguf", "--preset", "int8"]
    with pytest.raises(subprocess.CalledProcessError) as found:
        program(*words, "--text", tmp_path / "t.txt")
    assert "--preset: only of networks that are no language models" in found.value.stderr
    with pytest.raises(ValueError, match="expected one of int8, w4a8, smallest, fastest, found 'x'"):
        native.preset("x")


def test_presets_are_the_settings_that_they_say() -> None:
    eight, _ = ht.quantize(NETWORK, MNIST, "int8", **FAST)
    same, _ = ht.quantize(NETWORK, MNIST, weight_bits=8, activation_bits=8, weight_scheme="int",
                          activation_scheme="asymmetric", arithmetic="integers", **FAST)
    assert eight.to_bytes() == same.to_bytes()
    assert {layer.arithmetic for layer in eight.layers} == {"integers"}
    assert bits(ht.quantize(NETWORK, MNIST, "w4a8", **FAST).model) == [(4, 8), (4, 8)]
    assert bits(ht.quantize(NETWORK, MNIST, "w4a8", ends=8, **FAST).model) == [(8, 8), (8, 8)]


def test_budget_presets_keep_a_loss() -> None:
    given: Any = {"choices": [2, 8], "skip": ["dense1"], **FAST}
    small, report = ht.quantize(NETWORK, MNIST, "smallest", **given)
    assert isinstance(report, ht.BudgetReport)
    assert report.budget == {"loss": 0.01} and report.chosen.loss <= 0.01
    quick, report = ht.quantize(NETWORK, MNIST, "fastest", **given)
    assert isinstance(report, ht.BudgetReport) and report.chosen.loss <= 0.01
    assert report.chosen.us is not None
    assert len(small.to_bytes()) <= len(quick.to_bytes())


def test_layers_stay_float_by_a_function() -> None:
    seen: list[str] = []

    def is_small(layer: ht.Layer) -> bool:
        seen.append(layer.name)
        return layer.weight_bytes < 100_000

    model, _ = ht.quantize(NETWORK, MNIST, weight_bits=2, skip=is_small, **FAST)
    assert seen == ["dense1", "dense2"] and bits(model) == [(2, 3), (32, 32)]
    losses = ht.sensitivity(NETWORK, MNIST, skip=is_small, choices=[1, 2], time=False, **FAST)
    assert [unit.may_change for unit in losses.units] == [True, False]


def test_a_metric_keeps_its_drop() -> None:
    free, report = ht.quantize(NETWORK, MNIST, weight_bits=1, activation_bits=1, metric=accuracy,
                               largest_drop=1, **FAST)
    assert report.metric == ht.MetricDrop(accuracy(ht.load(NETWORK)), accuracy(free), ())
    lost = report.metric.drop
    assert lost > 0.005  # one bit loses something
    kept, report = ht.quantize(NETWORK, MNIST, weight_bits=1, activation_bits=1, metric=accuracy,
                               largest_drop=lost * 0.99, **FAST)
    assert report.metric is not None and report.metric.drop <= lost * 0.99
    assert report.metric.after == accuracy(kept) and len(report.metric.float_layers) == 1
    assert [layer.name for layer in kept.layers if layer.weight_bits == 32] == list(
        report.metric.float_layers
    )
    with pytest.raises(ValueError, match="largest_drop: the metric falls from .* allow more"):
        ht.quantize(NETWORK, MNIST, weight_bits=1, activation_bits=1, largest_drop=0,
                    metric=lambda m: float(m.format != "memory"), **FAST)


def test_a_metric_of_outputs_and_labels() -> None:
    x, labels = pixels("t10k", 100), classes("t10k", 100).astype(np.int64)

    def share(outputs: np.ndarray, wanted: np.ndarray) -> float:
        assert outputs.shape == (100, 10)
        return float((outputs.argmax(-1) == wanted).mean())

    scaled = (x.reshape(-1, 784) / np.float32(255), labels)
    _, report = ht.quantize(NETWORK, MNIST, "w4a8", metric=share, largest_drop=0.1,
                            test_data=scaled, **FAST)
    assert report.metric is not None
    expected = ht.evaluate(NETWORK, scaled[0], labels, progress=False).value
    assert report.metric.before == pytest.approx(expected)


@pytest.mark.parametrize("needed", [1, 2, 3, 5, 7, 8])
def test_as_few_layers_stay_float_as_keep_the_drop(needed: int) -> None:
    """A network of 8 layers whose metric is the number of float ones."""
    made: list[int] = []

    def make(names: Any) -> int:
        made.append(len(names))
        return len(names)

    found = within_drop([[f"l{i}"] for i in range(8)], make, float, needed)
    if needed == 8:
        assert found is None
    else:
        assert found == (needed, needed, tuple(f"l{i}" for i in range(needed)))
    assert len(made) <= 3  # log2(8)


def test_names_with_wildcards_match_themselves_alone() -> None:
    assert escaped("a*b[0]?\\") == "a\\x2ab\\x5b0\\x5d\\x3f\\x5c"
