# SPDX-License-Identifier: Apache-2.0
# Written by scripts/python_stub.py.
from typing import Any
from collections.abc import Callable, Sequence
import enum
from typing import Annotated

from numpy.typing import NDArray


class Stopped(BaseException):
    pass

class Devices:
    @staticmethod
    def emulate(count: int) -> Devices: ...

    @staticmethod
    def for_threads() -> Devices: ...

    def __len__(self) -> int: ...

class MapKind(enum.Enum):
    VMAP = 0

    PMAP = 1

    SPREAD = 2

def run(kind: MapKind, axis_name: str, num_lanes: int, devices: Devices | None, body: Callable[..., Any]) -> None: ...

def axis_index(arg: Sequence[str], /) -> int: ...

def axis_size(arg: Sequence[str], /) -> int: ...

def psum(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]]) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def pmean(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]]) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def pmax(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]]) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def pmin(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]]) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def all_gather(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]], axis: int, tiled: bool) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def psum_scatter(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]], axis: int, tiled: bool) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def all_to_all(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], groups: Sequence[Sequence[int]], split_and_concat: tuple[int, int], tiled: bool) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...

def ppermute(leaves: Sequence[Annotated[NDArray[Any], dict(order='C', device='cpu', writable=False)]], axes: Sequence[str], permutation: Sequence[tuple[int, int]]) -> list[Annotated[NDArray[Any], dict(writable=False)]]: ...
