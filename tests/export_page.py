#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of docs/export.md in order, in a temporary folder.

Python blocks run in this process and share their variables. Shell blocks run with the folder of the
program first in PATH. The words after "python" or "sh" are modules that a block needs. Blocks whose
modules are absent are skipped; if that leaves none, the exit code is 77.

usage: export_page.py PAGE PROGRAM
"""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
BLOCK = re.compile(r"^```(python|sh)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALWAYS = ["numpy", "torch", "onnx", "onnxscript"]


def absent(modules):
    return [name for name in modules if importlib.util.find_spec(name) is None]


def run_block(language, text, line, variables):
    if language == "sh":
        return subprocess.run(["bash", "-euo", "pipefail", "-c", text]).returncode == 0
    # The newlines give errors the line numbers of the page.
    exec(compile("\n" * line + text, sys.argv[1], "exec"), variables)
    return True


def main():
    missing = absent(ALWAYS)
    if missing:
        print(f"skipped: the commands need {', '.join(missing)} (pip install {' '.join(missing)})")
        return SKIPPED
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    program = os.path.abspath(sys.argv[2])
    os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
    variables = {"__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for match in BLOCK.finditer(page):
            language, modules, text = match[1], match[2].split(), match[3]
            line = page.count("\n", 0, match.start(3))
            if absent(modules):
                print(f"line {line}: skipped, as {', '.join(absent(modules))} is absent")
                continue
            if not run_block(language, text, line, variables):
                print(f"{sys.argv[1]}:{line}: the commands of this block fail")
                return 1
            count += 1
        os.chdir("/")
    print(f"{count} blocks ran")
    return 0 if count > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
