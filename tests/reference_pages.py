#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares documents with what the program says of itself.

  cli      docs/reference/cli.md has the help of every verb. With HALFTONE_WRITE_REFERENCE in the
           environment it is written instead.
  options  options that documents name exist.
  recipes  docs/reference/recipes.md has the keys that a recipe may have, all of them and no other.
  keys     the pages on descriptions and spaces name every key that these may have.

usage: reference_pages.py cli|options|recipes|keys PROGRAM
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NETWORK = ROOT / "examples/mnist/mnist_mlp_700.onnx"
# Of other programs: CMake, CTest, pip, mpirun, the scripts of this repository.
OTHER_OPTIONS = """--component --static --preset --build --target --workflow --install --no-deps --hostfile --map-by --bind-to
--cflags --libs --variable --prefix --cc --exe --Mdir --top-module --kernels --emulator-tools --row --folder
--systems --find-links --gc-sections --unresolved-symbols --gtest""".split()


def output_of(program, *arguments):
    done = subprocess.run([program, *arguments], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8")
    return done.stdout


def verbs_of(program):
    """The verbs that the program lists, in its order."""
    listed = output_of(program, "--help").split("Subcommands:")[1]
    return re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)


def help_of(program, verb):
    text = output_of(program, verb, "--help")
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def cli_page(program):
    parts = ["# Help of the program",
             "Made from `halftone VERB --help` by a test. [The command line](../cli.md) explains it."]
    for verb in verbs_of(program):
        parts.append(f"## {verb}\n\n```\n{help_of(program, verb)}\n```")
    return "\n\n".join(parts) + "\n"


def check_cli(program):
    path = ROOT / "docs/reference/cli.md"
    made = cli_page(program)
    if "HALFTONE_WRITE_REFERENCE" in os.environ:
        path.write_text(made, encoding="utf-8")
    found = path.read_text(encoding="utf-8")
    return [] if made == found else [
        "docs/reference/cli.md is out of date; HALFTONE_WRITE_REFERENCE=1 ctest -R reference/ writes it",
        *difflib.unified_diff(found.splitlines(), made.splitlines(), "page", "program", lineterm="")]


def check_options(program):
    known = {"--help", "--version", "--completion", "--man-pages", *OTHER_OPTIONS}
    for verb in verbs_of(program):
        known.update(re.findall(r"--[a-z][a-z-]*", help_of(program, verb)))
    wrong = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for option in re.findall(r"(?<![\w-])--[A-Za-z][A-Za-z-]*", line):
                if option not in known:
                    wrong.append(f"{page.relative_to(ROOT)}:{number}: there is no option {option}")
    return wrong


def known_keys(text, *command):
    """The keys of the section in which `text` has the unknown key no_such_key, as the error lists
    them. The last argument of the command is followed by the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "keys.toml")
        path.write_text(text, encoding="utf-8")
        message = output_of(*command, path)
    return set(re.split(r",\s*", message.split("known are: ")[1].split("\n")[0].strip()))


def keys_on_page():
    """The keys that the page lists: of layers, and of the fit."""
    page = (ROOT / "docs/reference/recipes.md").read_text(encoding="utf-8")
    return [set(re.findall(r"^\| `(\w+)` ", part, re.MULTILINE)) for part in page.split("\n## ")[1:]]


def check_recipes(program):
    layer, fit = keys_on_page()
    wrong = []
    for shown, section in ((layer | {"name"}, "[[layer]]"), (fit, "[fit]"), (layer, "[default]")):
        known = known_keys(f"{section}\nno_such_key = 1\n", program, "quantize", NETWORK, "-o",
                           "build/no.circle", "--data", NETWORK.parent, "--recipe")
        for key in sorted(shown ^ known):
            where = "the page lacks it" if key in known else "the program does not know it"
            wrong.append(f"docs/reference/recipes.md: {key} in {section}: {where}")
    return wrong


def keys_of_sections(example, sections, *command):
    """The keys of all sections: those that the example has, and more by name."""
    keys = known_keys("no_such_key = 1\n" + example, *command)
    for heading in {*re.findall(r"^\[+\w+\]+$", example, re.MULTILINE), *sections}:
        if heading in example:
            text = example.replace(heading, heading + "\nno_such_key = 1", 1)
        else:
            text = f"{example}\n{heading}\nno_such_key = 1\n"
        keys |= known_keys(text, *command)
    return keys


def check_keys(program):
    space = (ROOT / "examples/accelerator/space.toml").read_text(encoding="utf-8")
    device = (ROOT / "halftone/accel/crossbar/devices/pcm.toml").read_text(encoding="utf-8")
    chip = output_of(program, "estimate", "--accelerator", "edge-2bit", "--describe")
    data = ["--data", NETWORK.parent]
    pages = (("accelerators", chip, ("[link]", "[host]", "[[operator]]"),
              ("estimate", NETWORK, "--accelerator")),
             ("crossbar", device, (), ("crossbar", NETWORK, *data, "--device")),
             ("explore", space, ("[[layer]]", "[[tie]]", "[[area]]"),
              ("explore", NETWORK, *data, "--space")))
    wrong = []
    for name, example, sections, command in pages:
        page = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
        for key in sorted(keys_of_sections(example, sections, program, *command)):
            if not re.search(rf"\b{key}\b", page):
                wrong.append(f"docs/{name}.md lacks the key {key}")
    return wrong


def main():
    check = {"cli": check_cli, "options": check_options, "recipes": check_recipes,
             "keys": check_keys}[sys.argv[1]]
    wrong = check(sys.argv[2])
    print("\n".join(wrong) or "the pages agree with the program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
