# SPDX-License-Identifier: Apache-2.0
"""torch.compile, torch.export, state dicts and copies of modules in few bits."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import NETWORK

torch = pytest.importorskip("torch")

import halftone.torch as coded  # noqa: E402

nn = torch.nn
FAST: Any = {"progress": False, "threads": 2}


class Net(nn.Module):
    """One of each layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.linear, self.embedding = nn.Linear(8, 6), nn.Embedding(9, 6)
        self.lstm = nn.LSTM(6, 5, batch_first=True)

    def forward(self, x: Any, tokens: Any) -> Any:
        y = self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2)
        return self.lstm(self.linear(y) + self.embedding(tokens))[0][:, -1]


def samples() -> tuple[Any, Any]:
    torch.manual_seed(1)
    return torch.randn(32, 3, 3, 3), torch.randint(0, 9, (32, 9))


def make(**options: Any) -> Any:
    torch.manual_seed(0)
    return coded.quantize_(Net().eval(), samples(), weight_bits=2, activation_bits=3, **options,
                           **FAST)


def test_compiled_modules_have_the_same_bits() -> None:
    net, inputs = make(), samples()
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        expected = net(*inputs)
        assert torch.equal(compiled(*inputs), expected)
        assert torch.equal(compiled(*(x[:5] for x in inputs)), expected[:5])
    inductor = torch.compile(nn.Sequential(net.conv, nn.ReLU()), fullgraph=True)
    with torch.no_grad():
        try:
            found = inductor(inputs[0])
        except Exception as error:  # noqa: BLE001  # without a compiler of C++
            pytest.skip(f"torch.compile: {error}")
        assert torch.equal(found, net.conv(inputs[0]).relu())


@pytest.mark.parametrize("trainable", [False, True])
def test_compiled_modules_have_the_same_gradients(trainable: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 3, 5, 5)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4))
    coded.quantize_(net, x, weight_bits=2, activation_bits=3, trainable=trainable, **FAST)

    def gradients(module: Any) -> list[Any]:
        net.zero_grad()
        inputs = x.clone().requires_grad_()
        module(inputs).square().sum().backward()
        return [inputs.grad, *(p.grad for p in net.parameters())]

    expected = gradients(net)
    assert len(expected) == (9 if trainable else 1)
    found = gradients(torch.compile(net, fullgraph=True, backend="aot_eager"))
    for a, b in zip(found, expected):
        assert (a - b).norm() <= 1e-6 * b.norm()


def test_exported_modules_take_any_batch(tmp_path: Path) -> None:
    net, inputs = make(), samples()
    batch = torch.export.Dim("batch", min=1, max=64)
    shapes = {"x": {0: batch}, "tokens": {0: batch}}
    with torch.no_grad():
        program = torch.export.export(net, inputs, dynamic_shapes=shapes)
        torch.export.save(program, tmp_path / "net.pt2")
        read = torch.export.load(tmp_path / "net.pt2").module()
        assert torch.equal(read(*(x[:7] for x in inputs)), net(*inputs)[:7])
    whole = coded.from_halftone(NETWORK)
    x = torch.rand(3, 784)
    program = torch.export.export(whole, (x,), dynamic_shapes=(({0: batch},),))
    assert torch.equal(program.module()(x[:2]), whole(x)[:2])
    assert torch.equal(torch.compile(whole, fullgraph=True, backend="aot_eager")(x), whole(x))


@pytest.mark.parametrize("trainable", [False, True])
def test_states_have_the_same_bits_in_a_new_process(tmp_path: Path, trainable: bool) -> None:
    net, inputs = make(trainable=trainable), samples()
    if trainable:
        optimizer = torch.optim.SGD(net.parameters(), 0.05)
        net(*inputs).square().sum().backward()
        optimizer.step()
    state = net.state_dict()
    assert any("weight" in name for name in state if "conv" in name) == trainable
    assert sum(value.numel() for name, value in state.items() if name == "conv.file") < 1200
    torch.save(state, tmp_path / "state.pt")
    program = f"""
import sys, torch, halftone.torch
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_torch_graphs import Net, samples
net = halftone.torch.load_(Net().eval(), torch.load({str(tmp_path / "state.pt")!r}))
with torch.no_grad():
    torch.save(net(*samples()), {str(tmp_path / "y.pt")!r})
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
    with torch.no_grad():
        assert torch.equal(torch.load(tmp_path / "y.pt"), net(*inputs))


def test_states_of_the_same_module_load(tmp_path: Path) -> None:
    net, inputs = make(), samples()
    other = coded.quantize_(Net().eval(), samples(), weight_bits=2, activation_bits=3, seed=3, **FAST)
    other.load_state_dict(net.state_dict())
    with torch.no_grad():
        assert torch.equal(other(*inputs), net(*inputs))
    whole = coded.from_halftone(NETWORK)
    whole.load_state_dict(coded.from_halftone(NETWORK).state_dict())


def test_modules_are_copied_and_pickled() -> None:
    net, inputs = make(), samples()
    with torch.no_grad():
        expected = net(*inputs)
        for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            assert torch.equal(copied(*inputs), expected)
            copied.conv.file[:] = 0  # plans follow what a tensor holds
            with pytest.raises(ValueError):
                copied(*inputs)
        assert torch.equal(net(*inputs), expected)


def test_operators_meet_the_rules_of_pytorch() -> None:
    net, (x, tokens) = make(), samples()
    operators = torch.ops.halftone
    checks = [
        (operators.layer, (x.requires_grad_(), net.conv.file, "conv", net.conv.sizes)),
        (operators.layer, (torch.randn(2, 4, 8, requires_grad=True), net.linear.file, "linear", [6, 8])),
        (operators.layer, (tokens, net.embedding.file, "embedding", [6, 9])),
        (operators.recurrent, (torch.randn(2, 4, 6), [torch.zeros(2, 5)] * 2,
                               net.lstm.directions[0].file, 10)),
    ]
    for operator, arguments in checks:
        torch.library.opcheck(operator.default, arguments)
