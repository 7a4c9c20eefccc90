#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Google's quantizer opens the TFLite files that Halftone writes, and Halftone what it makes of them.

Usage: ai_edge_quantizer_test.py PROGRAM DATA

PROGRAM is halftone. The folder DATA, or that in HALFTONE_DATA, has networks in DATA/models. Skips
with exit code 77 if a package or the folder is absent:
pip install numpy flatbuffers ai-edge-litert ai-edge-quantizer

Networks of integers have the codes of LiteRT's reference kernels, bit for bit. Weights of 8 bits
are computed with in float32; LiteRT also rounds inputs of layers where it is asked to ("dynamic"),
which is compared as in full_integer_test.py: 5 % of the root mean square.
"""

import contextlib
import io
import sys

from python_test import Program, data_folder, run_checks, skip
import tflite_files as tf
from tflite_files import Interpreter, np

try:
    with contextlib.redirect_stderr(io.StringIO()):
        from ai_edge_quantizer import quantizer, recipe
except ImportError as error:
    skip(f"{error}; pip install ai-edge-quantizer")

TOLERANCES = {"weight_only_wi8_afp32": 1e-5, "dynamic_wi8_afp32": 0.05, "static_wi8_ai8": 0}
NETWORKS = ("mnist_cnn.onnx", "mnist_lstm.tflite", "toycar_autoencoder.tflite",
            "vww_mobilenet.tflite")
SIGNATURE = "serving_default"


def quantized(path, name, samples):
    """Writes what the quantizer makes of a network."""
    result = path.with_name(f"{name}.tflite")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        made = quantizer.Quantizer(str(path), getattr(recipe, name)())
        ranges = made.calibrate({SIGNATURE: samples}) if made.need_calibration else None
        made.quantize(ranges).export_model(str(result))
    return result


def check(program, model, folder):
    path = folder / "float.tflite"
    program("convert", model, path)
    details = Interpreter(str(path)).get_signature_runner(SIGNATURE).get_input_details()
    numbers = np.random.default_rng(6)
    samples = [{name: numbers.uniform(0, 1, detail["shape"]).astype(np.float32)
                for name, detail in details.items()} for _ in range(4)]
    for name, tolerance in TOLERANCES.items():
        written = quantized(path, name, samples)
        inputs = []
        for detail, x in zip(tf.interpreter_of(written).get_input_details(), samples[0].values()):
            scale = tf.Scale(*detail["quantization"])
            inputs.append(x if detail["dtype"] == np.float32 else scale.codes(x, detail["dtype"]))
        expected = tf.run_litert(written, inputs)
        found = program.run(written, inputs, folder)
        error = max(np.sqrt(np.mean((x.reshape(y.shape).astype(float) - y) ** 2)
                            / np.mean(y.astype(float) ** 2)) for x, y in zip(found, expected))
        yield f"{model.name}, {name}: {error:.1e}", error <= tolerance


def main(path, data):
    program = Program(path)
    models = data_folder(data) / "models"
    return run_checks([(name, lambda folder, name=name: check(program, models / name, folder))
                       for name in NETWORKS])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
