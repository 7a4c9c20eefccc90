# SPDX-License-Identifier: Apache-2.0
"""What a call takes, and what it says of everything else."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda x: x.tolist(), TypeError, "input 'pixels': expected an array .* found list"),
        (lambda x: None, TypeError, "found NoneType"),
        (lambda x: x.astype(np.float64), TypeError, r"found float64\[3, 784\]; use x.astype"),
        (lambda x: x.astype(np.int32), TypeError, r"expected float32\[N, 784\], found int32"),
        (lambda x: x.astype(object), TypeError, "found object"),
        (lambda x: x.astype(">f4"), ValueError, "expected the byte order of this processor"),
        (lambda x: x[:, :700], ValueError, r"expected float32\[N, 784\], found float32\[3, 700\]"),
        (lambda x: x[0], ValueError, r"found float32\[784\]"),
        (lambda x: x.reshape(3, 28, 28), ValueError, r"found float32\[3, 28, 28\]"),
        (lambda x: x[:0], ValueError, "batch"),
        (lambda x: np.ma.array(x, mask=x > 0.5), TypeError, "masked"),
        (lambda x: np.float32(1), TypeError, "found float32"),
    ],
)
def test_other_inputs_are_refused(
    model: ht.Model, x: np.ndarray, make: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        model(make(x))


def test_the_number_of_inputs_is_checked(model: ht.Model, x: np.ndarray) -> None:
    with pytest.raises(TypeError, match="expected 1 inputs, found 0"):
        model()
    with pytest.raises(TypeError, match="expected 1 inputs, found 2"):
        model(x, x)


def test_other_layouts_are_copied(model: ht.Model, x: np.ndarray) -> None:
    expected = model(x)
    wide = np.zeros((3, 1568), np.float32)
    wide[:, ::2] = x
    readonly = x.copy()
    readonly.flags.writeable = False
    for same in (np.asfortranarray(x), wide[:, ::2], x[::-1].copy()[::-1], readonly, Exporter(x)):
        np.testing.assert_array_equal(model(same), expected)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_arrays_in_c_order_are_not_copied(two_bits: ht.Quantized, x: np.ndarray) -> None:
    for session in (two_bits.model.session(3), ht.load(NETWORK).session(3)):
        out = np.empty((3, 10), np.float32)
        session(x, out=out)
        assert session.addresses() == ([address(x)], [address(out)])
        result = session(x)
        assert session.addresses() == ([address(x)], [address(result)])
        other = np.asfortranarray(x)
        np.testing.assert_array_equal(session(other), result)
        assert session.addresses()[0] != [address(other)]


class Exporter:
    """An array of another library, as DLPack shows it."""

    def __init__(self, array: np.ndarray):
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class OnADevice(Exporter):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the array is on another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_dlpack_goes_in_and_out(model: ht.Model, x: np.ndarray) -> None:
    out = np.empty((3, 10), np.float32)
    exporter = Exporter(out)
    assert model(Exporter(x), out=exporter) is exporter
    np.testing.assert_array_equal(out, model(x))
    np.testing.assert_array_equal(np.from_dlpack(model(x)), out)
    with pytest.raises(TypeError, match="OnADevice shares no memory with NumPy"):
        model(OnADevice(x))


def read_only(out: np.ndarray) -> np.ndarray:
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: np.empty((10, 3), np.float32).T, ValueError, "expected out= in C order"),
        (lambda: np.empty((3, 20), np.float32)[:, ::2], ValueError, "expected out= in C order"),
        (lambda: np.empty((3, 10), np.float64), TypeError, r"expected float32\[N, 10\], found"),
        (lambda: np.empty((3, 10), ">f4"), ValueError, "byte order"),
        (lambda: np.empty((4, 10), np.float32), ValueError, r"found float32\[4, 10\]"),
        (lambda: read_only(np.empty((3, 10), np.float32)), ValueError, "read-only"),
        (lambda: [np.empty((3, 10), np.float32)] * 2, ValueError, "expected 1 arrays, found 2"),
        (lambda: "here", TypeError, "found str"),
    ],
)
def test_other_outputs_are_refused(
    model: ht.Model, x: np.ndarray, make: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        model(x, out=make())


def test_an_output_in_the_input_is_refused(model: ht.Model) -> None:
    memory = np.zeros((3, 784), np.float32)
    inside = memory.reshape(-1)[:30].reshape(3, 10)
    with pytest.raises(ValueError, match="output 'probabilities': its memory overlaps that of input"):
        model(memory, out=inside)


def test_outputs_in_each_other_are_refused() -> None:
    onnx = pytest.importorskip("onnx")
    made = onnx.helper
    ports = [made.make_tensor_value_info(name, 1, ["N", 4]) for name in ("x", "y", "z")]
    nodes = [made.make_node("Tanh", ["x"], ["y"]), made.make_node("Sigmoid", ["x"], ["z"])]
    graph = made.make_graph(nodes, "two", ports[:1], ports[1:])
    opset = [made.make_opsetid("", 13)]
    both = ht.load(made.make_model(graph, opset_imports=opset, ir_version=8))
    x = np.ones((2, 4), np.float32)
    memory = np.zeros(12, np.float32)
    y, z = memory[:8].reshape(2, 4), memory[4:].reshape(2, 4)
    with pytest.raises(ValueError, match="output 'z': its memory overlaps that of output 'y'"):
        both(x, out=(y, z))
    assert not memory.any()
    with pytest.raises(ValueError, match="overlaps"):
        both(x, out=(y, y))
    apart = (np.empty((2, 4), np.float32), np.empty((2, 4), np.float32))
    assert both(x, out=apart) is apart
    np.testing.assert_array_equal(apart[1], both(x)[1])


def test_memory_lives_as_long_as_it_is_used(model: ht.Model) -> None:
    """Results and sessions do not refer to arrays of earlier calls."""
    session = model.session(2)
    expected = session(np.full((2, 784), 0.5, np.float32)).copy()
    for _ in range(20):
        x, out = np.full((2, 784), 0.5, np.float32), np.empty((2, 10), np.float32)
        session(x, out=out)
        np.testing.assert_array_equal(out, expected)
        del x, out
        gc.collect()


def test_failed_calls_leave_the_model_as_it_is(model: ht.Model, x: np.ndarray) -> None:
    expected = model(x)
    for _ in range(10):
        with pytest.raises(ValueError):
            model(x, out=np.empty((4, 10), np.float32))
    np.testing.assert_array_equal(model(x), expected)
