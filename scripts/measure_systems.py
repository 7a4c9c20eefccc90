#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every number system under one fit: quantizes networks, evaluates them, prints a table.

Usage: scripts/measure_systems.py PROGRAM DATA [--systems a,b] [--networks mnist,resnet20,kws]
PROGRAM is the halftone executable, DATA the folder with models/ and data sets. For each system and
number of bits, weights and inputs of all layers take that system. One line of Markdown each:
system, bits, accuracies in percent, bytes of the last file.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# Network, calibration data and how many samples of it, test data.
NETWORKS = {
    "mnist": ("models/mnist_mlp_700.onnx", ["mnist", "--split", "train", "--limit", "2000"],
              ["mnist", "--split", "test"]),
    "resnet20": ("models/resnet20_cifar10.onnx",
                 ["cifar10/lossless_train_7292.bin", "--limit", "1024"],
                 ["cifar10/lossless_test_761.bin"]),
    "kws": ("models/kws_dscnn.tflite", ["kws/x.npy,kws/y.npy", "--limit", "250"],
            ["kws/x.npy,kws/y.npy"]),
}

# Systems with the numbers of bits to measure: weights/activations.
SYSTEMS = [
    ("basis", ["8/8", "4/8", "4/4", "3/3", "2/4", "2/2"]),
    ("affine", ["8/8", "4/8", "4/4", "3/3", "2/4", "2/2"]),
    ("asymmetric", ["8/8", "4/8", "4/4", "3/3", "2/4", "2/2"]),
    ("symmetric", ["8/8", "4/8", "4/4", "3/3", "2/4", "2/2"]),
    ("int", ["8/8", "4/8", "4/4", "3/3", "2/4", "2/2"]),
    ("fixed", ["8/8", "4/8", "4/4", "3/3", "2/4", "2/2"]),
    ("pot", ["4/8", "4/4", "3/3"]),
    ("apot", ["4/8", "4/4", "3/3"]),
    ("log", ["4/8", "4/4", "3/3"]),
    ("posit", ["8/8", "4/8", "4/4"]),
    ("bfp", ["8/8", "4/8", "4/4", "3/3"]),
    ("ternary", ["2/8", "2/2"]),
    ("nf4", ["4/8", "4/4"]),
    ("e4m3", ["8/8"]),
    ("e5m2", ["8/8"]),
    ("e3m2", ["6/6"]),
    ("e2m3", ["6/6"]),
    ("e2m1", ["4/8", "4/4"]),
    ("mxfp8_e4m3", ["8/8"]),
    ("mxfp8_e5m2", ["8/8"]),
    ("mxfp6_e3m2", ["6/6"]),
    ("mxfp6_e2m3", ["6/6"]),
    ("mxfp4", ["4/4"]),
    ("mxint8", ["8/8"]),
    ("nvfp4", ["4/4"]),
    ("int_k", ["6/8", "4/8"]),
    ("affine_k", ["5/8", "4/8"]),
]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def places(data, arguments):
    """The data arguments with their folder."""
    first = ",".join(str(data / name) for name in arguments[0].split(","))
    return ["--data", first, *arguments[1:]]


def measure(program, data, network, system, weights, activations):
    model, calibration, test = NETWORKS[network]
    with tempfile.TemporaryDirectory() as folder:
        output = str(pathlib.Path(folder) / "quantized.onnx")
        command = [program, "quantize", str(data / model), "-o", output, "--json",
                   *places(data, calibration), "--weight-bits", weights,
                   "--activation-bits", activations]
        if activations == "8" and weights != "8":
            # Few bits of the weights beside plain integers of the activations.
            command += ["--weight-scheme", system, "--activation-scheme", "affine"]
        else:
            command += ["--scheme", system]
        quantized = run(command)
        value = run([program, "eval", output, "--json", *places(data, test)])["value"]
    return value, quantized["output_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--systems", default="")
    parser.add_argument("--networks", default="mnist,kws,resnet20")
    options = parser.parse_args()
    networks = options.networks.split(",")
    wanted = options.systems.split(",") if options.systems else [name for name, _ in SYSTEMS]
    print("| system | bits | " + " | ".join(networks) + " | bytes |")
    print("|---|---|" + "---|" * (len(networks) + 1))
    for system, rows in SYSTEMS:
        if system not in wanted:
            continue
        for row in rows:
            weights, activations = row.split("/")
            cells, size = [], 0
            for network in networks:
                try:
                    value, size = measure(options.program, options.data, network, system,
                                          weights, activations)
                    cells.append(f"{100 * value:.2f}")
                except RuntimeError as error:
                    print(f"{system} {row} {network}: {error}", file=sys.stderr)
                    cells.append("-")
            print(f"| {system} | {row} | " + " | ".join(cells) + f" | {size:,} |", flush=True)


if __name__ == "__main__":
    main()
