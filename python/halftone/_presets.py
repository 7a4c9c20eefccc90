# SPDX-License-Identifier: Apache-2.0
"""Settings of quantize() by one word."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from . import _halftone as native

Preset: TypeAlias = Literal["int8", "w4a8", "smallest", "fastest"]


def with_preset(preset: Preset | None, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of quantize(), or in their place those of a preset."""
    if preset is None:
        return given
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name}: expected none beside the preset {preset!r}")
    settings, limits = native.preset(preset)
    return {**dict.fromkeys(given), **settings, "budget": ",".join(limits) or None}
