#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Halftone inside PyTorch, ONNX Runtime and LiteRT, and alone, beside what these have of their own.

usage: frameworks.py PACKAGE DATA [--networks NAME ...] [--threads N ...] [--seconds S] [--page FILE]

PACKAGE is the folder of the Python package, DATA has models, cifar10 and kws. Needs PyTorch,
torchao, onnx, onnxruntime, openvino, nncf and ai-edge-litert (tests/peers_large.txt); what they
cannot make is named on standard error and left out. Prints a table in Markdown for each network: a
batch of 1 and of 16 on each number of threads, bytes of the file or of the state dict, and the
accuracy, or the distance of outputs from those of floats, |y - f| / |f|. Times are microseconds: the
median of calls, while S seconds go through all rows in turn. With --page the tables also take the
place of those in a document that have the same first cells (docs/results.md).
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

CALLS, MIN_ROUNDS, REST_S = 4, 3, 0.01
NAMES = ("resnet20", "mobilenet", "ds_cnn", "lstm", "bert", "linear")


def median_times(functions, seconds):
    """Microseconds of a call of each."""
    times, end = [[] for _ in functions], time.monotonic() + seconds
    rounds = 0
    while rounds < MIN_ROUNDS or time.monotonic() < end:
        rounds += 1
        for function, each in zip(functions, times):
            time.sleep(REST_S)  # threads of the one before spin for a while
            function()
            for _ in range(CALLS):
                begin = time.perf_counter()
                function()
                each.append((time.perf_counter() - begin) * 1e6)
    return [statistics.median(each) for each in times]


def measure(arguments, name, threads):
    """Prints the rows of a network as JSON: name, bytes, quality, and a time for each batch."""
    sys.path[:0] = [str(arguments.package.resolve()),
                    str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests")]
    warnings.simplefilter("ignore")
    import torch

    import halftone
    import halftone.torch
    from framework_forms import BATCHES, Forms, made, quality
    from framework_networks import case_of

    torch.set_num_threads(threads)
    case = case_of(name, arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        found = list(made(Forms(halftone, case, threads, pathlib.Path(folder))))
        count = len(case.test) // 16 * 16
        with torch.inference_mode():
            expected = case.module(torch.from_numpy(case.test[:count])).numpy()
        judged = [quality(case, function, expected) for _, function, _ in found]
        times = [median_times([lambda f=f, x=case.test[:batch]: f(x) for _, f, _ in found],
                              arguments.seconds) for batch in BATCHES]
    kind = "distance" if case.classes is None else "accuracy"
    rows = [[form, size, right, *row_times] for (form, _, size), right, *row_times in
            zip(found, judged, *times)]
    print(json.dumps({"title": case.title, "kind": kind, "rows": rows}))


def measured(arguments, name, threads):
    """The same in a process of its own, which begins with this number of threads."""
    command = [sys.executable, __file__, str(arguments.package), str(arguments.data), "--seconds",
               str(arguments.seconds), "--one", name, "--threads", str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(arguments, name):
    """The lines of a table."""
    found = [measured(arguments, name, threads) for threads in arguments.threads]
    times = " | ".join(f"{threads} thread{'s' * (threads > 1)}: 1 | 16"
                       for threads in arguments.threads)
    lines = [f"| {found[0]['title']} | {times} | bytes | {found[0]['kind']} |",
             "|---" * (3 + 2 * len(found)) + "|"]
    for form, size, right, *row in found[0]["rows"]:
        cells = [form, *(f"{each:.0f}" for each in row)]
        for other in found[1:]:  # a form that could not be made there has no times
            times = next((each[3:] for each in other["rows"] if each[0] == form), None)
            cells += ["–", "–"] if times is None else [f"{each:.0f}" for each in times]
        cells += [str(size), f"{right:.1f} %"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def put(page, lines):
    """Replaces the table of a document with this first cell. Its numbers are of this order."""
    text = page.read_text()
    begin = text.index(lines[0].split(" | ")[0] + " | ")
    end = text.index("\n\n", begin)
    rows = [row.replace(" | ", " | ~") for row in lines[2:]]
    for exact in ("0.0 %", "–"):
        rows = [row.replace(f"~{exact}", exact) for row in rows]
    page.write_text(text[:begin] + "\n".join([*lines[:2], *rows]) + text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--networks", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--one", choices=NAMES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return measure(arguments, arguments.one, arguments.threads[0])
    for name in arguments.networks:
        lines = table(arguments, name)
        print("\n".join(lines), end="\n\n", flush=True)
        if arguments.page:
            put(arguments.page, lines)


if __name__ == "__main__":
    main()
