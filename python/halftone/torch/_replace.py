# SPDX-License-Identifier: Apache-2.0
"""Which layers of a module can be replaced, and what replaces them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from . import _floats
from ._codes import CODES, floats_of, matrices_of
from ._layers import CodedLayer, Conv, Embedding, Linear
from ._recurrent import Direction, Recurrent

#: Fits the network of a layer to its inputs; None if the layer stays as it is.
Fit = Callable[[bytes, Sequence[Any]], "bytes | None"]

#: Subclasses are not replaced: what they do differently is not known.
KINDS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.LSTM, nn.GRU, nn.Embedding)


def is_layer(module: nn.Module) -> bool:
    """Whether a module is of a kind that is replaced; those with parametrizations are refused."""
    is_parametrized = torch.nn.utils.parametrize.is_parametrized(module)
    return type(module) in KINDS or (is_parametrized and isinstance(module, KINDS))


def check_module(module: object) -> nn.Module:
    """@raises TypeError unless layers of the module can be replaced"""
    if not isinstance(module, nn.Module):
        raise TypeError(f"module: expected a torch.nn.Module, found {type(module).__name__}")
    for name, each in module.named_modules():
        what = f"module.{name}" if name else "module"
        if isinstance(each, torch.jit.ScriptModule):
            raise TypeError(f"{what}: was traced or scripted; expected the module it was made from")
        if type(each).__name__ == "OptimizedModule":
            raise TypeError(f"{what}: was compiled; call quantize_() first, then torch.compile()")
    return module


def check_layer(name: str, layer: nn.Module) -> None:
    """@raises ValueError, TypeError if a layer cannot be replaced by one of few bits"""
    for key, parameter in layer.named_parameters():
        if parameter.device.type != "cpu":
            raise ValueError(
                f"'{name}.{key}': expected a layer on the processor, found one on "
                f"{parameter.device}; use module.cpu()"
            )
        if parameter.dtype != torch.float32:
            raise TypeError(
                f"'{name}.{key}': expected float32, found "
                f"{str(parameter.dtype).removeprefix('torch.')}; use module.float()"
            )
    if _has_hooks(layer):
        raise ValueError(
            f"'{name}': has hooks, such as those of weight norm or pruning, which a layer of few "
            "bits cannot call; remove them, or skip the layer"
        )
    reason = _unsupported(layer)
    if reason:
        raise ValueError(f"'{name}': {reason}; skip the layer")


def _has_hooks(layer: nn.Module) -> bool:
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    is_parametrized = torch.nn.utils.parametrize.is_parametrized(layer)
    return is_parametrized or any(getattr(layer, each) for each in hooks)


def _unsupported(layer: nn.Module) -> str | None:
    if isinstance(layer, (nn.LSTM, nn.GRU)) and layer.proj_size:
        return f"proj_size of {layer.proj_size}: expected 0"
    if isinstance(layer, nn.Embedding) and layer.max_norm is not None:
        return f"max_norm of {layer.max_norm}: expected None"
    return None


def check_shared(module: nn.Module, wanted: dict[str, nn.Module]) -> None:
    """@raises ValueError if a parameter of a layer is also that of another module"""
    owners: dict[int, list[str]] = {}
    for name, each in module.named_modules():
        for key, parameter in each.named_parameters(recurse=False):
            owners.setdefault(id(parameter), []).append(f"{name}.{key}")
    for name, layer in wanted.items():
        for parameter in layer.parameters():
            shared = owners[id(parameter)]
            if len(shared) > 1:
                raise ValueError(
                    f"'{name}': {' and '.join(shared)} are one parameter; skip both layers, or "
                    "give one a copy"
                )


def _conv_sizes(layer: nn.Conv1d | nn.Conv2d) -> list[int]:
    pads, axes = _floats.pads_of(layer), len(layer.kernel_size)
    found = [layer.out_channels]
    for i in range(axes):
        found += [layer.kernel_size[i], layer.stride[i], pads[i] + pads[axes + i], layer.dilation[i]]
    return found


def _outside(layer: nn.Conv1d | nn.Conv2d) -> Any:
    """What a convolution that does not pad with zeros pads with."""
    if layer.padding_mode == "zeros":
        return None
    return tuple(layer._reversed_padding_repeated_twice), layer.padding_mode


def _matrix(layer: Any) -> torch.Tensor:
    """The weights as the file of the layer has them."""
    weights: torch.Tensor = layer.weight.detach()
    return weights.movedim(1, -1).reshape(len(weights), -1) if weights.dim() > 2 else weights


def plain(layer: Any, file: bytes) -> CodedLayer:
    """The layer of few bits in place of one that is not recurrent."""
    if isinstance(layer, nn.Linear):
        return Linear(file, [layer.out_features, layer.in_features])
    if isinstance(layer, nn.Embedding):
        return Embedding(file, [layer.embedding_dim, layer.num_embeddings])
    return Conv(file, _conv_sizes(layer), layer.kernel_size, _outside(layer))


def _matrix_shapes(layer: Any, name: str) -> list[tuple[int, int]]:
    """Outputs and inputs of the matrices that the file of a layer has."""
    if isinstance(layer, (nn.LSTM, nn.GRU)):
        whats = (f"weight_{what}{name[name.rindex('_l'):]}" for what in ("ih", "hh"))
        return [tuple(getattr(layer, what).shape) for what in whats]
    return [(layer.weight.shape[0], layer.weight[0].numel())]


def check_file(name: str, layer: nn.Module, file: bytes) -> None:
    """@raises RuntimeError unless a file has the codes of such a layer"""
    try:
        matrices = matrices_of(file)
        found = [(len(floats_of(m.constant(CODES))), m.node.attributes["inputs"]) for m in matrices]
    except Exception:  # noqa: BLE001  # bytes from outside
        raise RuntimeError(f"'{name}': expected the codes of a layer, found other bytes") from None
    for wanted, own in zip(_matrix_shapes(layer, name), [*found, (0, 0), (0, 0)]):
        if wanted != own:
            raise RuntimeError(
                f"'{name}': expected {wanted[1]} inputs and {wanted[0]} outputs, found codes of "
                f"{own[1]} inputs and {own[0]} outputs"
            )


def direction(layer: nn.LSTM | nn.GRU, file: bytes) -> Direction:
    return Direction(file, [layer.hidden_size * (2 if isinstance(layer, nn.LSTM) else 1)])


def suffixes_of(layer: nn.LSTM | nn.GRU) -> list[str]:
    """Of the parameters of each direction of each layer."""
    reverse = ("", "_reverse") if layer.bidirectional else ("",)
    return [f"_l{index}{suffix}" for index in range(layer.num_layers) for suffix in reverse]


def _rows(x: torch.Tensor) -> Any:
    return x.reshape(-1, x.shape[-1]).contiguous().numpy()


@torch.no_grad()
def fitted(name: str, layer: Any, arguments: tuple[Any, ...], fit: Fit) -> nn.Module | None:
    """The layer in few bits, fitted to the inputs of a call; None if it stays as it is."""
    if isinstance(layer, (nn.LSTM, nn.GRU)):
        return _fitted_recurrent(name, layer, arguments, fit)
    x = arguments[0].detach()
    if isinstance(layer, nn.Linear):
        file = fit(_floats.linear(name, layer), [_rows(x)])
    elif isinstance(layer, nn.Embedding):
        file = fit(_floats.embedding(name, layer), [x.reshape(-1).to(torch.int64).numpy()])
    else:
        if _outside(layer) is not None:
            sides, mode = _outside(layer)
            x = nn.functional.pad(x, sides, mode=mode)
        file = fit(_floats.conv(name, layer, x.shape[1:]), [x.contiguous().numpy()])
    return None if file is None else plain(layer, file)


def _fitted_recurrent(
    name: str, layer: nn.LSTM | nn.GRU, arguments: tuple[Any, ...], fit: Fit
) -> nn.Module | None:
    if not isinstance(arguments[0], torch.Tensor) or arguments[0].dim() != 3:
        raise TypeError(f"'{name}': expected a tensor of three axes; skip layers of packed sequences")
    x = arguments[0].detach()
    x = x if layer.batch_first else x.transpose(0, 1)
    suffixes, found = suffixes_of(layer), list[Direction]()
    width = 2 if layer.bidirectional else 1
    probe = Recurrent(layer, [])
    probe.directions = nn.ModuleList([nn.Identity()] * len(suffixes))
    states = probe._states(x, arguments[1] if len(arguments) > 1 else None)
    outputs: list[torch.Tensor] = []
    for place, suffix in enumerate(suffixes):
        if place and place % width == 0:
            x, outputs = torch.cat(outputs, 2), []
        first = [each[place].detach().contiguous() for each in states]
        arrays = [x.contiguous().numpy(), *(each[:, None].numpy() for each in first)]
        file = fit(_floats.recurrent(name, layer, suffix, x.shape[1]), arrays)
        if file is None:
            return None
        found.append(direction(layer, _floats.any_steps(file)))
        outputs.append(found[-1](x, first)[..., : layer.hidden_size])
    return Recurrent(layer, found)


def unfreeze_from(coded: Any, layer: Any) -> None:
    """Lets a layer learn from the float weights of the layer that it replaces."""
    if isinstance(coded, CodedLayer):
        coded.unfreeze([_matrix(layer)])
        return
    for each, suffix in zip(coded.directions, suffixes_of(layer)):
        pair = [torch.from_numpy(_floats._rows(layer, what + suffix)[0].copy())
                for what in ("weight_ih", "weight_hh")]  # fmt: skip
        each.unfreeze(pair)


def replace(module: nn.Module, name: str, layer: nn.Module) -> None:
    """Puts a layer in the place that has the name."""
    parent, _, key = name.rpartition(".")
    setattr(module.get_submodule(parent), key, layer)
