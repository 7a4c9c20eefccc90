#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds figures in the text of pages that no command prints, neither of the page nor of a page to
which the paragraph links.

A figure is a percentage with decimals, a number of bytes or one with "~". What commands print is
what page_commands.py compares: tables and `text` blocks behind `sh` blocks.

usage: page_figures.py PAGE ...
"""
import re
import sys
from pathlib import Path

import page_commands

LINK = re.compile(r"\]\(([^)#\s]+\.md)[^)]*\)")
# In a list, as in "97.67, 97.32 or 95.72 %", the unit stands behind the last number.
LIST = re.compile(r"((?:\d+\.\d+(?:, | and | or | to ))*\d+\.\d+) %")
BYTES = re.compile(r"(\d[\d,]*\d) (?:bytes|B)\b")
ABOUT = re.compile(r"~([\d,.]*\d)")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def numbers(text):
    return {number.replace(",", "") for number in NUMBER.findall(text)}


def split(text):
    """The output that the page shows of its commands, and the text without blocks and such output."""
    printed, rest, end, shell = "", "", 0, False
    for block in page_commands.BLOCK.finditer(text):
        between = text[end:block.start()]
        table = page_commands.TABLE.match(between) if shell else None
        printed += table[1] if table else ""
        rest += between[table.end():] if table else between
        if shell and block[1] == "text":
            printed += block[3]
        shell, end = block[1] == "sh", block.end()
    table = page_commands.TABLE.match(text, end) if shell else None
    return printed + (table[1] if table else ""), rest + text[table.end() if table else end:]


def figures(paragraph):
    text = " ".join(paragraph.replace("*", "").split())
    found = [number for group in LIST.findall(text) for number in re.findall(r"\d+\.\d+", group)]
    return found + BYTES.findall(text) + ABOUT.findall(text)


def unproved(page):
    printed, text = split(page.read_text(encoding="utf-8"))
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\|)", text):
        proved = numbers(printed)
        for link in LINK.findall(paragraph):
            other = page.parent / link
            proved |= numbers(split(other.read_text(encoding="utf-8"))[0]) if other.is_file() else set()
        yield from (figure for figure in figures(paragraph) if figure.replace(",", "") not in proved)


def main():
    wrong = 0
    for name in sys.argv[1:]:
        for figure in unproved(Path(name)):
            print(f"{name}: no command prints {figure}, here or where the paragraph links to")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
