#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimates beside measurements on this processor.

  bench/estimates.py PROGRAM DATA OUT [ACCELERATOR]

Describes the processor (`estimate --measure`, unless ACCELERATOR names a description), takes four
networks of DATA/models to float32 and 1, 2, 4 and 8 bits, and prints for each the error of the
estimate of the whole network and the median error of its layers, beside `bench` with one thread.
Standard library only.
"""

import json
import pathlib
import statistics
import subprocess
import sys

NETWORKS = {
    "resnet20_cifar10.onnx": ["cifar10/lossless_train_7292.bin"],
    "resnet8_cifar10.tflite": ["cifar10/lossless_train_7292.bin", "--scale", "1"],
    "kws_dscnn.tflite": ["kws/x.npy"],
    "mnist_mlp_700.onnx": ["mnist"],
}
WIDTHS = [None, 8, 4, 2, 1]
SHORTEST_US = 0.05  # below, reading the clock is most of the time


class Comparison:
    def __init__(self, program, data, out):
        self.program, self.data, self.out = program, data, out
        self.layers, self.networks = [], []

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout

    def network(self, name, bits):
        model = self.data / "models" / name
        if bits is None:
            return model
        file = self.out / f"{model.stem}_{bits}.circle"
        if not file.exists():
            samples, *scale = NETWORKS[name]
            scheme = "affine" if bits == 8 else "basis"
            self.run("quantize", model, "-o", file, "--data", self.data / samples, *scale,
                     "--limit", 64, "--weight-bits", bits, "--activation-bits", bits,
                     "--scheme", scheme, "--quiet")
        return file

    def compare(self, name, bits, accelerator):
        file = self.network(name, bits)
        measured = json.loads(self.run("bench", file, "--threads", 1, "--json"))
        estimated = json.loads(self.run("estimate", file, "--accelerator", accelerator, "--json"))
        steps = [step for step in measured["layers"] if step["operator"] != "Reshape"]
        errors = [abs(1e6 * layer["seconds"] / step["median_us"] - 1)
                  for layer, step in zip(estimated["layers"], steps, strict=True)
                  if step["median_us"] > SHORTEST_US]
        whole = 1e6 * estimated["seconds"] / measured["latency_us"]["median"] - 1
        self.layers.append(statistics.median(errors))
        self.networks.append(abs(whole))
        width = "float" if bits is None else f"{bits} bits"
        print(f"{name:26} {width:7} network {100 * whole:+6.1f} %"
              f"   median layer {100 * self.layers[-1]:5.1f} %", flush=True)


def main():
    program, data, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(program, data, out)
    accelerator = sys.argv[4] if len(sys.argv) > 4 else out / "here.toml"
    if len(sys.argv) <= 4:
        comparison.run("estimate", "--measure", "--threads", 1, "-o", accelerator)
    for name in NETWORKS:
        for bits in WIDTHS:
            comparison.compare(name, bits, accelerator)
    print(f"networks: mean {100 * statistics.mean(comparison.networks):.1f} %,"
          f" at most {100 * max(comparison.networks):.1f} %;"
          f" median layer at most {100 * max(comparison.layers):.1f} %")


main()
