# SPDX-License-Identifier: Apache-2.0
"""Layers behind extents that depend on data: quantized, compared, measured, in files."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import halftone as ht
from conftest import Program
from test_open_extents import FLOAT, Maker, images, reference, tolerance

BITS = [(4, 8), (2, 2), (8, 8), (4, None)]


def count_above(m: Maker, values: str, limit: float) -> str:
    """How many values are above a limit, as [1]."""
    is_above = m.add("Greater", values, m.constant(f"limit{len(m.nodes)}", np.float32(limit)))
    ones = m.add("Cast", is_above, to=7)
    return m.add("Reshape", m.add("ReduceSum", ones, keepdims=0), m.integers(1))


def indices_above(m: Maker, rows: str, limit: float) -> str:
    """The indices of the rows [N, C] whose first value is above a limit."""
    first = m.add("Slice", rows, m.integers(0), m.integers(1), m.integers(1))
    flat = m.add("Reshape", first, m.integers(-1))
    is_above = m.add("Greater", flat, m.constant(f"limit{len(m.nodes)}", np.float32(limit)))
    return m.add("Squeeze", m.add("NonZero", is_above), m.integers(0))


def node_of(op: str, inputs: list[str], outputs: list[str], **attributes: object) -> object:
    onnx = pytest.importorskip("onnx")
    return onnx.helper.make_node(op, inputs, outputs, op, **attributes)


def detector() -> bytes:
    """Finds boxes by NonMaxSuppression, cuts features out of them, and classifies these [k, 5]."""
    m = Maker()
    features = m.add("Relu", m.conv("x", 16, 3, stride=2))
    y = m.conv(features, 5, 16, 1)
    boxes, at = m.selected(y, 5, 0.6)
    chosen = m.add("Gather", boxes, at)
    centres = m.add("Slice", chosen, m.integers(0), m.integers(2), m.integers(1))
    sizes = m.add("Slice", chosen, m.integers(2), m.integers(4), m.integers(1))
    half = m.add("Mul", sizes, m.constant("half", np.float32(0.5)))
    corners = m.add("Concat", m.add("Sub", centres, half), m.add("Add", centres, half), axis=1)
    image = m.add("Mul", at, m.constant("none", np.int64(0)))
    regions = m.add("RoiAlign", features, corners, image, output_height=3, output_width=3,
                    spatial_scale=8.0, sampling_ratio=2)  # fmt: skip
    hidden = m.add("Relu", m.dense(m.add("Flatten", regions), 32, 144))
    return m.model({"x": (FLOAT, [1, 3, "H", "W"])}, m.dense(hidden, 5, 32))


def largest() -> bytes:
    """The k largest of 64 values, with a computed k, through layers; [1, 8] whatever k is."""
    m = Maker()
    y = m.dense("x", 64, 64)
    top = [y, count_above(m, "x", 0.3)]
    m.nodes.append(node_of("TopK", top, ["values", "indices"], axis=1))
    hidden = m.add("Relu", m.dense(m.add("Transpose", "values", perm=[1, 0]), 8, 1))
    return m.model(
        {"x": (FLOAT, [1, 64])}, m.dense(m.add("ReduceMean", hidden, axes=[0]), 8, 8)
    )


def chosen() -> bytes:
    """The rows of the input whose first value is above a limit, times a matrix; [k, 6]."""
    m = Maker()
    rows = m.add("Squeeze", "x", m.integers(0))
    return m.model(
        {"x": (FLOAT, [1, 40, 8])}, m.dense(m.add("Gather", rows, indices_above(m, rows, 0.3)), 6, 8)
    )


def sequence() -> bytes:
    """The first n steps of a sequence, with a computed n, through an LSTM; [1, 5]."""
    m = Maker()
    first = m.add("Slice", "x", m.integers(0), m.integers(1), m.integers(2))
    steps = m.add("Slice", "x", m.integers(0), count_above(m, first, 0.0), m.integers(0))
    m.nodes.append(
        node_of("LSTM", [steps, m.weight("w", 1, 64, 8), m.weight("r", 1, 64, 16)],
                ["all", "last"], hidden_size=16)  # fmt: skip
    )
    return m.model({"x": (FLOAT, [24, 1, 8])}, m.dense(m.add("Squeeze", "last", m.integers(0)), 5, 16))


def nested() -> bytes:
    """Chooses rows, multiplies them, chooses among the results, and multiplies again."""
    m = Maker()
    rows = m.add("Squeeze", "x", m.integers(0))
    y = m.dense(m.add("Gather", rows, indices_above(m, rows, 0.0)), 12, 8)
    z = m.add("Gather", y, indices_above(m, y, 0.0))
    return m.model({"x": (FLOAT, [1, 40, 8])}, m.dense(m.add("Relu", z), 4, 12))


#: A network, its samples as one array, and how many layers it has.
CASES = {
    "detector": (detector, images(24, 3, 16, 24), 4),
    "largest": (largest, images(64, 64), 3),
    "chosen": (chosen, images(48, 40, 8), 1),
    "sequence": (sequence, images(48, 24, 8), 3),
    "nested": (nested, images(48, 40, 8), 2),
}


def sample(name: str, index: int) -> np.ndarray:
    x = CASES[name][1][index]
    return x[:, np.newaxis] if name == "sequence" else x[np.newaxis]


@pytest.mark.parametrize("name", CASES)
def test_float_networks_run_as_in_onnx_runtime(name: str) -> None:
    file = CASES[name][0]()
    model = ht.load(file)
    for index in range(8):
        expected = reference(file, sample(name, index))
        found = model(sample(name, index))
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(expected) + 1e-6)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", CASES)
def test_layers_behind_are_quantized(name: str, bits: tuple[int, int | None]) -> None:
    make, samples, layers = CASES[name]
    how = {"weight_bits": bits[0], "activation_bits": bits[1] or "none", "progress": False}
    small, report = ht.quantize(make(), samples, threads=3, **how)
    assert len(report.layers) == layers
    assert all(layer.weight_bits == bits[0] for layer in report.layers)
    assert min(layer.sqnr_db for layer in report.layers) > {2: 3, 4: 12, 8: 25}[bits[0]]
    assert not [line for line in report.warnings if "float32" in line or "extents of" in line]
    again, _ = ht.quantize(make(), samples, threads=1, **how)
    file = small.to_bytes("onnx")
    assert again.to_bytes("onnx") == file
    loaded = ht.load(file)
    assert loaded.inputs == ht.load(make()).inputs
    for index in range(4):
        np.testing.assert_array_equal(loaded(sample(name, index)), small(sample(name, index)))


@pytest.mark.parametrize("bits", [(8, 8), (2, 2)])
def test_errors_of_layers_are_those_of_runs(bits: tuple[int, int]) -> None:
    make, samples, _ = CASES["chosen"]
    model = ht.load(make())
    small, report = ht.quantize(
        model, samples, weight_bits=bits[0], activation_bits=bits[1], progress=False
    )
    signal = noise = 0.0
    for index in range(len(samples)):
        expected = reference(make(), sample("chosen", index)).astype(np.float64)
        signal += np.square(expected).sum()
        noise += np.square(small(sample("chosen", index)) - expected).sum()
    db = 10 * np.log10(signal / noise)
    assert report.layers[0].sqnr_db == pytest.approx(db, abs=1e-3)
    found = ht.evaluate(small, samples, reference=model, progress=False)
    assert found.samples == len(samples)
    assert found.reference.sqnr_db == pytest.approx(db, abs=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_networks_are_compared_by_whole_runs(name: str) -> None:
    make, samples, _ = CASES[name]
    model = ht.load(make())
    same = ht.evaluate(model, samples, reference=model, progress=False)
    assert same.value == 1
    small, _ = ht.quantize(model, samples, weight_bits=8, activation_bits=8, progress=False)
    signal = noise = 0.0
    for index in range(len(samples)):
        expected = model(sample(name, index)).astype(np.float64).ravel()
        found = small(sample(name, index)).astype(np.float64).ravel()
        size = max(expected.size, found.size)
        expected, found = (np.pad(y, (0, size - y.size)) for y in (expected, found))
        signal += np.square(expected).sum()
        noise += np.square(found - expected).sum()
    found = ht.evaluate(small, samples, reference=model, progress=False)
    assert found.reference.sqnr_db == pytest.approx(10 * np.log10(signal / noise), abs=1e-3)


@pytest.mark.parametrize("suffix", ["circle", "tflite"])
def test_other_formats_keep_them(suffix: str) -> None:
    name = "chosen"
    make, samples, layers = CASES[name]
    small, report = ht.quantize(make(), samples, progress=False)
    loaded = ht.load(small.to_bytes(suffix))
    assert len(report.layers) == layers
    for index in range(4):
        np.testing.assert_array_equal(loaded(sample(name, index)), small(sample(name, index)))


@pytest.mark.parametrize("name", CASES)
def test_sensitivity_has_all_layers(name: str) -> None:
    make, samples, layers = CASES[name]
    found = ht.sensitivity(make(), samples, choices=["2/8", "4/8"], time=False, progress=False)
    assert len(found.layers) == layers
    for choice in found.choices:
        assert len(choice.layers) == layers
        assert all(unit.loss > 0 for unit in choice.units)
    few, more = found.choices
    assert sum(unit.loss for unit in few.units) > sum(unit.loss for unit in more.units)


def test_budgets_hold_for_all_stages(tmp_path: pathlib.Path) -> None:
    make, samples, layers = CASES["detector"]
    whole, report = ht.quantize(make(), samples, weight_bits=4, activation_bits=8, progress=False)
    limit = len(whole.to_bytes("onnx"))
    output = tmp_path / "small.onnx"
    small, found = ht.quantize(make(), samples, budget=f"bytes={limit}", output=output,
                               choices=["2/8", "4/8", "8/8"], progress=False)  # fmt: skip
    assert output.stat().st_size <= limit
    assert len(small.to_bytes("onnx")) == output.stat().st_size
    assert len(found.layers) == layers == len(report.layers)


def test_samples_of_several_sizes_reach_later_stages() -> None:
    batches = [images(8, 3, 16, 24), images(6, 3, 20, 12)]
    small, report = ht.quantize(detector(), batches, progress=False)
    assert len(report.layers) == 4
    loaded = ht.load(small.to_bytes("onnx"))
    for x in (batches[0][:1], batches[1][:1], images(1, 3, 9, 30)):
        np.testing.assert_array_equal(loaded(x), small(x))


def test_a_stage_without_samples_stays_float() -> None:
    samples = -np.abs(CASES["chosen"][1])
    with pytest.raises(NotImplementedError, match=r"no sample reaches a layer"):
        ht.quantize(chosen(), samples, progress=False)
    calm = 0.01 * images(8, 3, 16, 24)
    small, report = ht.quantize(detector(), calm, progress=False)
    lines = [line for line in report.warnings if "stay float32" in line]
    assert len(lines) == 1
    assert "2 layers behind node 'NonMaxSuppression" in lines[0]
    assert "it finds nothing in any sample" in lines[0]
    assert len(report.layers) == 2
    assert small(calm[:1]).shape == (0, 5)


def test_the_command_line_does_the_same(program: Program, tmp_path: pathlib.Path) -> None:
    make, samples, layers = CASES["nested"]
    network, data = tmp_path / "a.onnx", tmp_path / "x.npy"
    network.write_bytes(make())
    np.save(data, samples)
    output = tmp_path / "b.onnx"
    report = program("quantize", network, "-o", output, "--data", data, "--json")
    assert len(json.loads(report)["layers"]) == layers
    small, _ = ht.quantize(make(), samples, progress=False)
    assert output.read_bytes() == small.to_bytes("onnx")
    compared = program("eval", output, "--data", data, "--reference", network, "--json")
    assert json.loads(compared)["samples"] == len(samples)
    costs = program("sensitivity", output, "--reference", network, "--data", data, "--json")
    assert len(json.loads(costs)["layers"]) == layers
    page = tmp_path / "page.html"
    program("report", output, "-o", page, "--reference", network, "--data", data)
    assert page.exists()
