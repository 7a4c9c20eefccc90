# SPDX-License-Identifier: Apache-2.0
"""A quantizer for transformers: from_pretrained(..., quantization_config=HalftoneConfig(...))."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from transformers.quantizers.auto import register_quantization_config, register_quantizer
from transformers.quantizers.base import HfQuantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from .._language_quantize import paths_of, quantize_language_model
from ._codes import planes_of
from ._layers import Embedding, Linear
from ._onnx import DOMAIN, Node, Ports, model
from ._quantize import put_layers
from ._replace import replace

#: The names of Halftone's files for the modules of transformers.
_NAMES = {
    r"model\.embed_tokens": "token_embd", r"lm_head": "output",
    r"model\.layers\.(\d+)\.self_attn\.([qkv])_proj": r"blk.\1.attn_\2",
    r"model\.layers\.(\d+)\.self_attn\.o_proj": r"blk.\1.attn_output",
    r"model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj": r"blk.\1.ffn_\2",
}  # fmt: skip
#: Models with these modules, whose files have the rows of their matrices in the same order.
_MODELS = ("llama", "mistral", "qwen2", "qwen3")
_INTEGERS = re.compile(r"int([2-8])(?:/(\d+))?")
_VECTORS = re.compile(r"([24])x(\d+)")
#: Weights that share a scale of integers, if their type does not say so.
_INTEGER_GROUP = 32
#: Weights that share a scale of a vector basis, and the type of these scales.
_VECTOR_GROUP, _VECTOR_SCALES = 64, "e3m5"


@register_quantization_config("halftone")
class HalftoneConfig(QuantizationConfigMixin):
    """How from_pretrained() puts a language model into few bits.

    The matrices get the codes that halftone.quantize_language_model() writes for the same folder,
    texts and options, without rotation.

    texts: files in UTF-8, such as the model will read.
    type: of matrices: integers in groups such as "int4/64", or a vector basis such as "2x6".
    rules: types of the matrices whose name in Halftone's files matches a pattern; see there.
    options: others of quantize_language_model(), such as samples, sample_tokens, table_type, seed.
    """

    def __init__(
        self,
        texts: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        type: str = "int4/64",
        rules: Mapping[str, str] | None = None,
        **options: Any,
    ):
        self.quant_method: Any = "halftone"
        self.texts, self.type = paths_of(texts), type
        self.rules, self.options = dict(rules or {}), options
        for key in ("rotation", "decoded", "output", "quant_method"):
            if options.pop(key, None) not in (None, "halftone"):
                raise ValueError(f"{key}: expected none in a HalftoneConfig")
        for each in (type, *self.rules.values()):
            if not _INTEGERS.fullmatch(each) and not _VECTORS.fullmatch(each):
                raise ValueError(
                    f"type: expected integers such as 'int4/64' or a vector basis such as '2x6', "
                    f"found {each!r}"
                )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"quant_method": "halftone", "texts": self.texts, "type": self.type,
                "rules": self.rules, **self.options}  # fmt: skip


class _Matrix(NamedTuple):
    """A matrix as a file of Halftone has it: rows of blocks, and what they mean."""

    blocks: np.ndarray
    type: str
    shape: tuple[int, int]
    factor: float


def _matrices(path: str) -> dict[str, _Matrix]:
    """Those of a container that quantize_language_model() has written, by name."""
    data = np.fromfile(path, np.uint8)
    size = int(data[:8].view("<u8")[0])
    header = json.loads(data[8 : 8 + size].tobytes())
    encodings = json.loads(header.pop("__metadata__")["halftone.encodings"])
    found = {}
    for name, how in encodings.items():
        begin, end = header[name]["data_offsets"]
        rows, cols = how["shape"]
        blocks = data[8 + size + begin : 8 + size + end].reshape(rows, -1)
        found[name] = _Matrix(blocks, how["type"], (rows, cols), how.get("factor", 1.0))
    return found


def _integer_codes(matrix: _Matrix, bits: int, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Scales [groups, 1] and distances from the lowest level [rows, cols] of integers in blocks."""
    rows, cols = matrix.shape
    blocks = matrix.blocks.reshape(rows, cols // group, -1)
    scales, codes = np.ascontiguousarray(blocks[:, :, :2]).view("<f2"), blocks[:, :, 2:]
    if matrix.type == "Q4_0":  # the first half of a block in the low bits
        distances = np.concatenate([codes & 15, codes >> 4], 2)
    elif matrix.type == "Q8_0":
        distances = codes ^ 128
    else:
        packed = np.unpackbits(codes, axis=2, bitorder="little")[:, :, : group * bits]
        distances = packed.reshape(-1, bits) @ (1 << np.arange(bits))
    return scales.reshape(-1, 1), distances.reshape(rows, cols).astype(np.int64)


def _layer_constants(name: str, matrix: _Matrix) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Scales and codes of a matrix as a layer has them, and its attributes."""
    rows, cols = matrix.shape
    kind = {"Q4_0": "int4/32", "Q8_0": "int8/32"}.get(matrix.type, matrix.type)
    integers, vectors = _INTEGERS.fullmatch(kind), _VECTORS.fullmatch(kind)
    group = int(integers[2] or _INTEGER_GROUP) if integers else _VECTOR_GROUP
    if not (integers or vectors) or cols % group != 0:
        raise NotImplementedError(
            f"'{name}': expected integers or a vector basis in groups that divide {cols} columns, "
            f"found {matrix.type}"
        )
    attributes: dict[str, Any] = {
        "version": 2, "inputs": cols, "activation_bits": 0, "weight_offset": 0,
        "activation_offset": 0, "granularity": "group", "group_size": group, "activation": 0,
    }  # fmt: skip
    if integers:
        bits = int(integers[1])
        scales, distances = _integer_codes(matrix, bits, group)
        constants = {"scales": scales, "codes": planes_of(torch.from_numpy(distances), bits)}
        return constants, {**attributes, "weight_bits": bits, "weight_system": "int"}
    blocks = matrix.blocks.reshape(rows, cols // group, -1)
    codes = np.ascontiguousarray(blocks[:, :, 1:]).reshape(rows, 1, -1)
    return {"scales": blocks[:, :, :1].reshape(-1, 1), "codes": codes}, {
        **attributes, "weight_bits": 8, "weight_system": kind, "scale_type": _VECTOR_SCALES,
        "scale_factor": matrix.factor,
    }  # fmt: skip


def _file_of(name: str, matrix: _Matrix, layer: Any) -> bytes:
    constants, attributes = _layer_constants(name, matrix)
    inputs = ["x", "", "scales", "codes"]
    if isinstance(layer, nn.Embedding):
        node = Node("Gather", inputs, ["y"], attributes, name, DOMAIN)
        return model([node], Ports([("x", "int64", ["N"])], ["y"]), constants)
    attributes["arithmetic"] = "integers"
    if layer.bias is not None:
        constants["bias"] = layer.bias.detach().float().numpy()
        inputs.append("bias")
    node = Node("FullyConnected", inputs, ["y"], attributes, name, DOMAIN)
    return model([node], Ports([("x", "float32", ["N", matrix.shape[1]])], ["y"]), constants)


def _matrix_name(name: str) -> str | None:
    """In Halftone's files, of the weights of a module; None of one that has none."""
    for pattern, replacement in _NAMES.items():
        if (match := re.fullmatch(pattern, name)) is not None:
            return match.expand(replacement) + ".weight"
    return None


def _files_in(checkpoints: Sequence[str]) -> dict[str, torch.Tensor]:
    """The files of layers in checkpoints, by their keys."""
    from safetensors import safe_open

    found = {}
    for path in checkpoints:
        with safe_open(path, "pt") as checkpoint:
            keys = [key for key in checkpoint.keys() if key.endswith(".file")]  # noqa: SIM118
            found.update({key: checkpoint.get_tensor(key) for key in keys})
    return found


def _folder_of(model: Any) -> str:
    """Where from_pretrained() has found the model."""
    name: str = model.name_or_path
    if os.path.isdir(name):
        return name
    from transformers.utils.hub import cached_file

    return os.path.dirname(str(cached_file(name, "config.json", local_files_only=True)))


@register_quantizer("halftone")
class HalftoneQuantizer(HfQuantizer):
    """Replaces Linear and Embedding after transformers has read the float weights."""

    def __init__(self, quantization_config: HalftoneConfig, **kwargs: Any):
        super().__init__(quantization_config, **kwargs)
        self._config: Any = quantization_config

    def validate_environment(self, *args: Any, device_map: Any = None, **kwargs: Any) -> None:
        """@raises ValueError for other devices"""
        devices = set(device_map.values()) if isinstance(device_map, dict) else {device_map or "cpu"}
        if {str(each) for each in devices} != {"cpu"}:
            raise ValueError(f"device_map: layers in few bits run on the processor, found {devices}")

    def update_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """What stays float is float32."""
        return torch.float32

    def _process_model_before_weight_loading(
        self, model: Any, checkpoint_files: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        """Layers for the codes that save_pretrained() has written."""
        if not self.pre_quantized:
            return
        replaced = put_layers(model, _files_in(checkpoint_files or ()))
        # A tied head has codes of its own, which are those of the table.
        model.all_tied_weights_keys = {
            target: source for target, source in model.all_tied_weights_keys.items()
            if target.rpartition(".")[0] not in replaced
        }  # fmt: skip

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        if self.pre_quantized:
            return model
        config, kind = self._config, model.config.model_type
        if kind not in _MODELS:
            raise NotImplementedError(f"model_type: expected one of {_MODELS}, found {kind!r}")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "codes.safetensors")
            quantize_language_model(
                _folder_of(model), config.texts or None, path, type=config.type,
                rules=config.rules, rotation=False, progress=False, **config.options,
            )  # fmt: skip
            matrices = _matrices(path)
        layers = {}
        for name, layer in model.named_modules():
            own = _matrix_name(name) if isinstance(layer, (nn.Linear, nn.Embedding)) else None
            # A tied head multiplies with the table of tokens.
            own = "token_embd.weight" if own == "output.weight" and own not in matrices else own
            if own in matrices:
                layers[name] = _coded(layer, _file_of(name, matrices[own], layer))
        for name, layer in layers.items():
            replace(model, name, layer)
        return model

    def is_serializable(self, *args: Any, **kwargs: Any) -> Any:
        """save_pretrained() writes codes, which from_pretrained() reads."""
        return True

    @property
    def is_trainable(self) -> Any:
        """Layers pass gradients with respect to their inputs, as adapters need them."""
        return True


def _coded(layer: Any, file: bytes) -> nn.Module:
    if isinstance(layer, nn.Embedding):
        return Embedding(file, [layer.embedding_dim, layer.num_embeddings]).train(layer.training)
    return Linear(file, [layer.out_features, layer.in_features]).train(layer.training)
