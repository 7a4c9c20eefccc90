#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator that Halftone writes to TFLite files opens in LiteRT and gives the same outputs.

Usage: tflite_operators_test.py PROGRAM

PROGRAM is tests/operator_files.cc. Each file runs with LiteRT's reference kernels and with its
default ones (XNNPACK). Tolerances are those of the cases, for sums in any order; LiteRT's own
approximations of functions have a bound of their own. Skips with exit code 77 if a package is
absent: pip install numpy flatbuffers ai-edge-litert
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import tflite_files as tf
from tflite_files import np

# LiteRT computes these functions by approximations, to this accuracy relative to 1 + |y|.
APPROXIMATE = 2e-6
# What LiteRT does not have: arithmetic on integers without a scale, more than 5 axes of a product,
# results from no elements; POW of negative integers is an error there.
NOT_IN_LITERT = {
    "MatMulEmpty", "MatMulManyAxes", "UnarySignint8", "UnaryAbsint8", "Powint32", "PReluint32",
    "Andint32", "Orint32", "ReduceMeanNothing", "ReduceMeanNothingKept", "ReduceMaxNothing",
    "ReduceMaxNothingKept", "ReduceMinNothing", "ReduceMinNothingKept"}
NOT_IN_LITERT |= {f"{name}uint8" for name in
                  ("Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Mod", "And", "Or", "Equal", "Less",
                   "LessOrEqual", "Greater", "GreaterOrEqual")}
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
            if reference and "Didn't find op" in str(error):
                continue  # there are no reference kernels of ELU, CEIL and ROUND
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


def apart(*arguments):
    """check() in a process of its own, because LiteRT aborts on types that it does not have."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        message, right = check(*arguments)
        os.write(writer, f"{int(right)}{message}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return (text[1:], text[0] == "1") if text else (f"{arguments[1]}: LiteRT aborts", False)


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
            if case in NOT_IN_LITERT:
                continue
            message, right = apart(folder, case, float(tolerance))
            print(message if right else f"WRONG {message}")
            failures += not right
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
