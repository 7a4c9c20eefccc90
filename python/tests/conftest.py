# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests: the bundled network and samples, and the program if it is built."""

from __future__ import annotations

import gzip
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import halftone as ht
from halftone._training import training_module

ROOT = Path(__file__).resolve().parents[2]
MNIST = ROOT / "examples" / "mnist"
NETWORK = MNIST / "mnist_mlp_700.onnx"
VOCABULARY = 260  # of tiny language models: <unk>, begin, end, the 256 bytes and the space


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples in docstrings and documents name files from there."""
    monkeypatch.chdir(ROOT)


def run_guide_block(word: str, folder: Path) -> str:
    """What the example of docs/guides/ship_it.md with a word prints, run in a folder."""
    page = (ROOT / "docs" / "guides" / "ship_it.md").read_text()
    (block,) = (each for each in re.findall(r"```py\n(.*?)```", page, re.S) if word in each)
    (folder / "build").mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    done = subprocess.run([sys.executable, "-c", block], cwd=folder, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def pixels(name: str, count: int) -> np.ndarray:
    with gzip.open(MNIST / f"{name}-images-idx3-ubyte.gz") as file:
        file.read(16)
        return np.frombuffer(file.read(count * 784), np.uint8).reshape(count, 28, 28)


def classes(name: str, count: int) -> np.ndarray:
    with gzip.open(MNIST / f"{name}-labels-idx1-ubyte.gz") as file:
        file.read(8)
        return np.frombuffer(file.read(count), np.uint8)


def write_tiny_model(path: Path, context: int = 64, width: int = 16, inner: int = 32) -> None:
    """A checkpoint of llama2.c, and its tokenizer beside it."""
    blocks, heads, kv_heads = 2, 4, 2
    random = np.random.default_rng(1)

    def numbers(count: int, mean: float, spread: float) -> bytes:
        return random.normal(mean, spread, count).astype("<f4").tobytes()

    head = struct.pack("<7i", width, inner, blocks, heads, kv_heads, VOCABULARY, context)
    matrix = width * width
    path.write_bytes(
        head
        + numbers(VOCABULARY * width, 0, 1)
        + numbers(blocks * width, 1, 0.1)
        + numbers(blocks * (2 * matrix + 2 * matrix * kv_heads // heads), 0, 0.3)
        + numbers(blocks * width, 1, 0.1)
        + numbers(3 * blocks * width * inner, 0, 0.3)
        + numbers(width, 1, 0.1)
        + numbers(context * width // heads, 0, 1)
    )
    names = ["<unk>", "\n<s>\n", "\n</s>\n", *(f"<0x{i:02X}>" for i in range(256)), " "]
    pieces = [struct.pack("<fi", 0, len(name)) + name.encode() for name in names]
    path.with_suffix(".tokenizer").write_bytes(struct.pack("<i", 8) + b"".join(pieces))


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def _key(name: str, kind: int, value: bytes) -> bytes:
    return _text(name) + struct.pack("<i", kind) + value


def gguf_text(name: str, value: str) -> bytes:
    """A key of a GGUF file."""
    return _key(name, 8, _text(value))


def gguf_number(name: str, value: float) -> bytes:
    """A key of a GGUF file."""
    return _key(name, 6, struct.pack("<f", value))


def write_gguf(path: Path, keys: list[bytes], tensors: dict[str, np.ndarray]) -> None:
    """A GGUF file of float32; the first extent of an array is the innermost one."""
    infos, data = b"", b""
    for name, values in tensors.items():
        shape = values.shape
        infos += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        infos += struct.pack("<IQ", 0, len(data))
        data += values.astype("<f4").tobytes()
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + infos
    path.write_bytes(head + bytes(-len(head) % 32) + data)


def write_tiny_gguf(
    path: Path,
    context: int = 64,
    width: int = 64,
    words: tuple[str, ...] = (),
    more_keys: tuple[bytes, ...] = (),
) -> None:
    """A GGUF file of a llama of two blocks, whose tokens are bytes and words; rows have `width`
    weights."""
    vocabulary, random = 259 + len(words), np.random.default_rng(2)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *words]
    kinds = [2, 3, 3, *(256 * [6]), *(len(words) * [1])]
    sizes = {"block_count": 2, "context_length": context, "embedding_length": width,
             "feed_forward_length": width, "attention.head_count": 4,
             "attention.head_count_kv": 4}  # fmt: skip
    name = "tokenizer.ggml."
    count = struct.pack("<Q", vocabulary)
    keys = [
        gguf_text("general.architecture", "llama"),
        *(_key(f"llama.{each}", 4, struct.pack("<I", size)) for each, size in sizes.items()),
        gguf_number("llama.attention.layer_norm_rms_epsilon", 1e-5),
        gguf_text(name + "model", "llama"),
        _key(name + "tokens", 9, struct.pack("<i", 8) + count + b"".join(map(_text, tokens))),
        _key(name + "scores", 9, struct.pack("<i", 6) + count + bytes(4 * vocabulary)),
        _key(name + "token_type", 9,
             struct.pack("<i", 5) + count + struct.pack(f"<{vocabulary}i", *kinds)),
    ]  # fmt: skip
    keys += more_keys
    matrices = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd": (width, vocabulary), "output_norm": (width,)
    }  # fmt: skip
    for block in range(2):
        shapes |= {f"blk.{block}.{each}": (width, width) for each in matrices}
        shapes |= {f"blk.{block}.{each}_norm": (width,) for each in ("attn", "ffn")}
    write_gguf(path, keys, {each + ".weight": random.normal(len(shape) % 2, 0.3, shape)
                            for each, shape in shapes.items()})


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


@pytest.fixture(scope="session")
def libtorch() -> None:
    """Skips where the module that trains cannot be loaded."""
    try:
        training_module("training")
    except NotImplementedError as error:
        pytest.skip(str(error))


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
