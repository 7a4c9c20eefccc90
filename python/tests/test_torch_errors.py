# SPDX-License-Identifier: Apache-2.0
"""Modules that cannot be put into few bits are errors in Python's own kinds, and stay unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import halftone.torch as coded  # noqa: E402

nn = torch.nn
FAST: Any = {"weight_bits": 2, "progress": False, "threads": 2}


def make() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 4))


X = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))


@contextmanager
def unchanged(net: Any) -> Iterator[None]:
    """Modules, values, modes and hooks."""
    modules, modes = dict(net.named_modules()), [each.training for each in net.modules()]
    state = {name: value.clone() for name, value in net.state_dict().items()}
    hooks = [len(each._forward_hooks) for each in net.modules()]
    yield
    assert dict(net.named_modules()) == modules
    assert [each.training for each in net.modules()] == modes
    assert [len(each._forward_hooks) for each in net.modules()] == hooks
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())


def shared() -> Any:
    net = nn.Sequential(nn.Embedding(8, 8), nn.Linear(8, 8, bias=False))
    net[1].weight = net[0].weight
    return net


def normed() -> Any:
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)))


def hooked() -> Any:
    net = make()
    net[0].register_forward_hook(lambda *_: None)
    return net


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, 3, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.lstm(nn.utils.rnn.pack_padded_sequence(x[..., None], [8] * len(x), True))[0]


MODULES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "half": (lambda: make().half(), TypeError, "'0.weight': expected float32, found float16"),
    "bfloat16": (lambda: make().bfloat16(), TypeError, "found bfloat16; use module.float()"),
    "device": (lambda: make().to("meta"), ValueError, "expected a layer on the processor, found one on meta"),
    "shared": (shared, ValueError, "0.weight and 1.weight are one parameter"),
    "hooks": (hooked, ValueError, "'0': has hooks"),
    "weight norm": (normed, ValueError, "skip the layer"),
    "no layers": (lambda: nn.Sequential(nn.ReLU()), ValueError, "no layer to replace"),
    "a layer": (lambda: nn.Linear(8, 4), ValueError, "is a layer itself"),
    "max_norm": (lambda: nn.Sequential(nn.Embedding(9, 4, max_norm=1.0)), ValueError, "max_norm of 1.0"),
    "proj_size": (lambda: nn.Sequential(nn.LSTM(8, 4, proj_size=2)), ValueError, "proj_size of 2"),
    "packed": (Packed, TypeError, "'lstm': expected a tensor of three axes"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_cannot_be_replaced(name: str) -> None:
    build, kind, message = MODULES[name]
    net = build()
    if name == "device":
        with pytest.raises(kind, match=message):
            coded.quantize_(net, X, **FAST)
        return
    with unchanged(net), pytest.raises(kind, match=message):
        coded.quantize_(net, X, **FAST)


def test_modules_of_other_kinds() -> None:
    with pytest.raises(TypeError, match="expected a torch.nn.Module, found int"):
        coded.quantize_(3, X)
    traced = torch.jit.trace(make().eval(), X)
    with pytest.raises(TypeError, match="was traced or scripted"):
        coded.quantize_(traced, X)
    with pytest.raises(TypeError, match="module.0: was traced or scripted"):
        coded.quantize_(nn.Sequential(traced), X)
    with pytest.raises(TypeError, match="was compiled"):
        coded.quantize_(torch.compile(make()), X)
    for function in (coded.freeze_, coded.unfreeze_):
        with pytest.raises(TypeError, match="found str"):
            function("net")


def raising() -> Iterator[Any]:
    yield X
    raise OSError("the disk is gone")


DATA: dict[str, tuple[Any, type[Exception], str]] = {
    "raises": (raising, OSError, "the disk is gone"),
    "width": (lambda: X[:, :3], RuntimeError, "shapes cannot be multiplied"),
    "nothing": (lambda: iter(()), ValueError, "the iterable has no samples"),
    "path": (lambda: "images", TypeError, "expected samples in memory"),
    "complex": (lambda: np.zeros((4, 8), np.complex64), TypeError, "expected numbers or booleans"),
    "NaN": (lambda: torch.full((40, 8), float("nan")), ValueError, ""),
}


@pytest.mark.parametrize("name", DATA)
def test_data_that_cannot_be_used(name: str) -> None:
    data, kind, message = DATA[name]
    net = make()
    with unchanged(net), pytest.raises(kind, match=message):
        coded.quantize_(net, data(), **FAST)


OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"weight_bits": 0}, ValueError, "weight_bits: expected 1 to 16 or none, found 0"),
    ({"weight_bits": "2"}, TypeError, "weight_bits: expected an integer"),
    ({"scheme": "absent"}, ValueError, "absent"),
    ({"skip": ["head"]}, ValueError, "skip: no layer has the name 'head'"),
    ({"bits": {"1": 4}}, ValueError, "no layer has the name '1'"),
    ({"bits": {"0": "four"}}, ValueError, "expected 4, '4/8' or"),
    ({"recipe": {"ends": {"weight_bits": 8}}}, ValueError, r"\[ends\] is for whole networks"),
    ({"limit": 0}, ValueError, "limit: expected at least 1"),
    ({"skip": "*"}, ValueError, "no layer to replace"),
    ({"weight_scheme": "2x6", "weight_bits": None, "trainable": True}, ValueError,
     "scales of '2x6' have codes of their own"),
]  # fmt: skip


@pytest.mark.parametrize("options,kind,message", OPTIONS)
def test_options_that_are_wrong(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    net = make()
    with unchanged(net), pytest.raises(kind, match=message):
        coded.quantize_(net, X, **{**FAST, **options})


def test_a_step_that_fails_late_changes_nothing() -> None:
    """Here the second layer cannot be fitted, when the first one was."""
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4))
    net[1].weight.data[0, 0] = float("inf")
    with unchanged(net), pytest.raises(ValueError):
        coded.quantize_(net, X, **FAST)


def test_inputs_that_layers_do_not_take() -> None:
    net = coded.quantize_(make().eval(), X, **FAST)
    with pytest.raises(TypeError, match="Linear: expected float32, found float64"):
        net(X.double())
    with pytest.raises(ValueError, match="expected 8 inputs, found 3"):
        net(X[:, :3])
    with unchanged(net), pytest.raises(TypeError, match="takes float32, found .to.torch.float16"):
        net[0].half()
    with pytest.raises(ValueError, match="runs on the processor, found .to.meta"):
        net[0].to("meta")
    table = coded.quantize_(nn.Sequential(nn.Embedding(9, 4)), torch.arange(9), **FAST)
    with pytest.raises(IndexError, match="expected indices of 0 to 8"):
        table(torch.tensor([9]))
    with pytest.raises(TypeError, match="Embedding: expected integers"):
        table(torch.zeros(1))
    lstm = coded.quantize_(nn.Sequential(nn.LSTM(3, 4)), torch.randn(7, 5, 3), **FAST)
    with pytest.raises(TypeError, match="LSTM: expected a tensor, found PackedSequence"):
        lstm(nn.utils.rnn.pack_sequence([torch.zeros(5, 3)]))


def test_states_of_other_networks(tmp_path: Path) -> None:
    state = coded.quantize_(make(), X, **FAST).state_dict()
    other = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 5))
    with unchanged(other), pytest.raises(RuntimeError, match="'3': expected 8 inputs and 5 outputs, found"):
        coded.load_(other, state)
    deeper = nn.Sequential(*make(), nn.Linear(4, 4))
    with unchanged(deeper), pytest.raises(RuntimeError, match="of another network: 4.bias is missing"):
        coded.load_(deeper, state)
    shorter = make()[:2]
    with unchanged(shorter), pytest.raises(RuntimeError, match="3.file is unexpected"):
        coded.load_(shorter, state)
    broken = {**state, "0.file": torch.zeros(10, dtype=torch.uint8)}
    net = make()
    with unchanged(net), pytest.raises(RuntimeError, match="'0': expected the codes of a layer, found other"):
        coded.load_(net, broken)
    small = coded.quantize_(make(), X, **FAST)
    with unchanged(small), pytest.raises(RuntimeError, match="3.file: expected the codes of"):
        small.load_state_dict({**state, "3.file": state["0.file"]})
    module = coded.from_halftone("examples/mnist/mnist_mlp_700.onnx")
    with pytest.raises(RuntimeError, match="file: "):
        module.load_state_dict({"file": state["0.file"]})
