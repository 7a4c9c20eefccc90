#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published vocabularies give texts the tokens that llama.cpp expects.

usage: published_vocabularies_test.py TOKEN_IDS

TOKEN_IDS is the program of token_ids.cc. The environment variable HALFTONE_VOCABULARIES names a folder
with ggml-vocab-*.gguf, *.gguf.inp (texts) and *.gguf.out (their tokens), such as
vendor/llama.cpp/models in the source package of llama-cpp-python. Skips with exit code 77 without it.
"""
import json
import os
import pathlib
import subprocess
import sys

from python_test import run_checks, skip


def check(program, path):
    texts = path.with_name(path.name + ".inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = path.with_name(path.name + ".out").read_text(encoding="utf-8").split("\n")
    expected = [[int(token) for token in line.split()] for line in lines]
    given = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([program, path], input=given, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    found = [[int(token) for token in line.split()[1:]] for line in done.stdout.splitlines()]
    assert len(found) == len(texts)
    wrong = [text for text, ids, right in zip(texts, found, expected) if ids != right]
    first = f"; the first: {wrong[0][:60]!r}" if wrong else ""
    yield f"{path.name}: {len(texts)} texts, {len(wrong)} differ{first}", not wrong


def main(program):
    folder = pathlib.Path(os.environ.get("HALFTONE_VOCABULARIES", ""))
    files = [path for path in sorted(folder.glob("ggml-vocab-*.gguf"))
             if path.with_name(path.name + ".inp").exists()]
    if "HALFTONE_VOCABULARIES" not in os.environ or not files:
        skip("HALFTONE_VOCABULARIES names no folder with ggml-vocab-*.gguf and *.gguf.inp")
    sys.exit(run_checks([(path.name, lambda _, path=path: check(program, path)) for path in files]))


if __name__ == "__main__":
    main(*sys.argv[1:])
