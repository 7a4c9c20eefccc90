#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converses with a language model: a line is a message, Ctrl-C ends an answer.

Usage: chat.py model.gguf [--tokenizer FILE] [--template NAME] [--system TEXT]
"""

import argparse
import sys

import halftone as ht


def main() -> int:
    parser = argparse.ArgumentParser(description="Converse with a language model")
    parser.add_argument("model")
    parser.add_argument("--tokenizer", help="of a model of llama2.c")
    parser.add_argument("--template", help="how conversations are written, such as chatml")
    parser.add_argument("--system", help="what the model is told first")
    options = parser.parse_args()
    try:
        model = ht.LanguageModel.open(options.model, tokenizer=options.tokenizer)
        chat = model.chat(system=options.system, template=options.template, max_tokens=200)
        for message in sys.stdin:
            answer(chat, message.rstrip("\n"))
    except (OSError, ValueError, NotImplementedError) as error:
        print(f"chat: {error}", file=sys.stderr)
        return 1
    return 0


def answer(chat: ht.Chat, message: str) -> None:
    try:
        chat.answer(message, on_text=lambda text: print(text, end="", flush=True))
    except KeyboardInterrupt:
        pass
    print()


if __name__ == "__main__":
    sys.exit(main())
