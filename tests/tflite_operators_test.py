#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator that Halftone writes to TFLite files opens in LiteRT and gives the same outputs.

Usage: tflite_operators_test.py PROGRAM

PROGRAM is tests/operator_files.cc. Each file runs with LiteRT's reference kernels and with its
default ones (XNNPACK). Tolerances are those of the cases, for sums in any order; LiteRT's own
approximations of functions have a bound of their own. Skips with exit code 77 if a package is
absent: pip install numpy flatbuffers ai-edge-litert
"""

import pathlib
import subprocess
import sys
import tempfile

import tflite_files as tf
from tflite_files import np

# LiteRT computes these functions by approximations, to this accuracy relative to 1 + |y|.
APPROXIMATE = 2e-6
# Operators of Halftone, which LiteRT does not have.
OWN = "Halftone"


def check(folder, name, tolerance):
    path = folder / f"{name}.tflite"
    inputs = [np.load(file) for file in sorted(folder.glob(f"{name}.in*.npy"))]
    expected = np.load(folder / f"{name}.out.npy")
    for reference in (True, False):
        try:
            interpreter = tf.interpreter_of(path, reference)
            types = [detail["dtype"] for detail in interpreter.get_input_details()]
            found = tf.invoke(interpreter, [x.astype(t) for x, t in zip(inputs, types)])[0]
        except (RuntimeError, ValueError) as error:
            if OWN in str(error):
                return f"{name}: an operator of Halftone", True
            return f"{name}: {str(error).splitlines()[0]}", False
        if found.shape != expected.shape:
            return f"{name}: {found.shape}, not {expected.shape}", False
        if found.dtype == np.float32:
            size = 1 + np.abs(expected.astype(np.float64))
            off = np.max(np.abs(found.astype(np.float64) - expected) / size, initial=0)
            same = off <= max(tolerance, APPROXIMATE)
        else:
            off = np.count_nonzero(found != expected)
            same = off == 0
        if not same:
            return f"{name}: off by {off}, expected {tolerance} (reference {reference})", False
    return f"{name}: equal", True


def main(program):
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = subprocess.run([program, folder], capture_output=True, text=True, check=True).stdout
        for line in text.splitlines():
            if " refused: " in line:
                print(line)
                continue
            case, tolerance = line.split()
            message, right = check(folder, case, float(tolerance))
            print(message if right else f"WRONG {message}")
            failures += not right
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
