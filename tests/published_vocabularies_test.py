#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published vocabularies give texts the tokens that llama.cpp expects.

usage: published_vocabularies_test.py TOKEN_IDS

TOKEN_IDS is the program of token_ids.cc. llama.cpp's sources have ggml-vocab-*.gguf, *.gguf.inp (texts)
and *.gguf.out (their tokens). Skips with exit code 77 without them (scripts/peers.sh).
"""
import json
import subprocess
import sys

from python_test import llama_cpp, run_checks


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
    files = [path for path in sorted((llama_cpp() / "models").glob("ggml-vocab-*.gguf"))
             if path.with_name(path.name + ".inp").exists()]
    assert files
    sys.exit(run_checks([(path.name, lambda _, path=path: check(program, path)) for path in files]))


if __name__ == "__main__":
    main(*sys.argv[1:])
