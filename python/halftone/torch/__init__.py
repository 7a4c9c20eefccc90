# SPDX-License-Identifier: Apache-2.0
"""Halftone's layers inside PyTorch; see docs/guides/pytorch.md."""

from __future__ import annotations

from . import _export
from ._layers import CodedLayer, Conv, Embedding, Linear
from ._network import Network, from_halftone
from ._quantize import freeze_, load_, quantize_, unfreeze_
from ._recurrent import Recurrent

__all__ = [
    "CodedLayer",
    "Conv",
    "Embedding",
    "Linear",
    "Network",
    "Recurrent",
    "freeze_",
    "from_halftone",
    "load_",
    "quantize_",
    "unfreeze_",
]
