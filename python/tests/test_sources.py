# SPDX-License-Identifier: Apache-2.0
"""Networks from objects, and what is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK


def test_a_model_proto_is_its_file(model: ht.Model, x: np.ndarray) -> None:
    onnx = pytest.importorskip("onnx")
    proto = onnx.load(str(NETWORK))
    loaded = ht.load(proto)
    assert loaded.name == "ModelProto" and loaded.inputs == model.inputs
    np.testing.assert_array_equal(loaded(x), model(x))
    assert onnx.load_from_string(model.to_bytes("onnx")).graph.input[0].name == "pixels"


def test_a_module_of_torch_is_exported_with_an_example() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    network.train()
    x = torch.randn(4, 8)
    model = ht.load(network, example=x)
    assert network.training and model.inputs[0].shape == ("N", 8)
    with torch.no_grad():
        np.testing.assert_allclose(model(x), network(x).numpy(), atol=1e-5)
    small, _ = ht.quantize(network, x, weight_bits=4, example=x, progress=False)
    assert small.layers[0].weight_bits == 4
    with pytest.raises(TypeError, match="needs example="):
        ht.load(network)


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("nowhere.onnx", FileNotFoundError, "nowhere.onnx"),
        (Path("nowhere.circle"), FileNotFoundError, "nowhere.circle"),
        ("README.md", NotImplementedError, "expected a name that ends in"),
        (b"", ValueError, "model: expected a network, found no bytes"),
        (b"no network at all", ValueError, "model: "),
        (b"\x1c\0\0\0TFL3" + bytes(40), ValueError, "model: "),
        (NETWORK.read_bytes()[:1000], ValueError, "model: "),
        (memoryview(b"abc"), ValueError, "model: "),
        (None, TypeError, "expected a path, bytes, .* found NoneType"),
        (3.5, TypeError, "found float"),
        (np.zeros(3), TypeError, "found ndarray"),
    ],
)
def test_what_is_no_network_is_refused(source: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ht.load(source)


def test_names_that_are_no_text_still_give_a_message(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.onnx")
    with pytest.raises(FileNotFoundError):
        ht.load(path)


def test_other_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="float_order: expected 'fastest' or 'fixed'"):
        ht.load(NETWORK, float_order="random")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="example= is for a torch.nn.Module only"):
        ht.load(NETWORK, example=3)
    with pytest.raises(ValueError, match="is the file to read "):
        ht.convert(NETWORK, NETWORK)
    with pytest.raises(ValueError, match="is the file to read "):
        ht.quantize(NETWORK, "examples/mnist", output=NETWORK)
    with pytest.raises(NotImplementedError, match="expected a name that ends in"):
        ht.quantize(NETWORK, "examples/mnist", output=tmp_path / "m.zip")
    with pytest.raises(OSError, match="nowhere"):
        ht.load(NETWORK).save(tmp_path / "nowhere" / "m.onnx")
    with pytest.raises(ValueError, match="format: expected 'onnx', 'tflite' or 'circle', found"):
        ht.load(NETWORK).to_bytes("zip")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="nowhere.toml"):
        ht.quantize(NETWORK, "examples/mnist", recipe="nowhere.toml")
    with pytest.raises(ValueError, match="nonsense"):
        ht.quantize(NETWORK, "examples/mnist", recipe="nonsense = 1")
    with pytest.raises(ValueError, match="nosuch"):
        ht.quantize(NETWORK, "examples/mnist", scheme="nosuch")
    with pytest.raises(ValueError, match="batch"):
        ht.evaluate(NETWORK, "examples/mnist", batch=0)


LEAKS = """
import gc, resource, sys
import numpy as np
import halftone as ht

file = open(sys.argv[1], "rb").read()
x = np.zeros((8, 784), np.float32)

def work():
    model = ht.load(file)
    for bad in (x[:, :3], x.astype(float), None):
        try:
            model(bad)
        except (TypeError, ValueError):
            pass
    model(x)
    try:
        ht.load(file[:5000])
    except ValueError:
        pass

def used():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

for _ in range(20):
    work()
before = used()
for _ in range(60):
    work()
grown = used() - before
# One network is 2 MB: a leak of one per turn would be 120 MB.
sys.exit(0 if grown < 30e6 else f"{grown / 1e6:.0f} MB more")
"""


def test_models_and_refusals_leak_nothing() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", LEAKS, str(NETWORK)],
        env=environment, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
