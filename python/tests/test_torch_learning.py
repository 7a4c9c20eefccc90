# SPDX-License-Identifier: Apache-2.0
"""Gradients of layers in few bits inside PyTorch are those of autograd on the decoded numbers."""

from __future__ import annotations

from typing import Any

import pytest

import halftone as ht

torch = pytest.importorskip("torch")

import halftone.torch as coded  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
FAST: Any = {"progress": False, "threads": 2}
#: Of numbers near 1 in float32, summed in another order.
CLOSE = 1e-6


def relative(found: Any, expected: Any) -> float:
    return float((found - expected).norm() / expected.norm())


def levels_of(layer: Any, index: int = 0) -> tuple[Any, Any]:
    """The decoded weights in the shape of the layer, and the levels of its inputs."""
    matrix = coded._codes.matrices_of(layer.to_bytes())[index]
    scales = torch.from_numpy(matrix.constant(1).astype("float32"))[None]
    return layer.weight, matrix.input_numbers.table(scales)[0].sort().values


def rounded(x: Any, levels: Any) -> Any:
    """Inputs at the nearest level, whose gradient passes within half a gap beyond the levels."""
    nearest = levels[(x.detach()[..., None] - levels).abs().argmin(-1)]
    low, high = 1.5 * levels[0] - 0.5 * levels[1], 1.5 * levels[-1] - 0.5 * levels[-2]
    inside = (x > low) & (x < high)
    return nearest + torch.where(inside, x - x.detach(), torch.zeros(()))


CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(12, 7), (50, 12)),
    "conv": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), (20, 4, 7, 7)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, dilation=2, bias=False), (20, 4, 11)),
}


def decoded_function(layer: Any, original: Any, weights: Any, bias: Any) -> Any:
    if isinstance(original, nn.Linear):
        return lambda x: functional.linear(x, weights, bias)
    convolve = functional.conv1d if isinstance(original, nn.Conv1d) else functional.conv2d
    how = (original.stride, original.padding, original.dilation, original.groups)
    return lambda x: convolve(x, weights, bias, *how)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("is_frozen", [True, False])
def test_a_step_is_that_of_the_decoded_weights(name: str, is_frozen: bool) -> None:
    torch.manual_seed(0)
    make, shape = CASES[name]
    original, x = make(), torch.randn(shape)
    [layer] = coded.quantize_(nn.Sequential(original), x, weight_bits=2, activation_bits=3,
                              trainable=not is_frozen, **FAST)
    weights, levels = levels_of(layer)
    weights.requires_grad_()
    fitted = coded._codes.matrices_of(layer.to_bytes())[0].constant(4)  # a fit corrects the bias
    bias = torch.from_numpy(fitted.copy()).requires_grad_()
    inputs, same = x.clone().requires_grad_(), x.clone().requires_grad_()
    expected = decoded_function(layer, original, weights, bias)(rounded(inputs, levels))
    found = layer(same)
    gradient = torch.randn(expected.shape)
    expected.backward(gradient)
    found.backward(gradient)
    assert relative(same.grad, inputs.grad) < CLOSE
    if is_frozen:
        assert not list(layer.parameters())
        return
    assert relative(found, expected) < CLOSE
    [matrix] = layer.learned
    assert relative(layer._shaped(matrix.weight.grad), weights.grad) < CLOSE
    assert relative(matrix.bias.grad, bias.grad) < CLOSE
    # The gradient of a scale is the sum over its weights, times 1 / sqrt(n (2^K - 1)).
    codes = coded._codes.matrices_of(layer.to_bytes())[0].codes()
    of_matrix = layer._matrix(weights.grad) if name != "linear" else weights.grad
    signs = (codes & 1) * 2.0 - 1
    expected_scale = (signs * of_matrix).sum(1) / (codes.shape[1] * 3) ** 0.5
    assert relative(matrix.scales.grad[:, 0], expected_scale) < CLOSE


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("is_frozen", [True, False])
def test_recurrences_are_those_of_pytorch_with_decoded_weights(kind: str, is_frozen: bool) -> None:
    """Inputs and states stay float, so that the layer of PyTorch is the same function."""
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = getattr(nn, kind)(6, 5, batch_first=True, bidirectional=True)

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    net, x = Net(), torch.randn(40, 7, 6)
    plain = getattr(nn, kind)(6, 5, batch_first=True, bidirectional=True)
    coded.quantize_(net, x, weight_bits=3, activation_bits="none", trainable=not is_frozen, **FAST)
    order = [0, 2, 3, 1] if kind == "LSTM" else [1, 0, 2]  # of PyTorch, in that of ONNX
    for each, suffix in zip(net.layer.directions, ("", "_reverse")):
        matrices = coded._codes.matrices_of(each.to_bytes())
        weights = coded._codes.decoded(each.to_bytes())
        gates = len(order)
        biases = [torch.from_numpy(matrices[0].constant(4).copy()), torch.zeros(5 * gates)]
        if kind == "GRU":
            biases[1][10:] = torch.from_numpy(matrices[1].constant(4).copy())
        for name, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights + biases):
            turned = value.reshape(gates, 5, -1)[order].reshape(value.shape)
            getattr(plain, f"{name}_l0{suffix}").data = turned
    # Gates of an LSTM in PyTorch are i f g o, in ONNX i o f g.
    inputs, same = x.clone().requires_grad_(), x.clone().requires_grad_()
    gradient = torch.randn(40, 7, 10)
    plain(inputs)[0].backward(gradient)
    net(same).backward(gradient)
    assert relative(same.grad, inputs.grad) < CLOSE
    if not is_frozen:
        of_rows = net.layer.directions[1].learned[1].weight.grad.reshape(len(order), 5, -1)
        expected = plain.weight_hh_l0_reverse.grad
        assert relative(of_rows[order].reshape(expected.shape), expected) < CLOSE


def test_learning_moves_codes_and_freezing_keeps_them() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(20, 16), nn.Flatten(), nn.Linear(48, 32), nn.ReLU(),
                        nn.Linear(32, 2))  # fmt: skip
    x = torch.randint(0, 20, (300, 3))
    labels = (x.sum(1) % 2).long()
    # Kernels for codes round products of levels to 8 bits; these compute in float32.
    coded.quantize_(net, x, weight_bits=2, activation_bits=3, arithmetic="float", trainable=True,
                    **FAST)
    start = {name: layer.to_bytes() for name, layer in coded._layers.layers_of(net)}
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    losses = []
    for _ in range(60):
        loss = functional.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    learned = net(x)
    with torch.no_grad():
        found = net(x)
    assert relative(found, learned) < CLOSE
    coded.freeze_(net)
    with torch.no_grad():
        assert torch.equal(net(x), found)
    assert not list(net.parameters())
    for name, layer in coded._layers.layers_of(net):
        assert layer.to_bytes() != start[name]
        assert ht.load(layer.to_bytes()).layers[0].weight_bits == 2


@pytest.mark.parametrize("scheme", ["basis", "int", "affine", "symmetric", "nf4", "e2m1", "ternary"])
def test_master_weights_begin_with_the_codes_of_the_file(scheme: str) -> None:
    torch.manual_seed(0)
    original, x = nn.Linear(64, 9), torch.randn(100, 64)
    floats = original.weight.detach().clone()
    options: Any = {} if scheme in ("nf4", "e2m1", "ternary") else {"weight_bits": 3}
    [layer] = coded.quantize_(nn.Sequential(original), x, weight_scheme=scheme,
                              activation_bits="none", **options, **FAST)
    file, weights = layer.to_bytes(), layer.weight
    layer.unfreeze([floats])
    assert torch.equal(layer.learned[0].weights().detach(), weights)
    layer.learned[0].bias.data += 0  # as an optimizer's step of nothing
    layer._written = ()
    assert layer.to_bytes() != b"" and torch.equal(layer.weight, weights)
    # Nearer to the float weights than the levels are.
    assert (layer.learned[0].weight - floats).norm() <= (weights - floats).norm()
    layer.freeze()
    assert len(layer.to_bytes()) >= len(file)


def test_systems_with_coded_scales_pass_gradients_but_do_not_learn() -> None:
    torch.manual_seed(0)
    x = torch.randn(100, 64)
    [layer] = coded.quantize_(nn.Sequential(nn.Linear(64, 9)), x, weight_scheme="2x6",
                              activation_bits="none", **FAST)
    inputs = x[:3].clone().requires_grad_()
    layer(inputs).sum().backward()
    assert relative(inputs.grad, layer.weight.sum(0).expand(3, 64)) < CLOSE
    with pytest.raises(ValueError, match="scales of '2x6' have codes of their own"):
        coded.unfreeze_(nn.Sequential(layer))
