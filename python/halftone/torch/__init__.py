# SPDX-License-Identifier: Apache-2.0
"""Halftone's layers inside PyTorch; see docs/guides/pytorch.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _export
from ._layers import CodedLayer, Conv, Embedding, Linear
from ._network import Network, from_halftone
from ._quantize import freeze_, load_, quantize_, unfreeze_
from ._recurrent import Recurrent

if TYPE_CHECKING:
    from ._transformers import HalftoneConfig

__all__ = [
    "CodedLayer",
    "Conv",
    "Embedding",
    "HalftoneConfig",
    "Linear",
    "Network",
    "Recurrent",
    "freeze_",
    "from_halftone",
    "load_",
    "quantize_",
    "unfreeze_",
]


def __getattr__(name: str) -> Any:
    """HalftoneConfig, which needs transformers and adds itself there."""
    if name != "HalftoneConfig":
        raise AttributeError(f"module 'halftone.torch' has no attribute '{name}'")
    from ._transformers import HalftoneConfig

    return HalftoneConfig
