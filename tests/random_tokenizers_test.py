#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of random parts give lines the tokens and texts of the package tokenizers, or are refused.

usage: random_tokenizers_test.py TOKEN_IDS

TOKEN_IDS is the program of token_ids.cc. Each tokenizer has random normalizers, pre-tokenizers, a
model, a post-processor, a decoder and added tokens with random flags, and is trained on a few lines.
The environment variable HALFTONE_TOKENIZERS names how many there are (20), HALFTONE_FIRST the seed of
the first (0). Skips with exit code 77 if the package is absent: pip install numpy tokenizers
"""
import base64
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

from python_test import skip

try:
    from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                            pre_tokenizers, processors, trainers)
except ImportError as error:
    skip(f"{error}; pip install numpy tokenizers")

NUM_LINES = 200
MARKS = ["<s>", "</s>", "<|im_end|>", "<x>", "[MASK]", "  ", "ab", "É", " <y>"]
WORDS = ["the", "The", "cat", "Straße", "naïve", "café", "cafe\u0301", "ÀÉÎ", "中文", "日本語", "한국어",
         "привет", "İstanbul", "ﬁne", "①②", "x²", "½", "it's", "WE'LL", "don't", "12", "3456", "७८",
         "Ⅳ", "abc", "hello_world", "a-b", "e.g.", "...", "!?", "«q»", "$5", "+", "`x`", "(", ")",
         "😀", "👩‍🚀", "🇨🇭", "\u200b", "\ufeff", "\u0301", "<s>", "</s>", "<|im_end|>", "<x>",
         "[MASK]", "ab", "<y>", "É", "▁", "Ġ", "##", "</w>", "fi\u0300", "\x01", "\x7f", "가"]
GAPS = [" "] * 8 + ["", "", "", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "\u2028"]
PATTERNS = [Regex(r"\s+"), Regex(r"\p{L}+|\p{N}"), Regex(r"[^\s\p{L}\p{N}]+"), Regex(r"\w+"),
            Regex(r"\bc"), Regex(r"^\S+|\S+$"), Regex(r"(?i)the|CAT"), Regex(r"\h{2}"), Regex(r"x*"),
            Regex(r"\d{1,3}(?=(\d{3})*\b)"), Regex(r"a++|\p{Han}|.\Z"), Regex(r"(?m)c.t"),
            Regex(r"\p{Lu}?\p{Ll}+|\p{M}"), " ", "a", "..", "<", "the", ""]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def line_of(rng):
    return "".join(rng.choice(WORDS) + rng.choice(GAPS) for _ in range(rng.randint(0, 12)))


def charsmap():
    """A map of SentencePiece, as darts-clone lays out its trie: A to a, ligatures, ① to 1."""
    texts = {"A": "a", "ﬁ": "fi", "①": "1", "\u3000": " ", "\u00a0": " ", "e\u0301": "é", "İ": "i",
             "\u200b": ""}
    contents, offsets = bytearray(), {}
    for key, text in texts.items():
        offsets[key.encode()] = len(contents)
        contents += text.encode() + b"\0"
    units = {}
    used = set()

    def place(node, prefix):
        labels = sorted({key[len(prefix)] for key in offsets
                         if key.startswith(prefix) and len(key) > len(prefix)})
        all_labels = ([0] if prefix in offsets else []) + labels
        base = next(b for b in range(1, 1 << 20)
                    if all((b ^ label) not in used and (b ^ label) != 0 for label in all_labels)
                    and b not in bases and (node ^ b) < 1 << 21)
        bases.add(base)
        used.update(base ^ label for label in all_labels)
        units[node] = units.get(node, 0) | ((node ^ base) << 10)
        if prefix in offsets:
            units[node] |= 1 << 8
            units[base] = offsets[prefix] | 1 << 31
        for label in labels:
            units[base ^ label] = label
        for label in labels:
            place(base ^ label, prefix + bytes([label]))

    bases = set()
    place(0, b"")
    size = (max(units) // 256 + 1) * 256
    array = b"".join(struct.pack("<I", units.get(i, 1 << 31)) for i in range(size))
    return base64.b64encode(struct.pack("<I", len(array)) + array + bytes(contents)).decode()


def normalizer_of(rng):
    return rng.choice([
        normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase,
        lambda: normalizers.Strip(rng.random() < 0.7, rng.random() < 0.7), normalizers.StripAccents,
        lambda: normalizers.Replace(rng.choice([" ", "a", "the", "  "]), rng.choice(["▁", "", "b "])),
        lambda: normalizers.Replace(rng.choice(PATTERNS), rng.choice(["▁", "", " ", "xy"])),
        lambda: normalizers.Prepend(rng.choice(["▁", " ", "x"])),
        lambda: normalizers.BertNormalizer(*(rng.random() < 0.5 for _ in range(2)),
                                           rng.choice([None, True, False]), rng.random() < 0.5),
        normalizers.Nmt, normalizers.ByteLevel,
        lambda: normalizers.Precompiled(base64.b64decode(charsmap()))])()


def pre_tokenizer_of(rng):
    return rng.choice([
        lambda: pre_tokenizers.ByteLevel(rng.random() < 0.5, use_regex=rng.random() < 0.5),
        lambda: pre_tokenizers.Metaspace("▁", rng.choice(["always", "first", "never"]),
                                         rng.random() < 0.5),
        pre_tokenizers.Whitespace, pre_tokenizers.WhitespaceSplit,
        lambda: pre_tokenizers.Punctuation(rng.choice(BEHAVIORS)),
        lambda: pre_tokenizers.Digits(rng.random() < 0.5),
        lambda: pre_tokenizers.Split(rng.choice(PATTERNS), rng.choice(BEHAVIORS),
                                     rng.random() < 0.3),
        pre_tokenizers.BertPreTokenizer, lambda: pre_tokenizers.CharDelimiterSplit(" "),
        lambda: pre_tokenizers.FixedLength(rng.randint(1, 6))])()


def sequence_of(rng, kind, part, most):
    parts = [part(rng) for _ in range(rng.randint(0, most))]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 and rng.random() < 0.7 else kind(parts)


def train(rng, tokenizer, lines):
    kind = rng.choice(["BPE", "BPE", "BPE", "Unigram", "Unigram", "WordPiece", "WordLevel"])
    special = ["<unk>", "<s>", "</s>"] if rng.random() < 0.8 else ["<s>", "</s>", "<unk>"]
    size = rng.randint(120, 400)
    if kind == "BPE":
        more = {}
        if rng.random() < 0.2:
            more["continuing_subword_prefix"] = "##"
        if rng.random() < 0.2:
            more["end_of_word_suffix"] = "</w>"
        options = {"unk_token": rng.choice(["<unk>", None]), "fuse_unk": rng.random() < 0.5,
                   "byte_fallback": rng.random() < 0.4, "ignore_merges": rng.random() < 0.3}
        tokenizer.model = models.BPE(**options, **more)
        if options["byte_fallback"]:
            special = special + [f"<0x{i:02X}>" for i in range(256)][:rng.choice([256, 256, 200])]
        alphabet = pre_tokenizers.ByteLevel.alphabet() if rng.random() < 0.5 else []
        tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
            vocab_size=size + len(special), show_progress=False, special_tokens=special,
            limit_alphabet=rng.choice([40, 1000]), initial_alphabet=alphabet, **more))
        stored = json.loads(tokenizer.to_str())
        stored["added_tokens"] = [token for token in stored["added_tokens"]
                                  if not token["content"].startswith("<0x")]
        return Tokenizer.from_str(json.dumps(stored))
    elif kind == "Unigram":
        tokenizer.model = models.Unigram()
        tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(
            vocab_size=size, show_progress=False, special_tokens=special, unk_token="<unk>"))
        stored = json.loads(tokenizer.to_str())
        if rng.random() < 0.4:
            stored["model"]["vocab"] += [[f"<0x{i:02X}>", -30.0] for i in range(256)]
            stored["model"]["byte_fallback"] = True
        return Tokenizer.from_str(json.dumps(stored))
    elif kind == "WordPiece":
        tokenizer.model = models.WordPiece(unk_token="<unk>",
                                           max_input_chars_per_word=rng.choice([5, 100]))
        tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
            vocab_size=size, show_progress=False, special_tokens=special))
    else:
        tokenizer.model = models.WordLevel(unk_token="<unk>")
        tokenizer.train_from_iterator(lines, trainers.WordLevelTrainer(
            vocab_size=size, show_progress=False, special_tokens=special))
    return tokenizer


def decoder_of(rng, tokenizer):
    if "ByteLevel" in json.dumps(json.loads(tokenizer.to_str())["pre_tokenizer"]):
        return decoders.ByteLevel()
    if json.loads(tokenizer.to_str())["model"].get("end_of_word_suffix"):
        return decoders.BPEDecoder("</w>")
    return rng.choice([
        lambda: decoders.Metaspace("▁", rng.choice(["always", "first", "never"])),
        lambda: decoders.WordPiece("##", rng.random() < 0.5),
        lambda: decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
        lambda: decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse()])])()


def post_processor_of(rng, tokenizer):
    ids = {text: tokenizer.token_to_id(text) for text in ("<s>", "</s>")}
    pairs = list(ids.items())
    return rng.choice([
        lambda: None, lambda: processors.ByteLevel(),
        lambda: processors.TemplateProcessing("<s> $A", None, pairs),
        lambda: processors.TemplateProcessing("<s> </s> $A </s>", None, pairs),
        lambda: processors.RobertaProcessing(pairs[1], pairs[0]),
        lambda: processors.Sequence([processors.BertProcessing(pairs[1], pairs[0]),
                                     processors.TemplateProcessing("$A <s>", None, pairs)])])()


def tokenizer_of(rng, lines):
    tokenizer = Tokenizer(models.BPE())
    normalizer = sequence_of(rng, normalizers.Sequence, normalizer_of, 3)
    pre_tokenizer = sequence_of(rng, pre_tokenizers.Sequence, pre_tokenizer_of, 3)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer = train(rng, tokenizer, lines)
    for text in rng.sample(MARKS, rng.randint(0, 5)):
        token = AddedToken(text, single_word=rng.random() < 0.3, lstrip=rng.random() < 0.3,
                           rstrip=rng.random() < 0.3, normalized=rng.random() < 0.4,
                           special=rng.random() < 0.5)
        if tokenizer.normalizer is not None and not tokenizer.normalizer.normalize_str(text):
            continue  # the package finds it without end
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    ids = list(tokenizer.get_vocab().values())
    if len(ids) != len(set(ids)):
        raise ValueError("two tokens have one id")
    post_processor = post_processor_of(rng, tokenizer)
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    tokenizer.decoder = decoder_of(rng, tokenizer)
    return tokenizer


def message_of(error):
    if isinstance(error, (KeyboardInterrupt, SystemExit, AssertionError)):
        raise error
    return str(error)


def answer_or_none(call):
    """The answer of the package; nothing where it has none."""
    try:
        return call()
    except BaseException as error:  # without an unknown token, or a panic in Rust
        message_of(error)
        return None


def compare(program, path, tokenizer, lines):
    """Nothing, or what differs."""
    expected = [(line, answer_or_none(lambda line=line: tokenizer.encode(line).ids))
                for line in lines]
    expected = [(line, ids) for line, ids in expected if ids is not None]
    given = "".join(json.dumps(line) + "\n" for line, _ in expected)
    # The package shows those by their normal texts, control tokens too.
    changed = {i for i, token in tokenizer.get_added_tokens_decoder().items()
               if tokenizer.normalizer and token.normalized
               and tokenizer.normalizer.normalize_str(token.content) != token.content}
    done = subprocess.run([program, path, "special"], input=given, capture_output=True, text=True,
                          encoding="utf-8", timeout=300)
    if done.returncode != 0:
        return done.stderr.strip()
    for (line, ids), answer in zip(expected, done.stdout.splitlines(), strict=True):
        found, text = json.loads(answer)
        if found != ids:
            return f"DIFFERS {line!r}: found {found}, expected {ids}"
        right = answer_or_none(lambda: tokenizer.decode(ids))
        if changed & set(ids) or right is None or "\ufffd" in right:
            continue
        if text.rstrip() != right.rstrip():
            return f"DIFFERS {line!r}: the text of {ids}: found {text!r}, expected {right!r}"
    return ""


def main(program):
    count = int(os.environ.get("HALFTONE_TOKENIZERS", "20"))
    first = int(os.environ.get("HALFTONE_FIRST", "0"))
    equal = refused = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokenizer.json"
        for seed in range(first, first + count):
            rng = random.Random(seed)
            lines = [line_of(rng) for _ in range(NUM_LINES)]
            try:
                tokenizer = tokenizer_of(rng, lines[:100])
            except BaseException as error:  # parts that the package itself refuses
                print(f"{seed}: not made: {message_of(error)}")
                continue
            tokenizer.save(str(path))
            found = compare(program, path, Tokenizer.from_file(str(path)), lines)
            equal += not found
            wrong += found.startswith("DIFFERS") or bool(found and "tokenizer.json: " not in found)
            refused += found.startswith("tokenizer.json: ")
            if found:
                print(f"{seed}: {found[:600]}", flush=True)
    print(f"{equal} tokenizers equal, {refused} refused, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
