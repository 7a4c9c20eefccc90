#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the table of halftone/export_c/layer_costs.cc to what layers took in QEMU, and prints it.

Usage: fit_layer_costs.py FOLDER

FOLDER has m0_large, m3, m4 and rv32: each a folder of programs that microcontroller_layers wrote,
and in each program `out`, what scripts/microcontrollers.sh printed of it. Needs numpy and scipy.
"""

import json
import pathlib
import re
import sys

import numpy as np
from scipy.optimize import nnls

CORES = ("m0_large", "m3", "m4", "rv32")
LEAST = 200  # instructions: errors of smaller layers count as of this many
PRIOR = 0.02  # weight of what another core suggests
LARGEST = 2000  # instructions of a round


def with_callees(layers, index):
    found = [layers[index]]
    for callee in layers[index]["callees"]:
        found += with_callees(layers, callee)
    return found


def measured_layers(folder):
    """Of each layer its name, its instructions, and the layers whose pixels it computes with it."""
    for program in sorted(folder.iterdir()):
        layers = json.loads((program / "layers.json").read_text())
        text = (program / "out").read_text()
        for index, count in re.findall(r"layer (\d+) (\d+)$", text, re.MULTILINE):
            name = f"{program.name} {index} {layers[int(index)]['kernel']}"
            yield name, int(count), with_callees(layers, int(index))


class Core:
    """The layers of a core as a system of equations: steps, elements and rounds of each text."""

    def __init__(self, folder):
        self.rows = list(measured_layers(folder))
        self.count = np.array([count for _, count, _ in self.rows], float)
        self.products = np.array([sum(each["products"] for each in group)
                                  for _, _, group in self.rows])

    def texts(self):
        return {text for _, _, group in self.rows for layer in group for text in layer["steps"]}

    def matrix(self, texts):
        at = {text: 3 * i for i, text in enumerate(texts)}
        matrix = np.zeros((len(self.rows), 3 * len(texts)))
        for row, (_, _, group) in enumerate(self.rows):
            for layer in group:
                for text, steps in layer["steps"].items():
                    k = at[text]
                    matrix[row, k:k + 3] += (steps, layer["elements"], layer["rounds"])
        return matrix

    def fit(self, matrix, guess=None):
        weight = 1 / np.maximum(self.count, LEAST)
        a, y = matrix * weight[:, None], np.maximum(self.count - self.products, 0) * weight
        if guess is not None:  # where layers do not tell, as on the other core
            scale = PRIOR / np.maximum(guess, 0.1)
            a, y = np.vstack([a, np.diag(scale)]), np.concatenate([y, scale * guess])
        costs = nnls(a, y, maxiter=50000)[0]
        unlikely = [k for k in range(2, len(costs), 3) if costs[k] > LARGEST]
        if unlikely:  # rounds that take the instructions of steps
            a[:, unlikely] = 0
            costs = nnls(a, y, maxiter=50000)[0]
        return costs


def say(name, core, matrix, costs):
    error = (matrix @ costs + core.products) / core.count - 1
    large = core.count > 20000
    print(f"{name}: {len(error)} layers; of {large.sum()} large ones half are within "
          f"{np.median(abs(error[large])):.0%}, 90 % within {np.quantile(abs(error[large]), 0.9):.0%}",
          file=sys.stderr)
    worst = sorted(np.flatnonzero(large), key=lambda i: -abs(error[i]))[:8]
    for i in worst:
        print(f"    {error[i]:+.0%} of {core.count[i]:.0f}: {core.rows[i][0]}", file=sys.stderr)


def number(cost):
    return "0" if cost < 0.005 else f"{cost:.3g}" if cost < 1000 else f"{cost:.0f}"


def main():
    cores = {name: Core(pathlib.Path(sys.argv[1]) / name) for name in CORES}
    texts = sorted(set().union(*(core.texts() for core in cores.values())))
    matrices = {name: core.matrix(texts) for name, core in cores.items()}
    costs = {name: cores[name].fit(matrices[name]) for name in ("m3", "m4")}
    for name in ("m0_large", "rv32"):
        core, matrix = cores[name], matrices[name]
        both = core.count > 20000
        factor = np.median((core.count - core.products)[both] / (matrix @ costs["m3"])[both])
        costs[name] = core.fit(matrix, factor * costs["m3"])
    for name in CORES:
        say(name, cores[name], matrices[name], costs[name])
    for i, text in enumerate(texts):
        each = ["{" + ", ".join(map(number, costs[name][3 * i:3 * i + 3])) + "}" for name in CORES]
        if any(cost >= 0.005 for name in CORES for cost in costs[name][3 * i:3 * i + 3]):
            print(f'    {{"{text}", {{{{{", ".join(each)}}}}}}},')


if __name__ == "__main__":
    main()
