#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a page, in order, and compares the output that the page shows.

docs/style.md ("Commands in documents") says what the page may contain. The blocks run in a temporary
folder that looks like the root of the repository after `make`: links to everything but build/, an
empty build/, and in it a link to the build. Blocks of minutes or hours run only if HALFTONE_FIGURES
says so. Exit code 77: no block could run, for what it needs is absent or takes longer.

usage: page_commands.py PAGE BUILD_FOLDER
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"\s*((?:^\|.*\n)+)", re.MULTILINE)
GAP = re.compile(r"\s*\.\.\.\s*|~([\d,.]*\d)( %)?")
# How far a number with "~" may be: so many times larger or smaller (times on another, or a busy,
# machine), percentages so many points (training on another processor).
FACTOR = 5
POINTS = 2
DURATIONS = ("minutes", "hours")
# The page says `make`; the test has a build already, and installs that.
PRELUDE = """make() {
  case ${1-} in install) cmake --install build/release --prefix "${2#PREFIX=}" > build/log ;; esac
}
"""


class Failure(Exception):
    """What is wrong with a block."""


def is_absent(name):
    """Whether a program, of the build or in PATH, or else a module of Python is missing."""
    if name == "HALFTONE_DATA":
        return not Path(os.environ[name]).is_dir()
    if Path("build/release", name).exists() or shutil.which(name) is not None:
        return False
    return importlib.util.find_spec(name) is None


def matches(shown, found):
    """Whether `found` is what the page shows: "..." is any text, "~2.5" a number of that order, and
    blanks count as one."""
    shown, pattern, bounds, end = normal(shown), "", [], 0
    for gap in GAP.finditer(shown):
        pattern += re.escape(shown[end:gap.start()])
        end = gap.end()
        if not gap[1]:
            pattern += r"\s*.*\s*"
            continue
        number = value(gap[1])
        pattern += r"([\d,.]*\d)" + (gap[2] or "")
        bounds.append((number - POINTS, number + POINTS) if gap[2] else
                      (number / FACTOR, number * FACTOR))
    match = re.fullmatch(r"\s*" + pattern + re.escape(shown[end:]) + r"\s*", normal(found), re.DOTALL)
    return match is not None and all(low <= value(group) <= high
                                     for (low, high), group in zip(bounds, match.groups()))


def value(number):
    return float(number.replace(",", ""))


def normal(text):
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def rows(text):
    """The rows of the Markdown tables in a text, without bold type and heads."""
    found = []
    for line in text.splitlines():
        if line.startswith("|---"):
            found.pop()
        elif line.startswith("|"):
            found.append(line.replace("**", ""))
    return "\n".join(found)


def run_shell(text):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", PRELUDE + text], check=False,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, encoding="utf-8")
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise Failure(f"the commands fail with exit code {done.returncode}")
    return done.stdout


def write(path, text):
    """Writes a file that the page shows, never through a link into the repository."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if Path.cwd() not in path.resolve().parents:
        raise Failure(f"{path} is a file of the repository; write to build/")
    path.write_text(text, encoding="utf-8")


class Page:
    def __init__(self, path):
        self.path = path
        self.text = Path(path).read_text(encoding="utf-8")
        self.variables = {"__name__": "__main__"}
        self.output = None  # of the last block, while the next may show it
        self.count = 0

    def run(self):
        limit = os.environ.get("HALFTONE_FIGURES")
        runs = DURATIONS[:DURATIONS.index(limit) + 1] if limit else ()
        for match in BLOCK.finditer(self.text):
            line = self.text.count("\n", 0, match.start(3))
            words = match[2].split()
            code = match[1] in ("sh", "python")
            if code and any(word in DURATIONS and word not in runs for word in words):
                print(f"{self.path}:{line}: this takes {words[0]} and did not run")
                self.output = None
                continue
            absent = [word for word in words if code and word not in DURATIONS and is_absent(word)]
            if absent:
                print(f"{self.path}:{line}: the page ends here, as {', '.join(absent)} is absent")
                return
            try:
                self.run_block(match[1], words, match[3], line)
                self.compare_table(match)
            except Failure as failure:
                raise Failure(f"{self.path}:{line}: {failure}") from None

    def compare_table(self, match):
        """Compares the table that follows commands with the rows that they printed."""
        table = TABLE.match(self.text, match.end())
        if match[1] == "sh" and table and not matches(rows(table[1]), rows(self.output)):
            raise Failure("the table below has not the rows that the block printed, which are above")

    def run_block(self, language, words, text, line):
        output, self.output = self.output, None
        if language == "sh":
            self.output = run_shell(text)
            self.count += 1
        elif language == "python":
            # The newlines give errors the line numbers of the page.
            exec(compile("\n" * line + text, self.path, "exec"), self.variables)
            self.count += 1
        elif language == "text" and output is not None:
            if not matches(text, output):
                raise Failure("this is not the output of the block before, which is above")
        elif words:
            write(words[0], text)


def lay_out(folder, build):
    for entry in ROOT.iterdir():
        if entry.name not in ("build", ".git"):
            Path(folder, entry.name).symlink_to(entry)
    Path(folder, "build").mkdir()
    Path(folder, "build", "release").symlink_to(build)


def main():
    page, build = Page(os.path.abspath(sys.argv[1])), Path(sys.argv[2]).resolve()
    os.environ.setdefault("HALFTONE_DATA", str(ROOT.parent / "shared" / "data"))
    os.environ["PATH"] = str(build) + os.pathsep + os.environ["PATH"]
    for name in ("", "_CONFIRM"):
        os.environ["OMPI_ALLOW_RUN_AS_ROOT" + name] = "1"
    os.environ["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        lay_out(folder, build)
        os.chdir(folder)
        try:
            page.run()
        except Failure as failure:
            print(failure)
            return 1
        finally:
            os.chdir("/")
    print(f"{page.count} blocks ran")
    return 0 if page.count > 0 else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
