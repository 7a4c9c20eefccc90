#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small language model, to measure quantizers on one that nobody published.

Usage: train_language_model.py FOLDER TEXT [TEXT ...] [options]

Writes a folder of Hugging Face: a model of the architecture llama with 6 blocks of 256 channels, 4
heads that share 2 of keys and values, and a tokenizer of 2,048 byte pairs learned from the same
texts. The last tenth of each text is not learned; it is written to FOLDER/held_out.txt, the tenth
before it to FOLDER/calibration.txt. Needs torch, transformers and tokenizers. Same seed, same
model, on one machine.

Options:
  --passes N    over the texts (3)
  --threads N   (1)
  --seed N      (0)
"""

import argparse
import pathlib
import time

import tokenizers
import torch
import transformers

WIDTH = 256
CONTEXT = 256
BATCH = 16
VOCABULARY = 2048
BEGIN = "<|endoftext|>"
WARM_UP = 0.05  # of all steps
RATE = 2e-3


def split(paths: list[pathlib.Path]) -> tuple[str, str, str]:
    """What is learned, calibration, held out."""
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for path in paths:
        text = path.read_text()
        marks = [0, len(text) * 8 // 10, len(text) * 9 // 10, len(text)]
        for part, begin, end in zip(parts, marks, marks[1:]):
            part.append(text[begin:end])
    return tuple("\n".join(part) for part in parts)


def make_tokenizer(text: str) -> transformers.PreTrainedTokenizerFast:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[BEGIN],
                                             initial_alphabet=alphabet)
    tokenizer.train_from_iterator([text], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BEGIN,
                                                eos_token=BEGIN)


def make_model() -> transformers.LlamaForCausalLM:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048,
        tie_word_embeddings=True, bos_token_id=0, eos_token_id=0))


def rate_at(share: float) -> float:
    return min(share / WARM_UP, max(0.05, 1 - share))


def train(model: transformers.LlamaForCausalLM, ids: torch.Tensor, passes: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    rows = ids[:len(ids) // CONTEXT * CONTEXT].reshape(-1, CONTEXT)
    steps = passes * len(rows) // BATCH
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: rate_at((s + 1) / steps))
    begin = time.time()
    for step in range(steps):
        batch = rows[torch.randint(len(rows), (BATCH,))]
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 50 == 0 or step + 1 == steps:
            print(f"step {step + 1} of {steps}, loss {loss.item():.3f}, "
                  f"{time.time() - begin:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("texts", type=pathlib.Path, nargs="+")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    learned, calibration, held_out = split(arguments.texts)
    tokenizer = make_tokenizer(learned)
    model = make_model()
    train(model, torch.tensor(tokenizer(learned)["input_ids"]), arguments.passes)
    model.save_pretrained(arguments.folder)
    tokenizer.save_pretrained(arguments.folder)
    (arguments.folder / "calibration.txt").write_text(calibration)
    (arguments.folder / "held_out.txt").write_text(held_out)


if __name__ == "__main__":
    main()
