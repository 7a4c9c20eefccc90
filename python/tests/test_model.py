# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK


def test_a_path_and_its_bytes_are_the_same_network(x: np.ndarray) -> None:
    by_path = ht.load(str(NETWORK))
    by_bytes = ht.load(NETWORK.read_bytes(), name="mine")
    assert by_bytes.name == "mine"
    assert by_bytes.format == by_path.format == "onnx"
    assert by_bytes.inputs == by_path.inputs
    np.testing.assert_array_equal(by_bytes(x), by_path(x))
    assert ht.load(bytearray(NETWORK.read_bytes())).outputs == by_path.outputs


def test_ports_and_layers_say_what_the_network_takes(model: ht.Model) -> None:
    (port,) = model.inputs
    assert (port.name, port.dtype, port.shape) == ("pixels", np.dtype("f4"), ("N", 784))
    assert model.outputs[0].shape == ("N", 10)
    assert [layer.weight_bits for layer in model.layers] == [32, 32]
    assert "pixels: float32[N, 784]" in repr(model)
    assert "<td>float32[N, 784]</td>" in model._repr_html_()


def test_any_batch_gives_the_same_rows(x: np.ndarray) -> None:
    model = ht.load(NETWORK, float_order="fixed")  # oneDNN may add in another order
    whole = model(x)
    for i in range(3):
        np.testing.assert_array_equal(model(x[i : i + 1])[0], whole[i])


def test_devices_give_the_same(x: np.ndarray) -> None:
    expected = ht.load(NETWORK, float_order="fixed")(x)
    for device in ht.devices():
        if device.problem is None:
            model = ht.load(NETWORK, float_order="fixed", device=device.id)
            np.testing.assert_array_equal(model(x), expected)
            np.testing.assert_array_equal(model.session(batch=3)(x), expected)
            ht.bench(NETWORK, seconds=0, device=device.id, progress=False)
    with pytest.raises(RuntimeError, match="opencl"):
        ht.load(NETWORK, device="opencl:99")


def test_results_by_name(model: ht.Model, x: np.ndarray) -> None:
    name = model.outputs[0].name
    out = np.empty((3, 10), np.float32)
    results = model.run({"pixels": x}, out={name: out})
    assert results[name] is out
    np.testing.assert_array_equal(out, model(x))
    with pytest.raises(ValueError, match=r"expected the names \['pixels'\], found \['y'\]"):
        model.run({"y": x})
    with pytest.raises(TypeError, match="expected arrays by name"):
        model.run(x)  # type: ignore[arg-type]


def test_many_batches_keep_few_sessions(model: ht.Model) -> None:
    for batch in range(1, 12):
        assert model(np.zeros((batch, 784), np.float32)).shape == (batch, 10)
    assert len(model._plans) <= 4 and len(model._idle) <= 4


def test_a_session_outlives_its_model(x: np.ndarray) -> None:
    model = ht.load(NETWORK)
    expected = model(x)
    session = model.session(3)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(session(x), expected)


@pytest.mark.parametrize("suffix", ["circle", "onnx"])
def test_files_and_bytes_are_the_same(
    two_bits: ht.Quantized, tmp_path: Path, x: np.ndarray, suffix: str
) -> None:
    path = tmp_path / f"m.{suffix}"
    two_bits.model.save(path)
    assert path.read_bytes() == two_bits.model.to_bytes(suffix)  # type: ignore[arg-type]
    np.testing.assert_array_equal(ht.load(path)(x), two_bits.model(x))


def test_float_activations_and_order_are_options(two_bits: ht.Quantized, x: np.ndarray) -> None:
    file = two_bits.model.to_bytes()
    usual = ht.load(file)(x)
    other = ht.load(file, float_activations=True, float_order="fixed", threads=2)(x)
    np.testing.assert_allclose(other, usual, atol=0.5)


def test_shapes_and_constants_fix_inputs() -> None:
    fixed = ht.load(NETWORK, shapes={"pixels": (5, 784)})
    assert fixed.inputs[0].shape == (5, 784)
    assert ht.load(NETWORK, shapes={"pixels": ("N", 784)}).inputs[0].shape == ("N", 784)
    with pytest.raises(ValueError, match="expected extents from 1 or 'N', found 'M'"):
        ht.load(NETWORK, shapes={"pixels": ("M", 784)})
    with pytest.raises(ValueError, match="nowhere"):
        ht.load(NETWORK, constants={"nowhere": 1})


def running_sum() -> bytes:
    """An ONNX file: y = x + sum, all of [1, 2], and y is the sum of the next run."""
    def field(key: int, content: bytes) -> bytes:
        size, text = len(content), bytes([key * 8 + 2])
        while size > 127:
            text, size = text + bytes([size % 128 + 128]), size // 128
        return text + bytes([size]) + content

    def number(key: int, value: int) -> bytes:
        return bytes([key * 8, value])

    def value(name: bytes) -> bytes:
        shape = field(1, number(1, 1)) + field(1, number(1, 2))
        return field(1, name) + field(2, field(1, number(1, 1) + field(2, shape)))

    node = field(1, b"x") + field(1, b"sum") + field(2, b"y") + field(4, b"Add")
    keep = field(1, b"y") + field(2, b"next") + field(4, b"Identity")
    graph = (field(1, node) + field(1, keep) + field(2, b"g") + field(11, value(b"x"))
             + field(11, value(b"sum")) + field(12, value(b"y")) + field(12, value(b"next")))
    state = field(1, b"ai.halftone.state:sum") + field(2, b"next")
    return number(1, 8) + field(7, graph) + field(8, number(2, 13)) + field(14, state)


def test_states_until_they_are_reset() -> None:
    model = ht.load(running_sum())
    session = model.session()
    x = np.array([[1, 10]], np.float32)
    assert np.asarray(session(x)).tolist() == [[1, 10]]
    assert np.asarray(session(x)).tolist() == [[2, 20]]
    session.reset()
    assert np.asarray(session(x)).tolist() == [[1, 10]]
    assert np.asarray(model(x)).tolist() == [[1, 10]]
    assert np.asarray(model(x)).tolist() == [[1, 10]]
