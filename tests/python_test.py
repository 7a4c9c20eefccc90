# SPDX-License-Identifier: Apache-2.0
"""What the tests in Python that run networks in other runtimes share."""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


try:
    import numpy as np
except ImportError as error:
    skip(f"{error}; pip install numpy")


class Refused(RuntimeError):
    """The program ended with exit code 4: unsupported."""


class Program:
    """The program halftone. A call returns its standard output."""

    def __init__(self, path, timeout=120):
        self.path = path
        self.timeout = timeout  # seconds of a call

    def __call__(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True,
                              timeout=self.timeout)
        if done.returncode != 0:
            kind = Refused if done.returncode == 4 else RuntimeError
            raise kind(done.stderr.strip())
        return done.stdout

    def run(self, model, inputs, folder, *options):
        """The outputs of a network for its inputs, both in order. Files go to `folder`."""
        arguments = []
        for i, x in enumerate(inputs):
            np.save(folder / f"in{i}.npy", x)
            arguments += ["--input", folder / f"in{i}.npy"]
        shutil.rmtree(folder / "out", ignore_errors=True)  # which may have other outputs
        self("run", model, *arguments, "-o", folder / "out", *options)
        count = len(list((folder / "out").glob("out*.npy")))
        return [np.load(folder / "out" / f"out{i}.npy") for i in range(count)]


def check_sizes(program, path, expected, tolerance, folder):
    """Lines for a network of one input that runs at several sizes.

    `expected` has a size, the input and the output for each.
    """
    for size, x, y in expected:
        found = program.run(path, [x], folder)[0]
        yield f"{size}", found.shape == y.shape and np.abs(found - y).max() <= tolerance


def check_quantized_sizes(program, path, inputs, samples, folder):
    """Lines for files of few bits: they keep the open extents and run at several sizes.

    `inputs` has a size and the input for each.
    """
    np.save(folder / "samples.npy", samples)
    wanted = json.loads(program("inspect", path, "--json"))["inputs"]
    for weight_bits, activation_bits in ((4, 8), (2, 2)):
        program("quantize", path, "-o", folder / "q.onnx", "--data", folder / "samples.npy", "-q",
                "--weight-bits", weight_bits, "--activation-bits", activation_bits)
        ends = json.loads(program("inspect", folder / "q.onnx", "--json"))["inputs"]
        yield f"{weight_bits} bits: {ends[0]['shape']}", ends == wanted
        for size, x in inputs:
            found = program.run(folder / "q.onnx", [x], folder)[0]
            yield f"{weight_bits} bits, {size}", np.isfinite(found).all()


def session_options(onnxruntime):
    """Options of ONNX Runtime with errors alone in its log, and exact sums of int8: on x86 without
    VNNI its integer kernels let them saturate, so that there it computes in float."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    if platform.machine() == "x86_64" and "vnni" not in pathlib.Path("/proc/cpuinfo").read_text():
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def data_folder(data):
    """The folder HALFTONE_DATA, or else `data`. Skips if it has no networks."""
    folder = pathlib.Path(os.environ.get("HALFTONE_DATA", data))
    if not (folder / "models").is_dir():
        skip(f"no networks in {folder / 'models'}")
    return folder


def networks_of(data):
    """The networks in the folder of data_folder()."""
    models = data_folder(data) / "models"
    return sorted([*models.glob("*.onnx"), *models.glob("*.tflite")])


def llama_cpp():
    """The folder with the sources of llama.cpp, HALFTONE_LLAMA_CPP. Skips without it."""
    folder = pathlib.Path(os.environ.get("HALFTONE_LLAMA_CPP", ""))
    if not (folder / "models" / "templates").is_dir():
        skip("no sources of llama.cpp; scripts/peers.sh")
    return folder


def run_checks(checks):
    """Prints the lines of checks, given as pairs of a name and a check. Returns the exit code.

    A check gets an empty folder and yields pairs: a line, and whether it is right.
    """
    failures = 0
    for name, check in checks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                lines = list(check(pathlib.Path(folder)))
            except Exception as error:  # of any runtime
                lines = [(f"{name}: {str(error).splitlines()[0][:300]}", False)]
        for text, right in lines:
            print("right " if right else "WRONG ", text, flush=True)
            failures += not right
    return 1 if failures else 0
