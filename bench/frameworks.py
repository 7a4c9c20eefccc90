#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Halftone inside PyTorch and ONNX Runtime, and alone, beside what these have of their own.

usage: frameworks.py PACKAGE MODELS CIFAR [--threads N]

PACKAGE is the folder of the Python package, MODELS has resnet20_cifar10.onnx, CIFAR has
lossless_train_7292.bin and lossless_test_761.bin. Needs PyTorch, onnx and onnxruntime. Prints two
tables in Markdown: ResNet-20, a batch of 1 and of 16 images, and a Linear of 4096 x 4096, one row.
Times are microseconds: of the shortest call, while half a minute goes through all rows in turn.
Bytes are those of the file or of the state dict.
"""

import argparse
import copy
import io
import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

WIDTH, CALIBRATION, SECONDS, CALLS = 4096, 512, 30, 5
FEW_BITS = {"weight_bits": 2, "activation_bits": 2, "progress": False}


def least_times(functions):
    """Microseconds of the shortest call of each."""
    best, end = [float("inf")] * len(functions), time.monotonic() + SECONDS
    while time.monotonic() < end:
        for index, function in enumerate(functions):
            for _ in range(CALLS):
                begin = time.perf_counter()
                function()
                best[index] = min(best[index], (time.perf_counter() - begin) * 1e6)
    return best


def state_bytes(module):
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    return len(file.getvalue())


def session(path, threads, library=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    if library is not None:
        options.add_session_config_entry("halftone.threads", str(threads))
        options.register_custom_ops_library(library)  # which reads the entry
    found = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = found.get_inputs()[0].name
    return lambda x: found.run(None, {name: x})[0]


def export(module, example, path):
    torch.onnx.export(module, (example,), str(path), dynamo=False, input_names=["x"],
                      dynamic_axes={"x": {0: "N"}})


class Samples(CalibrationDataReader):
    def __init__(self, samples):
        self._batches = iter({"x": batch.numpy()} for batch in samples.split(64))

    def get_next(self):
        return next(self._batches, None)


def of_torch(module):
    """A module as a function of arrays."""
    def call(x):
        with torch.inference_mode():
            return module(torch.from_numpy(x)).numpy()
    return call


def compiled(module, example):
    """None where there is no compiler of C++."""
    try:
        found = torch.compile(module)
        with torch.inference_mode():
            for batch in example:
                found(batch)
        return of_torch(found)
    except Exception as error:  # noqa: BLE001
        print(f"torch.compile: {type(error).__name__}", file=sys.stderr)
        return None


def networks(halftone, models, samples, folder, threads):
    """Name, function of an array and bytes of each form of ResNet-20."""
    from torch_networks import folded, resnet20

    path = models / "resnet20_cifar10.onnx"
    net = folded(resnet20(path))
    export(net, samples[:2], folder / "float.onnx")
    quantize_static(folder / "float.onnx", folder / "int8.onnx", Samples(samples),
                    quant_format=QuantFormat.QDQ, per_channel=True)
    yield "PyTorch", of_torch(net), state_bytes(net)
    yield "PyTorch, compiled", compiled(net, (samples[:1], samples[:16])), state_bytes(net)
    for name in ("float", "int8"):
        file = folder / f"{name}.onnx"
        yield f"ONNX Runtime, {name}", session(file, threads), file.stat().st_size
    module = halftone.torch.quantize_(folded(resnet20(path)), samples, ends=8, **FEW_BITS)
    yield "Halftone 2/2 inside PyTorch, layers", of_torch(module), state_bytes(module)
    small = halftone.quantize(path, samples.numpy(), ends=8, **FEW_BITS).model
    small.save(folder / "small.circle")
    small.save(folder / "one.onnx", one_operator=True)
    size = (folder / "small.circle").stat().st_size
    whole = halftone.torch.from_halftone(small)
    yield "Halftone 2/2 inside PyTorch, network", of_torch(whole), state_bytes(whole)
    library = halftone.onnxruntime_library()
    yield "Halftone 2/2 inside ONNX Runtime", session(folder / "one.onnx", threads, library), \
        (folder / "one.onnx").stat().st_size
    yield "Halftone 2/2 alone", halftone.load(folder / "small.circle", threads=threads), size


def network_table(halftone, arguments, folder):
    from torch_networks import records

    samples, _ = records(arguments.cifar / "lossless_train_7292.bin")
    test, classes = (each.numpy() for each in records(arguments.cifar / "lossless_test_761.bin"))
    found = [each for each in networks(halftone, arguments.models, samples[:CALIBRATION], folder,
                                       arguments.threads) if each[1] is not None]
    times = [least_times([lambda f=f, x=test[:count]: f(x) for _, f, _ in found])
             for count in (1, 16)]
    print("| ResNet-20 | 1 image, us | 16 images, us | bytes | accuracy |\n|---|---|---|---|---|")
    for (name, function, size), one, many in zip(found, *times):
        right = np.mean(np.concatenate(
            [function(test[i : i + 16]) for i in range(0, 752, 16)]).argmax(1) == classes[:752])
        print(f"| {name} | {one:.0f} | {many:.0f} | {size} | {100 * right:.1f} % |")


def linears(halftone, folder, threads):
    torch.manual_seed(0)
    net, samples = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH)), torch.randn(64, WIDTH)
    export(net, samples, folder / "linear.onnx")
    yield "PyTorch", of_torch(net), state_bytes(net)
    eight = torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear}, torch.qint8)
    yield "PyTorch, dynamic int8", of_torch(eight), state_bytes(eight)
    yield "ONNX Runtime, float", session(folder / "linear.onnx", threads), state_bytes(net)
    plain = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH, bias=False))
    export(plain, samples, folder / "plain.onnx")
    four = MatMulNBitsQuantizer(str(folder / "plain.onnx"), bits=4, block_size=32, accuracy_level=4)
    four.process()
    four.model.save_model_to_file(str(folder / "four.onnx"))
    size = (folder / "four.onnx").stat().st_size
    yield "ONNX Runtime, MatMulNBits of 4 bits", session(folder / "four.onnx", threads), size
    fit = {"recipe": {"fit": {"error_feedback": False, "refine": False}}, **FEW_BITS}
    module = halftone.torch.quantize_(copy.deepcopy(net), samples, **fit)
    yield "Halftone 2/2 inside PyTorch", of_torch(module), state_bytes(module)
    alone = halftone.load(module[0].to_bytes(), threads=threads).session(1)
    yield "Halftone 2/2 alone", alone, len(module[0].to_bytes())


def linear_table(halftone, folder, threads):
    found = list(linears(halftone, folder, threads))
    x = np.random.default_rng(1).normal(size=(1, WIDTH)).astype(np.float32)
    times = least_times([lambda f=f: f(x) for _, f, _ in found])
    print(f"\n| Linear {WIDTH} x {WIDTH} | one row, us | bytes |\n|---|---|---|")
    for (name, _, size), each in zip(found, times):
        print(f"| {name} | {each:.0f} | {size} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("package", "models", "cifar"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(arguments.package.resolve()), str(root / "python" / "tests")]
    warnings.simplefilter("ignore")
    torch.set_num_threads(arguments.threads)
    import halftone
    import halftone.torch

    with tempfile.TemporaryDirectory() as folder:
        network_table(halftone, arguments, pathlib.Path(folder))
        linear_table(halftone, pathlib.Path(folder), arguments.threads)


if __name__ == "__main__":
    main()
