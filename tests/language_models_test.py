#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiny language models of every architecture have the logits that transformers gives them.

Usage: language_models_test.py LOGITS DATA

LOGITS is the program of logits.cc, DATA a folder with models/stories260K.bin. The models of
tiny_language_models.py are read from their Hugging Face folders and from GGUF files, and computed by
lm::Decoder, by the reference evaluation and as whole samples. Skips with exit code 77 if a package
is absent: pip install numpy torch transformers gguf
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from python_test import skip

try:
    import numpy as np
    import tiny_language_models as tiny
except ImportError as error:
    skip(f"{error}; pip install numpy torch transformers gguf")

# Logits are of order 1, the arithmetic float32, the order of sums another.
TOLERANCE = 1e-4
FORMS = ["reference", "decoder", "samples"]


def logits_of(program: str, model: pathlib.Path, form: str, context: int, tokens: str) -> np.ndarray:
    """The logits of all positions. Fails if a tensor of the model is not used."""
    result = subprocess.run([program, model, form, str(context)], input=tokens.encode(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 0, f"{model} ({form}): {result.stderr.decode()}"
    assert not result.stderr, f"{model}: {result.stderr.decode()}"
    return np.frombuffer(result.stdout, dtype=np.float32).reshape(len(tokens.split()), -1)


def test_model(program: str, folder: pathlib.Path, name: str) -> None:
    tokens = (folder / f"{name}.tokens").read_text(encoding="utf-8")
    expected = np.frombuffer((folder / f"{name}.logits").read_bytes(), dtype=np.float32)
    expected = expected.reshape(tiny.TOKENS, -1)
    differences = {}
    for model in (folder / name, folder / f"{name}.gguf"):
        for form in FORMS:
            found = logits_of(program, model, form, tiny.CONTEXT, tokens)
            kind = "gguf" if model.suffix else "folder"
            differences[f"{kind} {form}"] = float(np.abs(found - expected).max())
    print(f"{name}: logits up to {np.abs(expected).max():.2f}, differences up to "
          + ", ".join(f"{value:.1e} ({key})" for key, value in differences.items()), flush=True)
    worst = max(differences.values())
    assert worst <= TOLERANCE, f"{name}: {worst} is above {TOLERANCE}"


def test_greedy_story(program: str, file: pathlib.Path) -> None:
    """The tokens that llama2.c's own program gives greedily: "Once upon a time, there was a little
    girl named Lily. She loved to play outside in the park." begins with these."""
    tokens = [1]
    for _ in range(20):
        text = " ".join(map(str, tokens))
        tokens.append(int(logits_of(program, file, "decoder", 64, text)[-1].argmax()))
    print("stories260K:", tokens)
    assert tokens == STORY


STORY: list[int] = []


def main(program: str, data: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in tiny.write_models(folder):
            test_model(program, folder, model)
    story = pathlib.Path(os.environ.get("HALFTONE_DATA", data)) / "models" / "stories260K.bin"
    if story.exists():
        test_greedy_story(program, story)


if __name__ == "__main__":
    main(*sys.argv[1:])
