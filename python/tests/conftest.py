# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests: the bundled network and samples, and the program if it is built."""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import halftone as ht

ROOT = Path(__file__).resolve().parents[2]
MNIST = ROOT / "examples" / "mnist"
NETWORK = MNIST / "mnist_mlp_700.onnx"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples in docstrings and documents name files from there."""
    monkeypatch.chdir(ROOT)


def pixels(name: str, count: int) -> np.ndarray:
    with gzip.open(MNIST / f"{name}-images-idx3-ubyte.gz") as file:
        file.read(16)
        return np.frombuffer(file.read(count * 784), np.uint8).reshape(count, 28, 28)


def classes(name: str, count: int) -> np.ndarray:
    with gzip.open(MNIST / f"{name}-labels-idx1-ubyte.gz") as file:
        file.read(8)
        return np.frombuffer(file.read(count), np.uint8)


@pytest.fixture(scope="session")
def train() -> np.ndarray:
    """[200, 28, 28] of uint8."""
    return pixels("train", 200)


@pytest.fixture(scope="session")
def model() -> ht.Model:
    return ht.load(NETWORK)


@pytest.fixture(scope="session")
def two_bits(train: np.ndarray) -> ht.Quantized:
    return ht.quantize(NETWORK, train, weight_bits=2, activation_bits=2, progress=False)


@pytest.fixture
def x() -> np.ndarray:
    """Three samples as the network takes them."""
    return np.random.default_rng(1).random((3, 784), np.float32)


class Program:
    """The command line, which HALFTONE_PROGRAM names."""

    def __init__(self, path: str):
        self._path = path

    def __call__(self, *arguments: object) -> str:
        command = [self._path, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        return done.stdout


@pytest.fixture(scope="session")
def program() -> Program:
    path = os.environ.get("HALFTONE_PROGRAM", "")
    if not path:
        pytest.skip("HALFTONE_PROGRAM names no program")
    return Program(path)
