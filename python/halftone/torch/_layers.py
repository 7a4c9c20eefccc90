# SPDX-License-Identifier: Apache-2.0
"""Layers that hold codes and call Halftone's kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from ._codes import decoded, matrices_of
from ._onnx import with_constants
from ._operators import layer_function
from ._rounding import LearnedMatrix, reason_not_to_learn


def check_input(x: torch.Tensor, name: str, dtype: torch.dtype = torch.float32) -> None:
    """@raises ValueError for another device, TypeError for another type"""
    if not x.is_cpu and not x.is_meta:
        raise ValueError(f"{name}: expected a tensor on the processor, found {x.device}; use .cpu()")
    if x.dtype != dtype:
        kind = str(dtype).removeprefix("torch.")
        raise TypeError(f"{name}: expected {kind}, found {str(x.dtype).removeprefix('torch.')}; "
                        f"use .to(torch.{kind})")  # fmt: skip


#: Without the search for an overload, which takes a microsecond.
_run_layer: Any = torch.ops.halftone.layer.default
#: Systems whose codes are of several weights, so that their bits are no bits of a weight.
_VECTORS = re.compile(r"\d+x\d+")


class CodedLayer(nn.Module):
    """A layer of few bits.

    file: uint8, the layer as a file of Halftone has it: codes, scales and bias.
    learned: None, or what unfreeze_() has made: float weights, scales and bias that learn.
    """

    kind: ClassVar[str]
    file: torch.Tensor

    def __init__(self, file: bytes, sizes: list[int]):
        super().__init__()
        self.register_buffer("file", torch.from_numpy(np.frombuffer(file, np.uint8).copy()))
        self.sizes = sizes
        self.learned: nn.ModuleList | None = None
        self._written: tuple[Any, ...] = ()

    @property
    def matrices(self) -> list[str]:
        """What the codes of each matrix mean, such as "2 bits, basis, channel"."""
        found = []
        for each in matrices_of(self.to_bytes()):
            system, granularity = each.numbers.system or "basis", each.node.attributes["granularity"]
            bits = "" if _VECTORS.fullmatch(system) else f"{each.numbers.bits} bits, "
            found.append(f"{bits}{system}, {granularity}")
        return found

    def to_bytes(self) -> bytes:
        """The layer as an .onnx file with operators of Halftone, which load() takes."""
        self.write_codes()
        return self.file.numpy().tobytes()

    @property
    def weight(self) -> torch.Tensor:
        """The decoded weights, in the shape that they have in PyTorch."""
        return self._shaped(decoded(self.to_bytes())[0])

    def _shaped(self, matrix: torch.Tensor) -> torch.Tensor:
        return matrix

    def _matrix(self, weights: torch.Tensor) -> torch.Tensor:
        """The inverse of _shaped()."""
        return weights

    def unfreeze(self, weights: Sequence[torch.Tensor | None] | None = None) -> None:
        """See unfreeze_(). weights: float ones as matrices, to start from."""
        if self.learned is not None:
            return
        found = matrices_of(self.to_bytes())
        for each in found:
            reason = reason_not_to_learn(each)
            if reason is not None:
                raise ValueError(f"unfreeze_(): {reason}; expected a system with float scales")
        starts = weights or (None,) * len(found)
        self.learned = nn.ModuleList(LearnedMatrix(m, w) for m, w in zip(found, starts))
        self._written = self._versions()

    def freeze(self) -> None:
        """See freeze_()."""
        self.write_codes()
        self.learned = None

    def _versions(self) -> tuple[Any, ...]:
        return tuple((id(p), p._version) for p in self.parameters())

    @torch.no_grad()
    def write_codes(self) -> None:
        """Brings the file up to date with what has learned."""
        if self.learned is None or self._written == self._versions():
            return
        changed: dict[str, np.ndarray] = {}
        for each in self.learned:
            assert isinstance(each, LearnedMatrix)
            changed.update(each.constants())
        written = with_constants(self.file.numpy().tobytes(), changed)
        self.file = torch.from_numpy(np.frombuffer(written, np.uint8).copy())
        self._written = self._versions()

    def learned_matrix(self) -> LearnedMatrix:
        """The one of a layer that learns."""
        assert self.learned is not None
        [matrix] = self.learned
        assert isinstance(matrix, LearnedMatrix)
        return matrix

    def learns(self) -> bool:
        """Whether the layer computes in float32 on decoded numbers, so that gradients reach them."""
        if self.learned is None:
            return False
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return True
        self.write_codes()
        return False

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        self.write_codes()
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(  # noqa: PLR0913  # of PyTorch
        self, state_dict: Mapping[str, Any], prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        given = state_dict.get(prefix + "file")
        if isinstance(given, torch.Tensor):
            reason = self._other_layer(given)
            if reason is not None:
                error_msgs.append(f"{prefix}file: {reason}")
                return
            self.file = torch.empty_like(given, device="cpu")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
        self._written = self._versions()

    def _other_layer(self, given: torch.Tensor) -> str | None:
        """Why a file is not one of such a layer."""
        try:
            found = matrices_of(given.cpu().numpy().tobytes())
        except Exception:  # noqa: BLE001  # bytes from outside
            return "expected the codes of a layer, found other bytes"
        own = matrices_of(self.file.numpy().tobytes())
        shapes = [_shapes_of(each) for each in (found, own)]
        if shapes[0] != shapes[1]:
            return f"expected the codes of {shapes[1]}, found those of {shapes[0]}"
        return None

    def extra_repr(self) -> str:
        """What print() says of the layer."""
        state = ", learns" if self.learned is not None else ""
        return "; ".join(self.matrices) + state

    def _apply(self, fn: Any, recurse: bool = True) -> nn.Module:
        """Codes stay on the processor, and what learns is float32."""
        probe = fn(torch.zeros(1))
        if probe.device.type != "cpu":
            raise ValueError(f"a layer of few bits runs on the processor, found .to({probe.device})")
        if probe.dtype != torch.float32:
            raise TypeError(
                "a layer of few bits takes float32, found "
                f".to({probe.dtype}); convert the others before quantize_()"
            )
        apply: Any = super()._apply
        return cast(nn.Module, apply(fn, recurse))


def _shapes_of(matrices: list[Any]) -> list[str]:
    return [
        f"{each.node.operator} {each.constant(3).shape[0]} x {each.node.attributes['inputs']}"
        for each in matrices
    ]


class Linear(CodedLayer):
    """torch.nn.Linear in few bits."""

    kind = "linear"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., n] -> [..., outputs]."""
        check_input(x, "Linear")
        if self.learned is not None and self.learns():
            matrix = self.learned_matrix()
            return nn.functional.linear(matrix.rounded(x), matrix.weights(), matrix.bias)
        return cast(torch.Tensor, _run_layer(x, self.file, self.kind, self.sizes))


class Conv(CodedLayer):
    """torch.nn.Conv1d or Conv2d in few bits."""

    kind = "conv"

    def __init__(self, file: bytes, sizes: list[int], kernel: tuple[int, ...], outside: Any):
        """outside: how the input is padded beforehand, (sides, mode), or None."""
        super().__init__(file, sizes)
        self.kernel_size = kernel
        self._outside = outside

    def _shaped(self, matrix: torch.Tensor) -> torch.Tensor:
        channels = matrix.shape[1] // int(np.prod(self.kernel_size))
        return matrix.reshape(-1, *self.kernel_size, channels).movedim(-1, 1).contiguous()

    def _matrix(self, weights: torch.Tensor) -> torch.Tensor:
        return weights.movedim(1, -1).reshape(len(weights), -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [N, channels, spatial...], or one sample -> [N, outputs, spatial...]."""
        check_input(x, "Conv")
        if x.dim() == len(self.kernel_size) + 1:  # one sample
            return self.forward(x[None])[0]
        if self._outside is not None:
            x = nn.functional.pad(x, self._outside[0], mode=self._outside[1])
        if not self.learns():
            return cast(torch.Tensor, _run_layer(x, self.file, self.kind, self.sizes))
        matrix = self.learned_matrix()
        y = layer_function(matrix.rounded(x), matrix.weights(), self.kind, self.sizes)
        return y if matrix.bias is None else y + matrix.bias.view(-1, *[1] * len(self.kernel_size))


class Embedding(CodedLayer):
    """torch.nn.Embedding in few bits."""

    kind = "embedding"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Indices [...] -> [..., width]."""
        if x.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"Embedding: expected integers, found {x.dtype}")
        if self.learns():
            matrix = self.learned_matrix()
            return nn.functional.embedding(x, matrix.weights())
        return cast(torch.Tensor, _run_layer(x, self.file, self.kind, self.sizes))


def layers_of(module: nn.Module) -> Iterator[tuple[str, CodedLayer]]:
    """The layers of few bits of a module, by name."""
    for name, each in module.named_modules():
        if isinstance(each, CodedLayer):
            yield name, each
