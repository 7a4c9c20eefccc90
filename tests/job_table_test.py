#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every name in docs/jobs.md exists, and every verb and public function of Python has a row.

Usage: job_table_test.py HALFTONE
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of Python, those that are parts of a job that has a row.
PARTS = {"encode", "decode", "levels", "accelerators", "accelerator_text"}


def columns() -> dict[str, set[str]]:
    """The names in backticks, by the head of their column."""
    names: dict[str, set[str]] = {}
    heads: list[str] = []
    for line in (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| job |"):
            heads = cells
        elif line.startswith("| ") and heads:
            assert len(cells) == len(heads), line
            for head, cell in zip(heads[1:], cells[1:]):
                names.setdefault(head, set()).update(re.findall(r"`([^`]+)`", cell))
    return names


def main(halftone: str) -> None:
    help_text = subprocess.run([halftone, "--help"], check=True, capture_output=True, text=True).stdout
    verbs = set(re.findall(r"^  ([a-z]+) {2,}[A-Z]", help_text.split("Subcommands:")[1], re.M))
    headers = "".join(path.read_text() for path in sorted((ROOT / "include" / "halftone").rglob("*.hpp")))
    shown = (ROOT / "halftone" / "library" / "abi.txt").read_text()
    package = (ROOT / "python" / "halftone" / "__init__.py").read_text()
    public = set(re.findall(r'^    "(\w+)",$', package.split("__all__ = [")[1], re.M))
    there = {
        "command": verbs,
        "C++": set(re.findall(r"\b(\w+)\(", headers)) | set(re.findall(r"class (?:\w+ )?(\w+)", headers)),
        "C": set(re.findall(r"^shows (\w+)$", shown, re.M)),
        "Python": public,
    }
    for head, names in columns().items():
        assert names, head
        assert names <= there[head], f"{head}: docs/jobs.md names {sorted(names - there[head])}"
        print(f"{head}: {len(names)} names exist")
    rows = columns()
    assert verbs == rows["command"], f"verbs without a row: {sorted(verbs - rows['command'])}"
    functions = {name for name in public if name[0].islower()} - PARTS
    assert functions <= rows["Python"], f"Python without a row: {sorted(functions - rows['Python'])}"


if __name__ == "__main__":
    main(sys.argv[1])
