#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines have the tokens that the packages tokenizers and sentencepiece give them.

Usage: tokenizers_test.py TOKEN_IDS DATA

TOKEN_IDS is the program of token_ids.cc, DATA a folder with text/. Trains small tokenizers with the
splitting rules of GPT-2, Llama 3, Qwen 2 and SmolLM, and two of SentencePiece; writes them as GGUF
files; and compares 10,000 lines of mixed scripts. The environment variable HALFTONE_SMOLLM2 may name
a GGUF file of SmolLM2, whose own tokenizer is compared then too. Skips with exit code 77 if a package
is absent: pip install numpy gguf tokenizers sentencepiece
"""

import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from python_test import skip

try:
    import gguf
    import sentencepiece
    from tokenizers import (Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                            trainers)
except ImportError as error:
    skip(f"{error}; pip install numpy gguf tokenizers sentencepiece")

NUM_LINES = 10_000
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
RULES = {
    "gpt-2": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
    "llama-bpe": [
        pre_tokenizers.Split(Regex(
            CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
    "qwen2": [
        pre_tokenizers.Split(Regex(
            CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
    "smollm": [pre_tokenizers.Digits(individual_digits=True),
               pre_tokenizers.ByteLevel(add_prefix_space=False)],
}
# Ranges of code points that lines mix.
SCRIPTS = [(0x20, 0x7E), (0x20, 0x7E), (0xA1, 0x17F), (0x391, 0x3C9), (0x410, 0x44F),
           (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939), (0xE01, 0xE2E), (0x3041, 0x3096),
           (0x4E00, 0x4FFF), (0xAC00, 0xAFFF), (0x1F600, 0x1F64F), (0x300, 0x36F), (0x660, 0x669),
           (0x2160, 0x2188), (0x1D400, 0x1D4FF)]
SPACES = [" ", "  ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "   ", "\u2009", "\u0085"]


def mixed_lines(count: int) -> list[str]:
    """Words of one script each, with white space, digits and contractions between."""
    rng = random.Random(1)
    lines = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(0, 12)):
            low, high = rng.choice(SCRIPTS)
            word = "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 8)))
            parts.append(rng.choice([word, word, str(rng.randint(0, 10**9)), "it's", "WE'LL", "x'd"]))
            parts.append(rng.choice(SPACES + [" ", " ", "", "!", "..."]))
        lines.append("".join(parts))
    return lines


def ids_of(program: str, path: pathlib.Path, lines: list[str]) -> tuple[list[list[int]], int]:
    """The tokens of lines, and how many have another text."""
    given = "".join(json.dumps(line) + "\n" for line in lines)
    result = subprocess.run([program, path], input=given, text=True, encoding="utf-8", check=True,
                            stdout=subprocess.PIPE).stdout.splitlines()
    words = [line.split() for line in result]
    return [[int(word) for word in line[1:]] for line in words], sum(w[0] != "same" for w in words)


def compare(name: str, found: list[list[int]], expected: list[list[int]], lines: list[str]) -> None:
    assert len(found) == len(expected)
    different = [i for i, ids in enumerate(found) if ids != expected[i]]
    if different:
        i = different[0]
        raise AssertionError(f"{name}: {len(different)} lines differ; the first: {lines[i]!r}\n"
                             f"found {found[i]}\nexpected {expected[i]}")
    print(f"{name}: {len(lines)} lines equal")


def write_byte_level(path: pathlib.Path, rule: str, tokens: list[str], merges: list[str]) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
    writer.add_token_merges(merges)
    finish(writer)


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def byte_level(rule: str, model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(RULES[rule])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_byte_level(program: str, folder: pathlib.Path, text: list[str], lines: list[str]) -> None:
    for rule in RULES:
        tokenizer = byte_level(rule, models.BPE(ignore_merges=rule == "llama-bpe"))
        tokenizer.train_from_iterator(text, trainers.BpeTrainer(
            vocab_size=3000, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        stored = json.loads(tokenizer.to_str())["model"]
        tokens = sorted(stored["vocab"], key=stored["vocab"].get)
        merges = [m if isinstance(m, str) else " ".join(m) for m in stored["merges"]]
        path = folder / f"{rule}.gguf"
        write_byte_level(path, rule, tokens, merges)
        expected = [tokenizer.encode(line).ids for line in lines]
        found, changed = ids_of(program, path, lines)
        compare(rule, found, expected, lines)
        assert changed == 0, f"{rule}: the text of {changed} lines is another"
        tokenizer.save(str(folder / "tokenizer.json"))
        found, changed = ids_of(program, folder / "tokenizer.json", lines)
        compare(f"{rule}, tokenizer.json", found, expected, lines)
        assert changed == 0
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.save(str(folder / "tokenizer.json"))
    found, _ = ids_of(program, folder / "tokenizer.json", lines)
    compare("NFC", found, [tokenizer.encode(line).ids for line in lines], lines)


def test_characters(program: str, folder: pathlib.Path, text: list[str], lines: list[str]) -> None:
    """As Llama 2's tokenizer.json: SentencePiece's tokens, merged by rank."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, limit_alphabet=300,
        special_tokens=["<unk>"] + [f"<0x{i:02X}>" for i in range(256)]))
    # SentencePiece's own have every way to merge a token, in the order of its score.
    stored = json.loads(tokenizer.to_str())
    stored["added_tokens"] = []
    made = {"".join(m): i for i, m in reversed(list(enumerate(stored["model"]["merges"])))}
    vocab = stored["model"]["vocab"]
    stored["model"]["merges"] = [
        [word[:i], word[i:]] for word in sorted(made, key=made.get) for i in range(1, len(word))
        if word[:i] in vocab and word[i:] in vocab]
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(stored), encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(path))
    found, _ = ids_of(program, path, lines)
    compare("characters, tokenizer.json", found, [tokenizer.encode(line).ids for line in lines],
            lines)


def test_smollm2(program: str, path: str, lines: list[str]) -> None:
    reader = gguf.GGUFReader(path)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in reader.fields["tokenizer.ggml.merges"].contents()]
    tokenizer = byte_level("smollm", models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    found, changed = ids_of(program, pathlib.Path(path), lines)
    compare("SmolLM2", found, [tokenizer.encode(line).ids for line in lines], lines)
    assert changed == 0, f"SmolLM2: the text of {changed} lines is another"


def test_sentence_piece(program: str, folder: pathlib.Path, text: list[str], lines: list[str],
                        adds_space: bool) -> None:
    name = "sentencepiece, " + ("Llama 2's way" if adds_space else "Gemma's way")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=2000, model_type="bpe",
        byte_fallback=True, character_coverage=0.999, add_dummy_prefix=adds_space,
        remove_extra_whitespaces=False, normalization_rule_name="identity",
        user_defined_symbols=[] if adds_space else ["\n\n", "\u2581\u2581", "\u2581\u2581\u2581"],
        minloglevel=2)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    writer = gguf.GGUFWriter(folder / "pieces.gguf", "llama")
    writer.add_tokenizer_model("llama")
    size = pieces.vocab_size()
    writer.add_token_list([pieces.id_to_piece(i) for i in range(size)])
    writer.add_token_scores([pieces.get_score(i) for i in range(size)])
    writer.add_token_types([kind_of(pieces, i) for i in range(size)])
    writer.add_add_space_prefix(adds_space)
    writer.add_unk_token_id(pieces.unk_id())
    finish(writer)
    # SentencePiece takes U+2581 in a text for a space, and NUL for its end.
    found, _ = ids_of(program, folder / "pieces.gguf", lines)
    compare(name, found, [pieces.encode(line) for line in lines], lines)


def kind_of(pieces: "sentencepiece.SentencePieceProcessor", i: int) -> gguf.TokenType:
    if pieces.is_unknown(i):
        return gguf.TokenType.UNKNOWN
    if pieces.is_control(i):
        return gguf.TokenType.CONTROL
    if pieces.is_byte(i):
        return gguf.TokenType.BYTE
    special = pieces.id_to_piece(i) in ("\n\n", "\u2581\u2581", "\u2581\u2581\u2581")
    return gguf.TokenType.USER_DEFINED if special else gguf.TokenType.NORMAL


def main(program: str, data: str) -> None:
    file = pathlib.Path(os.environ.get("HALFTONE_DATA", data)) / "text" / "wikitext2_valid.txt"
    if not file.exists():
        skip(f"{file} is absent")
    lines = mixed_lines(NUM_LINES)
    text = file.read_text(encoding="utf-8").splitlines()[:1500] + lines[:1500]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_byte_level(program, folder, text, lines)
        test_characters(program, folder, text, lines)
        test_sentence_piece(program, folder, text, lines, True)
        test_sentence_piece(program, folder, text, lines, False)
    if "HALFTONE_SMOLLM2" in os.environ:
        test_smollm2(program, os.environ["HALFTONE_SMOLLM2"], lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
