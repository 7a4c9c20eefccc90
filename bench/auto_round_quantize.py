#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantizes a folder of Hugging Face by auto-round, as a peer of `halftone quantize --decoded`.

Usage: auto_round_quantize.py FOLDER SCHEME OUTPUT --text TEXT [options]

SCHEME is one of auto-round, such as gguf:q2_k_s. OUTPUT is a folder with the numbers that its codes
represent; embedding and head stay as they are. It learns from windows of 512 tokens of the text.
Needs auto-round, torch and transformers.

Options:
  --samples N     windows (40)
  --iterations N  gradient steps of a block (200, as auto-round; 0: rounds to the nearest)
  --batch N       windows of a step (8, as auto-round)
  --threads N     (2)
"""

import argparse
import pathlib
import time

import auto_round
import torch
import transformers

TOKENS = 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("scheme")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(arguments.folder,
                                                              dtype=torch.float32)
    ids = torch.tensor(tokenizer(arguments.text.read_text())["input_ids"])
    windows = ids[:len(ids) // TOKENS * TOKENS].reshape(-1, TOKENS)[:arguments.samples]
    begin, begin_cpu = time.time(), time.process_time()
    tuner = auto_round.AutoRound(
        model, tokenizer, scheme=arguments.scheme, iters=arguments.iterations,
        nsamples=len(windows), seqlen=TOKENS, batch_size=arguments.batch,
        dataset=[window[None] for window in windows], device_map="cpu", amp=False,
        enable_torch_compile=False)
    tuner.quantize_and_save(str(arguments.output), format="fake")
    print(f"{arguments.output}: {time.time() - begin:.0f} s, "
          f"{time.process_time() - begin_cpu:.0f} s of CPU")


if __name__ == "__main__":
    main()
