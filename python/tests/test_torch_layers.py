# SPDX-License-Identifier: Apache-2.0
"""Layers in few bits inside PyTorch give the bits of Halftone's runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK, Program

torch = pytest.importorskip("torch")

import halftone.torch as coded  # noqa: E402
from torch_networks import Gpt, Lstm, MobileNetV2, ResNet20, folded  # noqa: E402

FAST: Any = {"progress": False, "threads": 2}


def images(count: int = 24, extent: int = 32) -> Any:
    return torch.from_numpy(
        np.random.default_rng(1).random((count, 3, extent, extent), np.float32)
    )


def tokens(count: int = 24, steps: int = 12) -> Any:
    return torch.from_numpy(np.random.default_rng(2).integers(0, 64, (count, steps)))


def make(name: str) -> tuple[Any, Any]:
    """A network with random weights, and samples."""
    torch.manual_seed(0)
    if name == "ResNet-20":
        return folded(ResNet20().eval()), images()
    if name == "MobileNet v2":
        return MobileNetV2(0.25, 10).eval(), images()
    return {"LSTM": Lstm, "GPT": Gpt}[name]().eval(), tokens()


def outputs(net: Any, *inputs: Any) -> Any:
    with torch.no_grad():
        return net(*inputs)


def same_bits(found: Any, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and found.numpy().tobytes() == expected.tobytes()


@pytest.fixture(scope="module", params=["ResNet-20", "MobileNet v2", "LSTM", "GPT"])
def network(request: Any) -> tuple[str, Any, Any]:
    net, samples = make(request.param)
    return request.param, coded.quantize_(net, samples, weight_bits=3, activation_bits=4, **FAST), \
        samples


def test_each_layer_has_the_bits_of_the_program(
    network: tuple[str, Any, Any], program: Program, tmp_path: Path
) -> None:
    name, net, samples = network
    calls: list[tuple[Any, Any, Any]] = []
    layers = dict(coded._layers.layers_of(net))
    assert len(layers) >= 4
    for each in layers.values():
        each.register_forward_hook(lambda layer, args, y: calls.append((layer, args, y)))
    outputs(net, samples[:2])
    assert len(calls) == len(layers)
    for layer, (x, *states), y in calls if name == "LSTM" else calls[:: max(1, len(calls) // 6)]:
        (tmp_path / "layer.onnx").write_bytes(layer.to_bytes())
        options = ["run", tmp_path / "layer.onnx", "-o", tmp_path, "--float-order", "fixed"]
        arrays = [flat(layer, x), *(states[0] if states else [])]
        if layer.kind in ("conv", "recurrent"):
            options += ["--shape", f"x=N,{','.join(map(str, x.shape[1:]))}"]
        for index, array in enumerate(arrays):
            np.save(tmp_path / f"{index}.npy", array.numpy())
        program(*options, "--input", *(tmp_path / f"{i}.npy" for i in range(len(arrays))))
        assert same_bits(y, np.load(tmp_path / "out0.npy").reshape(y.shape)), layer


def flat(layer: Any, x: Any) -> Any:
    """As the file of a layer takes it."""
    if layer.kind == "embedding":
        return x.reshape(-1)
    return x.reshape(-1, x.shape[-1]) if layer.kind == "linear" else x


def test_the_network_has_the_bits_of_the_runtime(network: tuple[str, Any, Any]) -> None:
    pytest.importorskip("onnx")
    name, net, samples = network
    model = ht.load(net, example=samples[:2], float_order="fixed")
    few = [layer for layer in model.layers if layer.weight_bits == 3]
    assert len(few) == sum(len(each.matrices) for _, each in coded._layers.layers_of(net))
    found, expected = outputs(net, samples[:5]), model(samples[:5].numpy())
    if name == "GPT":  # softmax, GELU and layer norms are PyTorch's own: a code may be the next one
        assert np.linalg.norm(found.numpy() - expected) < 0.02 * np.linalg.norm(expected)
    else:
        assert same_bits(found, expected)


@pytest.mark.parametrize("name", ["ResNet-20", "MobileNet v2", "LSTM", "GPT"])
def test_modules_of_files_have_the_bits_of_the_runtime(name: str) -> None:
    pytest.importorskip("onnx")
    net, samples = make(name)
    example = samples[:1] if name in ("GPT", "LSTM") else None
    small = ht.quantize(net, samples.numpy(), example=example, weight_bits=2, activation_bits=3,
                        **FAST).model
    module = coded.from_halftone(small)
    expected = ht.load(small.to_bytes("onnx"), float_order="fixed")
    for count in (1, 5):
        assert same_bits(module(samples[:count]), expected(samples[:count].numpy()))


def test_other_shapes_and_threads_change_nothing() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2, "valid"), torch.nn.Conv2d(8, 8, 1, groups=8))
    coded.quantize_(net, images(extent=9), weight_bits=2, activation_bits=2, **FAST)
    x = images(3, 21)
    wide = outputs(net, x)
    assert wide.shape == (3, 8, 10, 10)
    assert torch.equal(outputs(net, x[1]), wide[1])
    assert outputs(net, x[:0]).shape == (0, 8, 10, 10)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(outputs(net, x), wide)
    finally:
        torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("padding,mode", [("same", "zeros"), ((2, 1), "zeros"), (1, "reflect")])
def test_paddings_are_those_of_pytorch(padding: Any, mode: str) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(3, 4, (2, 3), padding=padding, padding_mode=mode, dilation=(1, 2))
    x = images(64, 8)
    expected = outputs(layer, x)
    net = coded.quantize_(torch.nn.Sequential(layer), x, weight_bits=8, activation_bits=8,
                          scheme="int", **FAST)
    found = outputs(net, x)
    assert found.shape == expected.shape
    assert (found - expected).norm() < 0.02 * expected.norm()  # 8 bits: an SQNR above 34 dB


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("first,both", [(True, False), (False, True)])
def test_recurrent_layers_are_called_as_in_pytorch(kind: str, first: bool, both: bool) -> None:
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(6, 5, 2, batch_first=first, bidirectional=both)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    x = torch.randn(40, 7, 6) if first else torch.randn(7, 40, 6)
    net = coded.quantize_(Net(), x if first else [x], weight_bits=8, activation_bits=8,
                          scheme="int", limit=40, **FAST)
    # Within the range of the states that the layer was fitted to.
    states = [0.2 * torch.randn(4 if both else 2, 40, 5) for _ in range(1 + (kind == "LSTM"))]
    given = tuple(states) if kind == "LSTM" else states[0]
    with torch.no_grad():
        y, last = net.layer(x, given)
        expected, expected_last = layer(x, given)
        one, _ = net.layer(x[0] if first else x[:, 0], None)
        several, _ = net.layer(x)
    assert (y - expected).norm() < 0.05 * expected.norm()
    pairs = zip(last, expected_last) if kind == "LSTM" else [(last, expected_last)]
    assert all(a.shape == b.shape and (a - b).norm() < 0.05 * b.norm() for a, b in pairs)
    assert torch.equal(one, several[0] if first else several[:, 0])


def test_options_are_those_of_quantize() -> None:
    torch.manual_seed(0)
    make_net = lambda: torch.nn.Sequential(  # noqa: E731
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU(),
        torch.nn.Linear(16, 4))  # fmt: skip
    x = torch.randn(100, 8)

    def bits(**options: Any) -> list[Any]:
        net = coded.quantize_(make_net(), x, **{**FAST, **options})
        layers = [ht.load(each.to_bytes()).layers[0] if isinstance(each, coded.Linear) else None
                  for each in net[::2]]  # fmt: skip
        return [layer and (layer.weight_bits, layer.activation_bits) for layer in layers]

    assert bits(weight_bits=2, activation_bits=4) == [(2, 4)] * 3
    assert bits(weight_bits=2, activation_bits=2, ends=8) == [(8, 8), (2, 2), (8, 8)]
    assert bits(weight_bits=2, skip=["4"], bits={"2": "1/none"}) == [(2, 3), (1, 32), None]
    assert bits(skip=lambda name, layer: layer.out_features == 4)[2] is None
    recipe = {"default": {"weight_bits": 4}, "layer": [{"name": "2", "skip": True}]}
    assert bits(recipe=recipe, activation_bits="none") == [(4, 32), None, (4, 32)]
    assert bits(recipe="[default]\nweight_bits = 5\n")[0] == (5, 3)
    net = coded.quantize_(make_net(), x, scheme="nvfp4", skip="0", **FAST)
    assert "nvfp4" in repr(net[2])


def test_data_are_those_of_quantize() -> None:
    torch.manual_seed(0)
    x, labels = torch.randn(70, 8), torch.zeros(70, dtype=torch.int64)
    start = torch.nn.Linear(8, 4)

    def fitted(data: Any, **options: Any) -> bytes:
        net = torch.nn.Sequential(torch.nn.Linear(8, 4))
        net[0].load_state_dict(start.state_dict())
        shares: list[float] = []
        coded.quantize_(net, data, weight_bits=2,
                        progress=lambda share, _: shares.append(share), **options)
        assert shares == [0.0]
        return bytes(net[0].to_bytes())

    dataset = torch.utils.data.TensorDataset(x, labels)
    expected = fitted(x)
    for data in (x.numpy(), (x, labels), [x[:30], x[30:]], dataset, {"input": x},
                 torch.utils.data.DataLoader(dataset, batch_size=16)):
        assert fitted(data) == expected
    assert fitted(x, limit=40) == fitted(x[:40])


def test_a_module_of_a_file_checks_its_inputs() -> None:
    module = coded.from_halftone(NETWORK)
    with pytest.raises(TypeError, match="expected 1 inputs, found 2"):
        module(torch.zeros(1, 784), torch.zeros(1))
    with pytest.raises(TypeError, match="input 'pixels': expected float32, found float16"):
        module(torch.zeros(1, 784).half())
    with pytest.raises(ValueError, match=r"found shape \[784\]"):
        module(torch.zeros(784))
    with pytest.raises(FileNotFoundError):
        coded.from_halftone("absent.onnx")
