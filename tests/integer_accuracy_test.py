#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of 8-bit integers have the same accuracy in ONNX Runtime, LiteRT and Halftone.

Usage: integer_accuracy_test.py PROGRAM DATA

PROGRAM is halftone. The folder DATA, or that in HALFTONE_DATA, has networks and samples. Skips with
exit code 77 if a package or the folder is absent: pip install numpy onnxruntime ai-edge-litert

`quantize --full-integer` writes each network as ONNX and as TFLite. The accuracy of `halftone eval`
may be 1 point below that of the float network. ONNX Runtime and LiteRT's reference kernels may
differ from it by 0.2 points, or by one sample where that is more.

LiteRT's default kernels, those of XNNPACK, may differ by 1 point, as they round sums to codes by a
float32 product: 0.1 % of the codes behind the first layer of kws_dscnn differ by a step, 29 %
behind the ninth, and 3 of 500 samples get another class.
"""

import functools
import gzip
import json
import sys

from python_test import Program, data_folder, run_checks, session_options, skip

LOSS = 0.01

try:
    import numpy as np
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    skip(f"{error}; pip install numpy onnxruntime ai-edge-litert")


def cifar(data):
    """Records of a label and 3 x 32 x 32 pixels."""
    records = np.fromfile(data / "cifar10/lossless_test_761.bin", np.uint8).reshape(-1, 3073)
    pixels = records[:, 1:].reshape(-1, 3, 32, 32)
    return pixels.astype(np.float32) / np.float32(255), records[:, 0]


def keywords(data):
    return np.load(data / "kws/x.npy"), np.load(data / "kws/y.npy")


def mnist(data):
    """Two IDX files, with headers of 16 and 8 bytes."""
    images = gzip.decompress((data / "mnist/t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((data / "mnist/t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    pixels = np.frombuffer(images, np.uint8).reshape(-1, 784)
    return pixels.astype(np.float32) / np.float32(255), np.frombuffer(labels, np.uint8)


# Network, test samples, --data to calibrate with, --data to test with.
CASES = [
    ("resnet20_cifar10.onnx", cifar, "cifar10/lossless_train_7292.bin",
     "cifar10/lossless_test_761.bin"),
    ("kws_dscnn.tflite", keywords, "kws/x.npy", "kws/x.npy,kws/y.npy"),
    ("mnist_mlp_700.onnx", mnist, "mnist", "mnist"),
]


def run_onnx(model, x):
    session = onnxruntime.InferenceSession(str(model), session_options(onnxruntime))
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def run_litert(model, x, resolver):
    interpreter = Interpreter(str(model), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    result = interpreter.get_output_details()[0]["index"]
    outputs = []
    for sample in x:
        interpreter.set_tensor(given["index"], sample.reshape(given["shape"]))
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(result)[0])
    return np.stack(outputs)


def run_reference(model, x):
    return run_litert(model, x, OpResolverType.BUILTIN_REF)


def run_default(model, x):
    return run_litert(model, x, OpResolverType.AUTO)


# Runtime, function, tolerance.
RUNTIMES = {
    ".onnx": [("ONNX Runtime", run_onnx, 0.002)],
    ".tflite": [("LiteRT's reference kernels", run_reference, 0.002),
                ("LiteRT's default kernels", run_default, 0.01)],
}


def evaluate(model, data):
    return json.loads(program("eval", model, "--data", data, "--json"))


def check(name, samples_of, calibration, test, folder, data):
    """Yields lines for each file; the second element says whether it is right."""
    x, labels = samples_of(data)
    test = ",".join(str(data / part) for part in test.split(","))
    unrounded = evaluate(data / "models" / name, test)["value"]
    for suffix, runtimes in RUNTIMES.items():
        written = folder / ("integers" + suffix)
        program("quantize", data / "models" / name, "-o", written, "--data", data / calibration,
                "--limit", "256", "--full-integer", "-q")
        own = evaluate(written, test)["value"]
        yield (f"{name} as {suffix} in Halftone: {100 * own:.2f} %, in float "
               f"{100 * unrounded:.2f} %"), own >= unrounded - LOSS
        for runtime, run, tolerance in runtimes:
            found = float((run(written, x).argmax(axis=1) == labels).mean())
            yield (f"{name} as {suffix} in {runtime}: {100 * found:.2f} % of {len(x)} samples",
                   abs(found - own) <= max(tolerance, 1.001 / len(x)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program = Program(sys.argv[1])
    folder_of_data = data_folder(sys.argv[2])
    sys.exit(run_checks((case[0], functools.partial(check, *case, data=folder_of_data))
                        for case in CASES))
