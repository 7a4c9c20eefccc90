# SPDX-License-Identifier: Apache-2.0
"""What the tests in Python that run networks in other runtimes share."""

import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Program:
    """The program halftone. A call returns its standard output."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout


def models_folder(data):
    """The folder with networks in that of HALFTONE_DATA, or else in `data`."""
    models = pathlib.Path(os.environ.get("HALFTONE_DATA", data)) / "models"
    if not models.is_dir():
        skip(f"no networks in {models}")
    return models


def run_checks(models, checks_of):
    """Prints the lines of the checks of each network. Returns the exit code.

    A check gets a network and an empty folder and yields pairs: a line, and whether it is right.
    """
    failures = 0
    for model in sorted([*models.glob("*.onnx"), *models.glob("*.tflite")]):
        for check in checks_of(model):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    lines = list(check(model, pathlib.Path(folder)))
                except Exception as error:  # of any runtime
                    lines = [(f"{model.name}: {str(error).splitlines()[0][:300]}", False)]
            for text, right in lines:
                print("right " if right else "WRONG ", text, flush=True)
                failures += not right
    return 1 if failures else 0
