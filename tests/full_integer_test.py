#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of 8-bit integers and decoded ones run in ONNX Runtime and LiteRT as in Halftone.

Usage: full_integer_test.py PROGRAM DATA

PROGRAM is halftone. The folder DATA, or that in HALFTONE_DATA, has networks in DATA/models. Skips
with exit code 77 if a package or the folder is absent: pip install numpy onnxruntime ai-edge-litert

LiteRT's reference kernels give the same codes, except in operators that compute float32. ONNX
Runtime rounds sums to codes by a float32 product, Halftone by a float64 product, so single codes
differ by a step, which the layers behind weaken or strengthen. So outputs are compared by their
root mean square: a step is a 255th of a range, at least 1/128 of the root mean square of most
values, and 5 % are a few steps at the end of a deep network. A wrong scale or axis gives 100 %.
"""

import functools
import json
import sys

from python_test import Program, networks_of, run_checks, session_options, skip

TOLERANCE = 0.05

# ONNX's LSTM does not clip cells, so this network has operators of Halftone in ONNX.
WITHOUT_EQUIVALENT = {("mnist_lstm.tflite", ".onnx")}

try:
    import numpy as np
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    skip(f"{error}; pip install numpy onnxruntime ai-edge-litert")


def write_samples(model, folder):
    """Random samples, as .npy files by input name, and the options of quantize for them."""
    numbers = np.random.default_rng(3)
    samples, options = {}, []
    for port in json.loads(program("inspect", model, "--json"))["inputs"]:
        shape = [4 if extent == "N" else extent for extent in port["shape"]]
        x = numbers.uniform(-1, 1, shape).astype(np.float32)
        file = folder / f"x{len(samples)}.npy"
        np.save(file, x)
        samples[port["name"]] = x
        options += ["--data", f"{port['name']}={file}"]
    if len(samples) == 1:
        options[1] = options[1].split("=", 1)[1]
    # Where codes round is not what this compares, so that the cheapest fit does.
    recipe = folder / "recipe.toml"
    recipe.write_text("[fit]\nerror_feedback = false\nrefine = false\n")
    return samples, [*options, "--recipe", recipe]


def run_onnx(model, samples):
    session = onnxruntime.InferenceSession(str(model), session_options(onnxruntime))
    return session.run(None, {port.name: samples[port.name][:1] for port in session.get_inputs()})


def run_litert(model, samples):
    resolver = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(str(model), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    names = [port["name"] for port in json.loads(program("inspect", model, "--json"))["inputs"]]
    for detail, name in zip(interpreter.get_input_details(), names):
        interpreter.set_tensor(detail["index"], samples[name][:1].reshape(detail["shape"]))
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def run_halftone(model, samples, folder, *options):
    ports = json.loads(program("inspect", model, "--json"))["inputs"]
    inputs = [samples[port["name"]][:1] for port in ports]
    return program.run(model, inputs, folder, *options)


def difference(found, expected):
    """The root mean square of differences, relative to that of the expected values."""
    worst = 0.0
    for x, y in zip(found, expected):
        x, y = x.astype(np.float64).reshape(-1), y.astype(np.float64).reshape(-1)
        size = np.sqrt((y**2).mean()) or 1
        worst = max(worst, float(np.sqrt(((x - y) ** 2).mean()) / size))
    return worst


def check(model, folder):
    """Yields a line for each file; the second element says whether it is right."""
    samples, data = write_samples(model, folder)
    for suffix, run in ((".onnx", run_onnx), (".tflite", run_litert)):
        if (model.name, suffix) in WITHOUT_EQUIVALENT:
            continue
        written = folder / ("integers" + suffix)
        program("quantize", model, "-o", written, *data, "--full-integer")
        worst = difference(run(written, samples), run_halftone(written, samples, folder))
        yield f"{model.name} as {suffix}, integers: {worst:.1e}", worst <= TOLERANCE


def check_decoded(model, folder):
    """The same for a network in 4 bits whose recurrent layers keep float32 states."""
    samples, data = write_samples(model, folder)
    program("quantize", model, "-o", folder / "q.onnx", *data, "--weight-bits", "4",
            "--activation-bits", "8")
    expected = run_halftone(folder / "q.onnx", samples, folder, "--float-activations")
    for suffix, run in ((".onnx", run_onnx), (".tflite", run_litert)):
        written = folder / ("decoded" + suffix)
        program("convert", folder / "q.onnx", written, "--decoded")
        worst = difference(run(written, samples), expected)
        yield f"{model.name} as {suffix}, decoded: {worst:.1e}", worst <= TOLERANCE


def checks(data):
    decoded = {"mnist_mlp_700.onnx", "resnet8_cifar10.tflite", "kws_dscnn.tflite"}
    for model in networks_of(data):
        if not model.stem.endswith("_int8"):
            yield model.name, functools.partial(check, model)
        if model.name in decoded:
            yield model.name, functools.partial(check_decoded, model)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program = Program(sys.argv[1])
    sys.exit(run_checks(checks(sys.argv[2])))
