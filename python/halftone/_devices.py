# SPDX-License-Identifier: Apache-2.0
"""What a machine can compute with."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _halftone as native


class Device(NamedTuple):
    """A processor or a graphics card; or an interface to cards, where there is no card."""

    id: str  #: "cpu", "opencl:0", "cuda:1"; of an interface without cards "cuda"
    name: str | None
    driver: str | None
    memory_bytes: int | None
    problem: str | None  #: why it cannot be used, and what to install


def devices() -> list[Device]:
    """The processor, then the devices of OpenCL and CUDA, with what is missing to use them.

    >>> import halftone as ht
    >>> ht.devices()[0].id
    'cpu'
    """
    rows: list[dict[str, Any]] = json.loads(native.list_devices()[1])["devices"]
    return [Device(**{key: row[key] for key in Device._fields}) for row in rows]
