# SPDX-License-Identifier: Apache-2.0
"""Settings of quantize() by one word."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Preset: TypeAlias = Literal["int8", "w4a8", "smallest", "fastest"]

#: Loss that "smallest" and "fastest" allow: nats per sample, or relative squared error.
_LOSS = 0.01
#: More bytes than a network has: then the time is what a budget wants the least of.
_ANY_BYTES = 1e15

_SETTINGS: dict[str, dict[str, Any]] = {
    "int8": {
        "weight_bits": 8,
        "activation_bits": 8,
        "weight_scheme": "int",
        "activation_scheme": "asymmetric",
        "arithmetic": "integers",
    },
    "w4a8": {"weight_bits": 4, "activation_bits": 8},
    "smallest": {"budget": {"loss": _LOSS}},
    "fastest": {"budget": {"loss": _LOSS, "bytes": _ANY_BYTES}},
}


def with_preset(preset: Preset | None, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of quantize() with those of a preset, of which none may be given beside it."""
    if preset is None:
        return given
    settings = _SETTINGS[preset]
    named = settings.keys() | ({"budget"} if "budget" not in settings else {"weight_bits"})
    for name in sorted(named):
        if given[name] is not None:
            raise ValueError(f"{name}: expected none beside the preset {preset!r}")
    return {**given, **settings}
