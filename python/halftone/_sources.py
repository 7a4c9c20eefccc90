# SPDX-License-Identifier: Apache-2.0
"""Networks from what programs in Python have: paths, bytes, ModelProto, torch.nn.Module."""

from __future__ import annotations

import importlib.util
import inspect
import io
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from . import _halftone as native
from ._arguments import check
from ._arrays import Array, as_array
from ._data import first_inputs

#: A path, the bytes of a file, an onnx.ModelProto or a torch.nn.Module.
Source: TypeAlias = Any
Shapes: TypeAlias = Mapping[str, Sequence[int | str]]
Constants: TypeAlias = Mapping[str, Any]

_BATCH = -1


def _extent(extent: int | str, name: str) -> int:
    if extent == "N":
        return _BATCH
    if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 1:
        raise ValueError(f"shape of '{name}': expected extents from 1 or 'N', found {extent!r}")
    return int(extent)


def _constant(value: object, name: str) -> Array:
    if isinstance(value, (bool, int, float)):
        kind = np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else None
        return np.asarray(value, kind or np.float32)
    array = as_array(value, f"constant '{name}'")
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    return np.ascontiguousarray(array).reshape(array.shape)


def _options(
    shapes: Shapes | None, constants: Constants | None, max_iterations: int
) -> tuple[list[tuple[str, list[int]]], list[tuple[str, Any]], int]:
    return (
        [(name, [_extent(e, name) for e in shape]) for name, shape in (shapes or {}).items()],
        [(name, _constant(value, name)) for name, value in (constants or {}).items()],
        max_iterations,
    )


def _torch_module(source: object) -> Any:
    """The module torch if the source is one of its networks."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(source, torch.nn.Module) else None


def example_of(source: object, example: object, data: Any) -> object:
    """The example for a torch.nn.Module: the one given, or else the first sample of the data."""
    if example is not None or _torch_module(source) is None:
        return example
    parameters = inspect.signature(cast(Any, source).forward).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return first_inputs(data, max(1, len(needed)))


def _examples(example: object) -> tuple[Any, ...]:
    if example is None:
        raise TypeError(
            "a torch.nn.Module needs example=, an input or a tuple of them, or data in memory"
        )
    return tuple(example) if isinstance(example, (tuple, list)) else (example,)


def _input_names(network: Any, count: int) -> list[str]:
    """Those of forward(), where it names them."""
    names = list(inspect.signature(network.forward).parameters)[:count]
    is_plain = len(names) == count and "args" not in names
    return names if is_plain else [f"x{i}" for i in range(count)]


def _few_bits(network: Any) -> Any:
    """The module that exports layers in few bits, if the network has such."""
    own = sys.modules.get("halftone.torch")
    return own._export if own is not None and own._export.has_layers(network) else None


def _export(torch: Any, network: Any, example: object) -> bytes:
    """The network as ONNX in memory, in inference mode; the first axis of inputs is the batch."""
    few_bits = _few_bits(network)
    if few_bits is not None:
        few_bits.prepare()
    inputs = tuple(
        x if isinstance(x, torch.Tensor) else torch.from_dlpack(as_array(x, "example"))
        for x in _examples(example)
    )
    names = _input_names(network, len(inputs))
    axes = {name: {0: "batch"} for name, x in zip(names, inputs) if x.dim() > 0}
    was_training = network.training
    file = io.BytesIO()
    try:
        network.eval()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the exporter itself
            torch.onnx.export(
                network, inputs, file, dynamo=False, input_names=names, dynamic_axes=axes
            )
    except Exception as error:
        if importlib.util.find_spec("onnx") is None:
            raise ModuleNotFoundError(
                f"a torch.nn.Module is exported with the package onnx: pip install onnx ({error})",
                name="onnx",
            ) from error
        raise
    finally:
        network.train(was_training)
    return file.getvalue() if few_bits is None else few_bits.with_layers(file.getvalue())


def _named_bytes(source: object, example: object) -> tuple[bytes, str] | None:
    """The file in memory that a source is, and its name in messages; None for a path."""
    torch = _torch_module(source)
    if torch is not None:
        return _export(torch, source, example), type(source).__name__
    if example is not None:
        raise TypeError("example= is for a torch.nn.Module only")
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "model"
    proto: Any = getattr(source, "model_proto", source)  # of torch's ONNXProgram
    if hasattr(proto, "SerializeToString") and hasattr(proto, "graph"):
        return proto.SerializeToString(), "ModelProto"
    return None


def read(
    source: Source,
    *,
    example: object = None,
    name: str | None = None,
    shapes: Shapes | None = None,
    constants: Constants | None = None,
    max_iterations: int = 1_000_000,
) -> tuple[native.Network, str]:
    """The network of a source, and the name of its format."""
    options = _options(shapes, constants, max_iterations)
    found = _named_bytes(source, example)
    if found is not None:
        file, usual = found
        return native.Network.from_bytes(file, name or usual, *options), native.format_of(file)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            "model: expected a path, bytes, an onnx.ModelProto or a torch.nn.Module, found "
            f"{type(source).__name__}"
        )
    check("model", source, str | os.PathLike[str])
    path = os.fsdecode(source)
    try:
        network = native.Network.load(path, *options)
    except OSError as error:
        if os.path.exists(path):
            raise
        raise FileNotFoundError(str(error)) from None
    return network, os.path.splitext(path)[1].lower().lstrip(".")
