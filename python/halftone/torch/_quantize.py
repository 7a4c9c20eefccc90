# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch in few bits, in place."""

from __future__ import annotations

import fnmatch
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import nn

from .._arguments import checked
from .._data import _batch_in
from .._progress import Progress, ProgressCallback
from .._quantize import Arithmetic, Calibrator, quantize
from .._recipes import Bits, Recipe, _bits_of, is_recipe_text
from ._floats import any_steps
from ._layers import CodedLayer, layers_of
from ._onnx import DOMAIN, nodes_of
from ._recurrent import Recurrent
from ._targets import has_targets, outputs_of, towards
from ._replace import (
    KINDS, check_file, check_layer, check_module, check_shared, direction, fitted, is_layer, plain, replace,
    suffixes_of, unfreeze_from,
)  # fmt: skip

#: Names or patterns of layers, or a function of a name and its layer that is true for some.
SkipLayers: TypeAlias = str | Sequence[str] | Callable[[str, nn.Module], object]


class Settings(NamedTuple):
    """How layers are fitted."""

    arguments: dict[str, Any]  #: of quantize(), for all
    recipe: dict[str, Any]
    bits: Mapping[str, Any]
    ends: int | None

    def of_layer(self, name: str, is_end: bool) -> dict[str, Any]:
        """The arguments of quantize() for a layer."""
        rules = [r for r in self.recipe.get("layer", []) if fnmatch.fnmatchcase(name, r["name"])]
        recipe = {**self.recipe, "layer": [{**rule, "name": "*"} for rule in rules]}
        found = {**self.arguments, "recipe": recipe}
        if is_end and self.ends is not None:
            found.update(weight_bits=self.ends, activation_bits=self.ends)
        chosen = [b for pattern, b in self.bits.items() if fnmatch.fnmatchcase(name, pattern)]
        if chosen:
            rule = _bits_of(name, chosen[-1])
            found.update({key: value for key, value in rule.items() if key != "name"})
        return found


def _table_of(recipe: Recipe | None) -> dict[str, Any]:
    if recipe is None:
        return {}
    if isinstance(recipe, Mapping):
        found = dict(recipe)
    elif is_recipe_text(recipe):
        found = tomllib.loads(os.fspath(recipe))
    else:
        with open(recipe, "rb") as file:
            found = tomllib.load(file)
    if "ends" in found:
        raise ValueError("recipe: [ends] is for whole networks; use ends=")
    return found


def _check_patterns(what: str, patterns: Sequence[str], names: Sequence[str]) -> None:
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise ValueError(f"{what}: no layer has the name '{pattern}'; expected those of {names}")


def _wanted(module: nn.Module, skip: SkipLayers | None) -> dict[str, nn.Module]:
    """The layers to replace, by name."""
    found = {name: each for name, each in module.named_modules() if is_layer(each)}
    if skip is None:
        return found
    if callable(skip):
        return {name: each for name, each in found.items() if not skip(name, each)}
    patterns = [skip] if isinstance(skip, str) else list(skip)
    _check_patterns("skip", patterns, list(found))
    return {
        name: each
        for name, each in found.items()
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }


def _inputs(module: nn.Module, data: Any, limit: int, scale: float) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of the module: all samples as one batch."""
    import inspect

    parameters = inspect.signature(module.forward).parameters.values()
    plain_kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.default is p.empty and p.kind in plain_kinds]
    if isinstance(data, (str, os.PathLike)):
        raise TypeError("data: expected samples in memory or an iterable of batches, found a path")
    batch = _batch_in(data, max(1, len(needed)), limit)

    def tensor(array: np.ndarray) -> torch.Tensor:
        found = torch.from_numpy(np.ascontiguousarray(array[:limit]))
        if found.dtype == torch.uint8:
            return found.float() * scale
        return found.float() if found.dtype == torch.float64 else found

    named = {k: tensor(v) for k, v in batch.inputs.items() if not k.startswith("#")}
    return [tensor(v) for k, v in batch.inputs.items() if k.startswith("#")], named


@contextmanager
def _in_inference(module: nn.Module) -> Iterator[None]:
    """Inference without gradients; modes of all modules are as before behind it."""
    modes = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for each, mode in modes:
            each.training = mode


@contextmanager
def _watched(layers: Mapping[str, nn.Module], call: Callable[..., Any]) -> Iterator[None]:
    """Calls call(name, layer, arguments, output) after each call of a layer; a result replaces the
    output."""
    handles = [
        layer.register_forward_hook(
            lambda _, args, kwargs, output, name=name, layer=layer: call(
                name, layer, (*args, *kwargs.values()), output
            ),
            with_kwargs=True,
        )
        for name, layer in layers.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _float_run(
    module: nn.Module, wanted: Mapping[str, nn.Module], args: Any, kwargs: Any
) -> dict[str, torch.Tensor | None]:
    """The layers in the order of their first calls, with some of their outputs as targets."""
    found: dict[str, torch.Tensor | None] = {}

    def call(name: str, layer: nn.Module, arguments: Any, output: Any) -> None:
        if name not in found:
            found[name] = outputs_of(layer, output) if has_targets(layer) else None

    with _watched(wanted, call):
        module(*args, **kwargs)
    return found


class _Walk:
    """Fits layers while samples go through the module, which they change at once."""

    def __init__(
        self,
        settings: Settings,
        targets: dict[str, torch.Tensor | None],
        callback: ProgressCallback | None,
    ):
        self._settings, self._targets, self._callback = settings, targets, callback
        self._order = list(targets)
        self.found: dict[str, nn.Module | None] = {}
        self.starts: dict[str, nn.Module] = {}  #: float layers that the found ones are nearest to

    def __call__(
        self, name: str, layer: nn.Module, arguments: tuple[Any, ...], output: Any
    ) -> Any:
        if name not in self.found:
            if self._callback is not None:
                self._callback(len(self.found) / len(self._order), name)
            target = self._targets.pop(name)
            moved = layer if target is None else towards(layer, arguments[0], target)
            self.starts[name] = moved
            self.found[name] = fitted(name, moved, arguments, self._fit(name))
        replacement = self.found[name]
        return None if replacement is None else replacement(*arguments)

    def _fit(self, name: str) -> Callable[[bytes, Sequence[Any]], bytes | None]:
        how = self._settings.of_layer(name, name in (self._order[0], self._order[-1]))

        def fit(network: bytes, arrays: Sequence[Any]) -> bytes | None:
            model = quantize(network, tuple(arrays), progress=False, **how).model
            file = model.to_bytes("onnx")
            layers = [node for node in nodes_of(file) if node.domain == DOMAIN]
            return file if any(n.attributes.get("weight_bits") for n in layers) else None

        return fit


@checked
def quantize_(
    module: nn.Module,
    data: Any,
    *,
    weight_bits: int | None = None,
    activation_bits: int | Literal["none"] | None = None,
    ends: int | None = None,
    scheme: str | None = None,
    weight_scheme: str | None = None,
    activation_scheme: str | None = None,
    arithmetic: Arithmetic | None = None,
    calibrator: Calibrator | None = None,
    recipe: Recipe | None = None,
    skip: SkipLayers | None = None,
    bits: Bits | None = None,
    trainable: bool = False,
    seed: int = 0,
    limit: int = 512,
    scale: float = 1 / 255,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
) -> nn.Module:
    """Replaces the layers of a module by ones that hold codes and run on Halftone's kernels.

    Linear, Conv1d, Conv2d, LSTM, GRU and Embedding are replaced; subclasses are not. The samples go
    through the module twice, as one batch, in inference mode: first for the outputs of the float
    layers, then each layer is fitted to what reaches it from the layers in few bits before it. The
    weights of Linear and Conv are moved to those whose outputs are nearest to the float ones, by
    least squares; then halftone.quantize() fits a network of this layer alone. A layer that is
    called several times is fitted to its first inputs, one that is never called stays as it is. If
    anything fails, the module is unchanged.

    module: on the processor, in float32. It is returned.
    data: samples as for halftone.quantize(), but no paths: arrays or tensors, batches, a Dataset.
    weight_bits, activation_bits, scheme, ..., recipe, bits: as for halftone.quantize(), with the
    names of modules as names of layers. ends: bits of the layers that are called first and last.
    skip: names or patterns of layers that stay float, or a function of a name and its layer.
    trainable: keeps float weights that learn; see unfreeze_().
    limit: samples at most.

    >>> import torch, halftone.torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    >>> _ = halftone.torch.quantize_(net, torch.randn(100, 8), weight_bits=2, activation_bits=2)
    >>> net
    Sequential(
      (0): Linear(2 bits, basis, channel)
      (1): ReLU()
      (2): Linear(2 bits, basis, channel)
    )
    """
    check_module(module)
    arguments = {
        "weight_bits": weight_bits, "activation_bits": activation_bits, "scheme": scheme,
        "weight_scheme": weight_scheme, "activation_scheme": activation_scheme,
        "arithmetic": arithmetic, "calibrator": calibrator, "seed": seed, "threads": threads,
    }  # fmt: skip
    settings = Settings(arguments, _table_of(recipe), bits or {}, ends)
    if limit < 1:
        raise ValueError(f"limit: expected at least 1, found {limit}")
    wanted = _wanted(module, skip)
    rules = [*settings.bits, *(rule["name"] for rule in settings.recipe.get("layer", []))]
    _check_patterns("bits and recipe", rules, list(wanted))
    if not wanted:
        raise ValueError("module: no layer to replace; expected Linear, Conv, LSTM, GRU, Embedding")
    for name, layer in wanted.items():
        check_layer(name, layer)
    check_shared(module, wanted)
    args, kwargs = _inputs(module, data, limit, scale)
    with _in_inference(module), Progress(progress) as callback:
        targets = _float_run(module, wanted, args, kwargs)
        if not targets:
            raise ValueError("module: its forward() calls none of its layers")
        walk = _Walk(settings, targets, callback)
        with _watched({name: wanted[name] for name in targets}, walk):
            module(*args, **kwargs)
    return _exchange(module, walk, trainable)


def _exchange(module: nn.Module, walk: _Walk, trainable: bool) -> nn.Module:
    layers = {name: each for name, each in walk.found.items() if each is not None}
    for name, each in layers.items():
        if trainable:
            unfreeze_from(each, walk.starts[name])
        each.train(module.get_submodule(name).training)
    if "" in layers:
        raise ValueError("module: is a layer itself; put it into torch.nn.Sequential()")
    for name, each in layers.items():
        replace(module, name, each)
    return module


def unfreeze_(module: nn.Module) -> nn.Module:
    """Lets the layers in few bits of a module learn, in a loop of your own.

    Each gets float32 master weights with the same codes, and its scales and bias as parameters.
    While gradients are recorded, and inside torch.compile, it computes in float32 on the numbers
    that its codes represent; gradients pass straight through the rounding of weights and inputs,
    but for inputs beyond the levels. Without gradients it runs on Halftone's kernels, with the
    codes nearest to the weights as they are then. state_dict() has codes and master weights.

    Without it, layers pass gradients with respect to their inputs only, as adapters need them.
    """
    for _, layer in layers_of(check_module(module)):
        layer.unfreeze()
    return module


def freeze_(module: nn.Module) -> nn.Module:
    """Ends the learning of a module: master weights are dropped, and codes remain."""
    for _, layer in layers_of(check_module(module)):
        layer.freeze()
    return module


def load_(module: nn.Module, state_dict: Mapping[str, torch.Tensor]) -> nn.Module:
    """Replaces the layers of a float module that a state dict has codes of, and loads it.

    module: as it was in front of quantize_(), with any weights. state_dict: of the module in few
    bits. A state dict of another network is a RuntimeError, as in load_state_dict(), and leaves
    the module unchanged.

    >>> import torch, halftone.torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(8, 4))
    >>> _ = halftone.torch.quantize_(net, torch.randn(100, 8), weight_bits=2)
    >>> same = torch.nn.Sequential(torch.nn.Linear(8, 4))
    >>> same = halftone.torch.load_(same, net.state_dict())
    >>> x = torch.randn(2, 8)
    >>> bool((same(x) == net(x)).all())
    True
    """
    check_module(module)
    old = put_layers(module, state_dict)
    try:
        _check_keys(module, state_dict)
        module.load_state_dict(state_dict)
    except Exception:
        for name, layer in old.items():
            replace(module, name, layer)
        raise
    return module


def put_layers(module: nn.Module, state_dict: Mapping[str, torch.Tensor]) -> dict[str, nn.Module]:
    """Replaces the layers of a float module that a state dict has codes of, and returns them. An
    error leaves the module unchanged."""
    new = {}
    for name, layer in module.named_modules():
        if type(layer) in KINDS and (made := _empty(name, layer, state_dict)) is not None:
            new[name] = made.train(layer.training)
    old = {name: module.get_submodule(name) for name in new}
    for name, layer in new.items():
        replace(module, name, layer)
    return old


def _check_keys(module: nn.Module, state_dict: Mapping[str, Any]) -> None:
    """load_state_dict() copies what fits before it raises, so what does not fit is found first."""
    own = module.state_dict()
    missing, unexpected = sorted(own.keys() - state_dict), sorted(state_dict.keys() - own)
    others = [
        name
        for name, value in own.items()
        if name in state_dict and not name.endswith("file") and state_dict[name].shape != value.shape
    ]
    for what, names in (("missing", missing), ("unexpected", unexpected), ("of other shapes", others)):
        if names:
            raise RuntimeError(f"state_dict: of another network: {names[0]} is {what}")


def _empty(name: str, layer: Any, state_dict: Mapping[str, Any]) -> nn.Module | None:
    """A layer in few bits with the file that the state has, if it has one."""
    prefix = f"{name}." if name else ""
    if isinstance(layer, (nn.LSTM, nn.GRU)):
        count = len(suffixes_of(layer))
        files = [state_dict.get(f"{prefix}directions.{i}.file") for i in range(count)]
        if any(each is None for each in files):
            return None
        contents = [_bytes(each) for each in files]
        for content, suffix in zip(contents, suffixes_of(layer)):
            check_file(name + suffix, layer, content)
        made = [direction(layer, content) for content in contents]
        found: nn.Module = Recurrent(layer, made)
        pairs: list[tuple[Any, str]] = [
            (each, f"{prefix}directions.{i}.") for i, each in enumerate(made)
        ]
    else:
        file = state_dict.get(prefix + "file")
        if file is None:
            return None
        check_file(name, layer, _bytes(file))
        found = plain(layer, _bytes(file))
        pairs = [(found, prefix)]
    for each, where in pairs:
        if any(key.startswith(where + "learned.") for key in state_dict):
            each.unfreeze()
    return found


def _bytes(tensor: Any) -> bytes:
    return bytes(tensor.cpu().numpy())
