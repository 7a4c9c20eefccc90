# SPDX-License-Identifier: Apache-2.0
"""Networks whose files leave height, width or length open, against ONNX Runtime at several sizes."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import halftone as ht

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
helper = pytest.importorskip("onnx.helper")

FLOAT = 1
INT64 = 7


class Maker:
    """An ONNX network of random weights."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.constants: list[object] = []
        self.random = np.random.default_rng(1)

    def constant(self, name: str, value: object) -> str:
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name: str, *shape: int) -> str:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        return self.constant(name, (scale * self.random.standard_normal(shape)).astype(np.float32))

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def conv(self, x: str, outputs: int, inputs: int, size: int = 3, stride: int = 1) -> str:
        name = f"w{len(self.nodes)}"
        pad = size // 2
        return self.add("Conv", x, self.weight(name, outputs, inputs, size, size),
                        pads=[pad] * 4, strides=[stride] * 2)  # fmt: skip

    def dense(self, x: str, outputs: int, inputs: int) -> str:
        name = f"w{len(self.nodes)}"
        return self.add("MatMul", x, self.weight(name, inputs, outputs))

    def integers(self, *values: int) -> str:
        return self.constant(f"i{len(self.constants)}", np.array(values, np.int64))

    def extent(self, x: str, axis: int) -> str:
        return self.add("Shape", x, start=axis, end=axis + 1)

    def selected(self, y: str, columns: int, least: float) -> tuple[str, str]:
        """Boxes [n, 4] and the indices of those that NonMaxSuppression selects.

        `y` has four numbers of a box and its scores as channels.
        """
        rows = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 3, 1]),
                        self.integers(1, -1, columns))  # fmt: skip
        axis = self.integers(2)
        boxes = self.add("Sigmoid", self.add("Slice", rows, self.integers(0), self.integers(4), axis))
        ends = self.integers(4), self.integers(columns)
        scores = self.add("Sigmoid", self.add("Slice", rows, *ends, axis))
        iou = self.constant("iou", np.array([0.5], np.float32))
        score = self.constant("score", np.array([least], np.float32))
        scores = self.add("Transpose", scores, perm=[0, 2, 1])
        found = self.add("NonMaxSuppression", boxes, scores, self.integers(20), iou, score,
                         center_point_box=1)  # fmt: skip
        at = self.add("Slice", found, axis, self.integers(3), self.integers(1))
        squeezed = self.add("Squeeze", boxes, self.integers(0))
        return squeezed, self.add("Squeeze", at, self.integers(1))

    def model(self, inputs: dict[str, tuple[int, list[object]]], output: str) -> bytes:
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info(n, t, shape) for n, (t, shape) in inputs.items()],
            [helper.make_tensor_value_info(output, FLOAT, None)],
            self.constants,
        )  # fmt: skip
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


IMAGE = {"x": (FLOAT, ["N", 3, "H", "W"])}


def segmentation() -> bytes:
    """Resizes features to the sizes of those that they join, and at last to that of the image."""
    m = Maker()
    a = m.add("Relu", m.conv("x", 16, 3, stride=2))
    b = m.add("Relu", m.conv(a, 32, 16, stride=2))

    def resized(y: str, like: str, channels: int) -> str:
        sizes = m.add("Concat", m.extent(y, 0), m.integers(channels),
                      m.add("Shape", like, start=2), axis=0)  # fmt: skip
        return m.add("Resize", y, "", "", sizes, mode="linear",
                     coordinate_transformation_mode="half_pixel")  # fmt: skip

    joined = m.add("Concat", a, resized(b, a, 32), axis=1)
    return m.model(IMAGE, resized(m.conv(m.add("Relu", m.conv(joined, 16, 48)), 4, 16, 1), "x", 4))


def super_resolution() -> bytes:
    m = Maker()
    y = m.conv(m.add("Relu", m.conv("x", 16, 3, 5)), 12, 16)
    return m.model(IMAGE, m.add("DepthToSpace", y, blocksize=2, mode="CRD"))


def detector() -> bytes:
    """Boxes of two maps in one list, [N, boxes, 6]."""
    m = Maker()
    a = m.add("Relu", m.conv("x", 16, 3, stride=2))
    b = m.add("Relu", m.conv(a, 16, 16, stride=2))
    lists = []
    for features in (a, b):
        y = m.add("Transpose", m.conv(features, 12, 16, 1), perm=[0, 2, 3, 1])
        shape = m.add("Concat", m.extent(y, 0), m.integers(-1, 6), axis=0)
        lists.append(m.add("Reshape", y, shape))
    return m.model(IMAGE, m.add("Sigmoid", m.add("Concat", *lists, axis=1)))


def language() -> bytes:
    """A block of attention over a table of 64 positions."""
    m = Maker()
    length = m.extent("ids", 1)
    rows = m.add("Slice", m.weight("places", 64, 32), m.integers(0), length, m.integers(0))
    x = m.add("Add", m.add("Gather", m.weight("words", 100, 32), "ids"), rows)
    shape = m.add("Concat", m.extent("ids", 0), length, m.integers(4, 8), axis=0)

    def heads(y: str) -> str:
        return m.add("Transpose", m.add("Reshape", m.dense(y, 32, 32), shape), perm=[0, 2, 1, 3])

    keys = m.add("Transpose", heads(x), perm=[0, 1, 3, 2])
    scores = m.add("Softmax", m.add("MatMul", heads(x), keys), axis=-1)
    y = m.add("Transpose", m.add("MatMul", scores, heads(x)), perm=[0, 2, 1, 3])
    back = m.add("Reshape", y, m.add("Concat", m.extent("ids", 0), length, m.integers(32), axis=0))
    return m.model({"ids": (INT64, ["N", "L"])}, m.dense(m.add("Add", x, back), 3, 32))


def recurrent() -> bytes:
    m = Maker()
    y = m.add("LSTM", "x", m.weight("w", 1, 96, 20), m.weight("r", 1, 96, 24), hidden_size=24)
    return m.model({"x": (FLOAT, ["T", "batch", 20])}, m.dense(m.add("Squeeze", y, m.integers(1)), 5, 24))


def selection() -> bytes:
    """The boxes that NonMaxSuppression selects, [count, 4]."""
    m = Maker()
    y = m.conv(m.add("Relu", m.conv("x", 16, 3, stride=2)), 7, 16, 1)
    boxes, at = m.selected(y, 7, 0.55)
    return m.model({"x": (FLOAT, [1, 3, "H", "W"])}, m.add("Gather", boxes, at))


def images(*size: int) -> np.ndarray:
    return np.random.default_rng(sum(size)).standard_normal(size).astype(np.float32)


def words(samples: int, length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(0, 100, (samples, length))


CASES = {
    "segmentation": (segmentation, [images(1, 3, 32, 48), images(2, 3, 33, 20), images(1, 3, 9, 7)]),
    "super-resolution": (super_resolution, [images(2, 3, 12, 8), images(1, 3, 5, 31), images(1, 3, 1, 1)]),
    "detector": (detector, [images(1, 3, 16, 16), images(2, 3, 21, 40), images(1, 3, 64, 8)]),
    "language": (language, [words(2, 16), words(1, 1), words(3, 64)]),
    "recurrent": (recurrent, [images(7, 2, 20), images(1, 1, 20), images(30, 3, 20)]),
}  # fmt: skip


def reference(model: bytes, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def tolerance(expected: np.ndarray, products: int = 432, layers: int = 6) -> float:
    """Sums of so many products in another order, in each of so many layers one after another."""
    return layers * products * 2.0**-24 * float(np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_networks_run_at_any_size(name: str) -> None:
    make, inputs = CASES[name]
    model = ht.load(make())
    session = model.session()
    for x in [*inputs, inputs[0]]:
        expected = reference(make(), x)
        for found in (model(x), session(x)):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(expected))


@pytest.mark.parametrize("name", CASES)
def test_files_keep_open_extents(name: str) -> None:
    make, inputs = CASES[name]
    model = ht.load(make())
    file = model.to_bytes("onnx")
    assert ht.load(file).inputs == model.inputs
    assert ht.load(file).outputs == model.outputs
    for x in inputs:
        expected = reference(make(), x)
        np.testing.assert_allclose(
            reference(file, x), expected, rtol=0, atol=tolerance(expected)
        )


@pytest.mark.parametrize("bits", [(4, 8), (2, 2)])
@pytest.mark.parametrize("name", ["segmentation", "super-resolution", "detector", "language"])
def test_quantized_files_keep_open_extents(name: str, bits: tuple[int, int]) -> None:
    make, inputs = CASES[name]
    samples = np.concatenate([inputs[0]] * 4)
    small, report = ht.quantize(make(), samples, weight_bits=bits[0], activation_bits=bits[1])
    assert not [line for line in report.warnings if "extents" in line]
    loaded = ht.load(small.to_bytes("onnx"))
    assert loaded.inputs == ht.load(make()).inputs
    for x in inputs:
        np.testing.assert_array_equal(loaded(x), small(x))
        # Fixed to this size by the option, the file computes the same.
        shapes = {small.inputs[0].name: list(x.shape)}
        fixed = ht.load(small.to_bytes("onnx"), shapes=shapes)
        np.testing.assert_array_equal(fixed(x), small(x))


def sizes_of_images(channels: int = 3) -> list[np.ndarray]:
    return [images(6, channels, 16, 24), images(4, channels, 21, 12), images(5, channels, 8, 30)]


@pytest.mark.parametrize("bits", [(4, 8), (2, 2)])
@pytest.mark.parametrize("name", ["segmentation", "super-resolution", "detector", "language"])
def test_samples_of_several_sizes_are_fitted_together(
    name: str, bits: tuple[int, int], tmp_path: pathlib.Path
) -> None:
    make, inputs = CASES[name]
    batches = [np.concatenate([x] * 4) for x in inputs[:2]] if name == "language" else None
    batches = batches or sizes_of_images()
    model = ht.load(make())
    small, report = ht.quantize(model, batches, weight_bits=bits[0], activation_bits=bits[1])
    assert not [line for line in report.warnings if "extents" in line]
    assert ht.load(small.to_bytes("onnx")).inputs == model.inputs
    for i, x in enumerate(batches):
        assert small(x).shape == model(x).shape
        np.save(tmp_path / f"{i}.npy", x)
    # The same from an iterator of dicts and from a folder.
    name_of_input = model.inputs[0].name
    for data in ([{name_of_input: x} for x in batches], str(tmp_path)):
        again, _ = ht.quantize(model, data, weight_bits=bits[0], activation_bits=bits[1])
        assert again.to_bytes("onnx") == small.to_bytes("onnx")


def test_several_sizes_are_evaluated_as_each_by_itself() -> None:
    model = ht.load(detector())
    batches = sizes_of_images()
    small, _ = ht.quantize(model, batches, weight_bits=2, activation_bits=2)
    signal = noise = 0.0
    for x in batches:
        signal += float(np.square(model(x), dtype=np.float64).sum())
        noise += float(np.square(small(x).astype(np.float64) - model(x)).sum())
    found = ht.evaluate(small, batches, reference=model)
    assert found.samples == sum(len(x) for x in batches)
    assert found.reference.sqnr_db == pytest.approx(10 * np.log10(signal / noise), abs=1e-3)


def test_samples_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"sample 6: .*\[4, 9, 9\] of data do not fit input 'x'"):
        ht.quantize(segmentation(), [images(6, 3, 8, 8), images(2, 4, 9, 9)])
    with pytest.raises(ValueError, match=r"sample 4: .*shape \[3, 9, 9\] do not fit .*\[3, 8, 8\]"):
        fixed = ht.load(segmentation(), shapes={"x": ["N", 3, 8, 8]})
        ht.quantize(fixed, [images(4, 3, 8, 8), images(2, 3, 9, 9)])


def test_boxes_are_as_many_as_are_found() -> None:
    file = selection()
    model = ht.load(file)
    session = model.session()
    again = model.to_bytes("onnx")
    counts = set()
    for size in [(16, 16), (20, 33), (8, 48)]:
        for seed in range(3):
            x = np.random.default_rng(seed).standard_normal((1, 3, *size)).astype(np.float32)
            for scale in (0.3, 1.0):
                expected = reference(file, scale * x)
                counts.add(len(expected))
                for found in (model(scale * x), session(scale * x), reference(again, scale * x)):
                    assert found.shape == expected.shape
                    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(np.ones(1)))
    assert len(counts) > 4
    nothing = model(np.zeros((1, 3, 8, 8), np.float32))
    assert nothing.shape == (0, 4)
    with pytest.raises(ValueError, match=r"found|size depends on data"):
        session(np.zeros((1, 3, 8, 8), np.float32), out=np.zeros((0, 4), np.float32))


@pytest.mark.parametrize("bits", [(4, 8), (2, 2)])
def test_quantized_detectors_keep_what_depends_on_data(bits: tuple[int, int]) -> None:
    samples = np.concatenate([images(1, 3, 16, 24)] * 8)
    small, report = ht.quantize(
        selection(), samples, weight_bits=bits[0], activation_bits=bits[1]
    )
    assert len(report.layers) == 2
    loaded = ht.load(small.to_bytes("onnx"))
    assert loaded.inputs == ht.load(selection()).inputs
    for size in [(16, 24), (21, 9)]:
        x = images(1, 3, *size)
        np.testing.assert_array_equal(loaded(x), small(x))


def test_what_says_no_size_is_refused(tmp_path: pathlib.Path) -> None:
    model = ht.load(segmentation(), name="s.onnx")
    assert str(model.inputs[0]) == "x: float32[N, 3, H, W]"
    option = r"--shape x=N,3,H,W with numbers for H and W"
    with pytest.raises(ValueError, match=option):
        model.inspect(simplified=True)
    with pytest.raises(ValueError, match=r"expected .*3.* found"):
        model(images(1, 4, 8, 8))
    with pytest.raises(ValueError, match="do not fit input 'x'"):
        ht.quantize(model, images(4, 5, 8, 8))
    with pytest.raises(NotImplementedError, match=r"no other open extents than the batch"):
        model.save(tmp_path / "s.circle")
    assert not list(tmp_path.iterdir())
