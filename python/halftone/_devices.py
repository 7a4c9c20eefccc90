# SPDX-License-Identifier: Apache-2.0
"""What a machine can compute with."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _halftone as native
from ._results import row, row_of


@row
class Device(NamedTuple):
    """A processor or a graphics card; or an interface to cards, where there is no card."""

    id: str
    name: str | None
    driver: str | None
    memory_bytes: int | None
    problem: str | None


def devices() -> list[Device]:
    """The processor, then the devices of OpenCL and CUDA, with what is missing to use them.

    >>> import halftone as ht
    >>> ht.devices()[0].id
    'cpu'
    """
    rows: list[dict[str, Any]] = json.loads(native.list_devices()[1])["devices"]
    return [Device(**row_of(Device, each)) for each in rows]
