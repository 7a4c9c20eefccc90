# SPDX-License-Identifier: Apache-2.0
"""Halftone's kernels as operators of PyTorch, which torch.compile and torch.export keep whole.

halftone::layer and halftone::recurrent run a layer, halftone::network a network. Each takes the
bytes of the file as a tensor of uint8, so that graphs and state dicts hold codes. Plans are kept as
long as the tensor lives and is not written to.
"""

from __future__ import annotations

import atexit
import functools
import math
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .. import _halftone as native
from .._model import Model, load
from .._sources import Shapes
from ._codes import BIAS, INPUT_SCALES, Matrix, decoded, floats_of, matrices_of, nearest
from ._recurrence import unrolled

Arrays: TypeAlias = tuple[np.ndarray, ...]
#: Shapes of inputs but for the batch that a layer keeps plans of.
_MAX_SHAPES = 8

_library: Any = torch.library
LIBRARY = _library.Library("halftone", "DEF")
LIBRARY.define("layer(Tensor x, Tensor file, str kind, int[] sizes) -> Tensor")
LIBRARY.define("recurrent(Tensor x, Tensor[] states, Tensor file, int width) -> Tensor")
LIBRARY.define(
    "recurrent_gradient(Tensor gradient, Tensor x, Tensor[] states, Tensor file) -> Tensor[]"
)
LIBRARY.define("network(Tensor[] inputs, Tensor file, str ports) -> Tensor[]")
LIBRARY.define(
    "layer_gradient(Tensor gradient, Tensor x, Tensor file, str kind, int[] sizes) -> Tensor"
)


def bounds_of(levels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Half a gap beyond the outermost of the levels [1, codes]: values farther away pass no
    gradient."""
    row = levels.detach()[0]
    rising = torch.nan_to_num(row, nan=float("inf")).sort().values
    falling = torch.nan_to_num(row, nan=-float("inf")).sort(descending=True).values
    return 1.5 * rising[0] - 0.5 * rising[1], 1.5 * falling[0] - 0.5 * falling[1]


class FrozenMatrix:
    """A decoded matrix of a layer, as LearnedMatrix has it."""

    def __init__(self, weights: torch.Tensor, matrix: Matrix):
        self.attributes = matrix.attributes
        self._weights = weights
        bias = matrix.constant(BIAS)
        self.bias = None if bias is None else floats_of(bias)
        self._levels: torch.Tensor | None = None
        scales = matrix.constant(INPUT_SCALES)
        if matrix.input_numbers is not None and scales is not None:
            self._levels = matrix.input_numbers.table(floats_of(scales)[None])
            self._bounds = bounds_of(self._levels)

    def weights(self) -> torch.Tensor:
        """[outputs, n]."""
        return self._weights

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        """Inputs at their nearest levels; the gradient passes straight through."""
        if self._levels is None:
            return x
        codes = nearest(self._levels, x.reshape(1, -1)).reshape(x.shape)
        inside = (x >= self._bounds[0]) & (x <= self._bounds[1])
        kept = torch.where(inside, x, x.detach())
        return self._levels[0][codes] + (kept - kept.detach())


class _File:
    """The plans of a file that a tensor holds, and its numbers for gradients."""

    def __init__(self, tensor: torch.Tensor):
        reference: Any = StorageWeakRef
        self.storage = reference(tensor.untyped_storage())
        self.stamp = _stamp(tensor)
        self.bytes = tensor.numpy().tobytes()
        self._models: dict[Any, Model] = {}
        self._idle: dict[Any, list[native.Session]] = {}

    def model(self, shape: tuple[int, ...] | None) -> Model:
        """shape: of the input x but for the batch, of files that take any; None: as it is."""
        key = shape, torch.get_num_threads()
        found = self._models.get(key)
        if found is None:
            shapes: Shapes | None = None if shape is None else {"x": ("N", *shape)}
            found = load(self.bytes, shapes=shapes, float_order="fixed", threads=key[1])
            while len(self._models) >= _MAX_SHAPES:
                self._models.pop(next(iter(self._models)))
            self._models[key] = found
        return found

    def run(self, shape: tuple[int, ...] | None, batch: int, arrays: Arrays, out: Arrays) -> None:
        """Runs a layer. shape: as for model(); batch: samples."""
        key = shape, batch, torch.get_num_threads()
        try:
            session = self._idle[key].pop()
        except (KeyError, IndexError):
            session = self.model(shape).session(batch)._session
        session.run(arrays, out)
        idle = self._idle.get(key)
        if idle is None:
            while len(self._idle) >= _MAX_SHAPES:
                self._idle.pop(next(iter(self._idle)))
            idle = self._idle[key] = []
        idle.append(session)

    @functools.cached_property
    def matrices(self) -> list[FrozenMatrix]:
        """Decoded, for gradients."""
        found = zip(decoded(self.bytes), matrices_of(self.bytes))
        return [FrozenMatrix(weights, matrix) for weights, matrix in found]


#: By the address of a tensor's storage, which its weak reference keeps from being used again.
_files: dict[int, _File] = {}
atexit.register(_files.clear)  # before the module of the kernels is gone


def _stamp(tensor: torch.Tensor) -> tuple[int, int, int]:
    version = -1 if tensor.is_inference() else tensor._version
    return tensor.data_ptr(), tensor.numel(), version


def _file_of(tensor: torch.Tensor) -> _File:
    key = tensor.untyped_storage()._cdata
    found = _files.get(key)
    if found is None or found.stamp != _stamp(tensor):
        for old in [k for k, file in list(_files.items()) if file.storage.expired()]:
            _files.pop(old, None)
        found = _files[key] = _File(tensor)
    return found


def layer_shape(x: Sequence[Any], kind: str, sizes: Sequence[int]) -> list[Any]:
    """The shape of a layer's output for inputs of shape x.

    sizes: of "linear" outputs and inputs; of "embedding" the width and the rows; of "conv" the channels, then for each axis kernel,
    stride, zeros on both sides together, dilation.
    """
    if kind == "linear":
        if x[-1] != sizes[1]:
            raise ValueError(f"Linear: expected {sizes[1]} inputs, found {x[-1]}")
        return [*x[:-1], sizes[0]]
    if kind == "embedding":
        return [*x, sizes[0]]
    axes = [sizes[1 + 4 * i : 5 + 4 * i] for i in range(len(x) - 2)]
    extents = [(n + pad - d * (k - 1) - 1) // s + 1 for n, (k, s, pad, d) in zip(x[2:], axes)]
    return [x[0], sizes[0], *extents]


def _layer(x: torch.Tensor, file: torch.Tensor, kind: str, sizes: list[int]) -> torch.Tensor:
    if kind == "linear" and x.dim() == 2 and len(x) > 0:  # in few steps: rows of language models
        rows, inputs = x.shape
        if inputs == sizes[1]:
            out = torch.empty(rows, sizes[0])
            _file_of(file).run(None, rows, (x.contiguous().numpy(),), (out.numpy(),))
            return out
    out = torch.empty(layer_shape(x.shape, kind, sizes))
    if x.numel() == 0:
        return out
    found = _file_of(file)
    if kind == "conv":
        found.run(tuple(x.shape[1:]), x.shape[0], (x.contiguous().numpy(),), (out.numpy(),))
    elif kind == "linear":
        batch = x.numel() // x.shape[-1]
        found.run(None, batch, (x.contiguous().numpy(),), (out.numpy(),))
    else:
        rows = x.reshape(-1).to(torch.int64).contiguous()
        if int(rows.min()) < 0 or int(rows.max()) >= sizes[1]:
            raise IndexError(f"Embedding: expected indices of 0 to {sizes[1] - 1}, found others")
        found.run(None, len(rows), (rows.numpy(),), (out.numpy(),))
    return out


def _recurrent(
    x: torch.Tensor, states: list[torch.Tensor], file: torch.Tensor, width: int
) -> torch.Tensor:
    out = torch.empty(*x.shape[:2], width)
    if out.numel():
        arrays = tuple(each.contiguous().numpy() for each in (x, *states))
        _file_of(file).run(tuple(x.shape[1:]), x.shape[0], arrays, (out.numpy(),))
    return out


@functools.lru_cache(maxsize=256)
def _ports(text: str) -> tuple[tuple[torch.dtype, tuple[tuple[int, bool], ...]], ...]:
    """Types and extents of ports such as "float32[N, 10]; int64[8N]"; True: times the batch."""
    found = []
    for port in text.split(";"):
        dtype, extents = re.fullmatch(r"\s*(\w+)\[(.*)\]\s*", port).groups()  # type: ignore[union-attr]
        sizes = [e.strip() for e in extents.split(",") if e.strip()]
        counted = tuple((int(e.rstrip("N") or 1), e.endswith("N")) for e in sizes)
        found.append((getattr(torch, dtype), counted))
    return tuple(found)


def _outputs(inputs: Sequence[torch.Tensor], ports: str, like: torch.Tensor) -> list[torch.Tensor]:
    """Empty outputs of a network. ports: those of the inputs, "->", those of the outputs."""
    left, right = ports.split("->")
    batch: Any = 1
    for value, (_, extents) in zip(inputs, _ports(left)):
        for size, (count, is_batch) in zip(value.shape, extents):
            batch = size // count if is_batch else batch
    return [
        like.new_empty([n * batch if is_batch else n for n, is_batch in extents], dtype=dtype)
        for dtype, extents in _ports(right)
    ]


def _network(inputs: list[torch.Tensor], file: torch.Tensor, ports: str) -> list[torch.Tensor]:
    outputs = _outputs(inputs, ports, file)
    arrays = [x.contiguous().numpy() for x in inputs]
    _file_of(file).model(None)(*arrays, out=tuple(y.numpy() for y in outputs))
    return outputs


def layer_function(
    x: torch.Tensor, weights: torch.Tensor, kind: str, sizes: Sequence[int]
) -> torch.Tensor:
    """A layer without bias in float32. weights: the matrix [outputs, n], channels last."""
    if kind == "linear":
        return torch.nn.functional.linear(x, weights)
    axes = [sizes[1 + 4 * i : 5 + 4 * i] for i in range(x.dim() - 2)]
    kernel, stride, pad, dilation = ([axis[i] for axis in axes] for i in range(4))
    channels = weights.shape[1] // math.prod(kernel)
    shaped = weights.reshape(-1, *kernel, channels).movedim(-1, 1)
    groups = x.shape[1] // channels
    sides = [side for p in reversed(pad) for side in (p // 2, p - p // 2)]
    convolve = torch.nn.functional.conv1d if len(axes) == 1 else torch.nn.functional.conv2d
    x = torch.nn.functional.pad(x, sides) if any(sides) else x
    return convolve(x, shaped, None, stride, 0, dilation, groups)


def _layer_gradient(
    gradient: torch.Tensor, x: torch.Tensor, file: torch.Tensor, kind: str, sizes: list[int]
) -> torch.Tensor:
    """Straight through the rounding of x, with the decoded weights."""
    [matrix] = _file_of(file).matrices
    with torch.enable_grad():
        inputs = x.detach().requires_grad_()
        y = layer_function(matrix.rounded(inputs), matrix.weights(), kind, sizes)
    return torch.autograd.grad(y, inputs, gradient)[0].contiguous()


def _recurrent_gradient(
    gradient: torch.Tensor, x: torch.Tensor, states: list[torch.Tensor], file: torch.Tensor
) -> list[torch.Tensor]:
    found = _file_of(file)
    with torch.enable_grad():
        inputs = [each.detach().requires_grad_() for each in (x, *states)]
        y = unrolled(found.matrices, inputs[0], inputs[1:])
    return [each.contiguous() for each in torch.autograd.grad(y, inputs, gradient)]


for _name, _function in {
    "layer": _layer, "recurrent": _recurrent, "network": _network,
    "layer_gradient": _layer_gradient, "recurrent_gradient": _recurrent_gradient,
}.items():  # fmt: skip
    LIBRARY.impl(_name, _function, "CPU")


def _fake_layer(x: torch.Tensor, file: torch.Tensor, kind: str, sizes: list[int]) -> torch.Tensor:
    return x.new_empty(layer_shape(x.shape, kind, sizes), dtype=torch.float32)


def _fake_recurrent(x: torch.Tensor, states: Any, file: torch.Tensor, width: int) -> torch.Tensor:
    return x.new_empty([*x.shape[:2], width])


def _fake_gradient(
    gradient: torch.Tensor, x: torch.Tensor, file: torch.Tensor, kind: str, sizes: list[int]
) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, file, ctx.kind, ctx.sizes = inputs
    ctx.save_for_backward(x, file)


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, None, None, None]:
    x, file = ctx.saved_tensors
    if not ctx.needs_input_grad[0]:
        return None, None, None, None
    result = torch.ops.halftone.layer_gradient(gradient, x, file, ctx.kind, ctx.sizes)
    return result, None, None, None


def _remember_recurrent(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, states, file, _ = inputs
    ctx.save_for_backward(x, file, *states)


def _recurrent_backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    x, file, *states = ctx.saved_tensors
    of_x, *of_states = torch.ops.halftone.recurrent_gradient(gradient, x, states, file)
    return of_x, of_states, None, None


_library.register_fake("halftone::layer", _fake_layer, lib=LIBRARY)
_library.register_fake("halftone::recurrent", _fake_recurrent, lib=LIBRARY)
_library.register_fake(
    "halftone::network", lambda inputs, file, ports: _outputs(inputs, ports, file), lib=LIBRARY
)
_library.register_fake("halftone::layer_gradient", _fake_gradient, lib=LIBRARY)
_library.register_fake(
    "halftone::recurrent_gradient",
    lambda gradient, x, states, file: [torch.empty_like(each) for each in (x, *states)],
    lib=LIBRARY,
)
_library.register_autograd(
    "halftone::layer", _backward, setup_context=_remember, lib=LIBRARY
)
_library.register_autograd(
    "halftone::recurrent", _recurrent_backward, setup_context=_remember_recurrent, lib=LIBRARY
)
