#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well quantize --budget predicts, and whether budgets are kept.

Usage: budgets.py PROGRAM MODEL --data DATA [options] [-- OPTIONS OF quantize]

Quantizes MODEL within budgets that are evenly spaced between the smallest and the largest network
of the Pareto front. Prints what was predicted and measured of the first network that was tried, Spearman's
rank correlation of both, and how much of the budget the chosen network leaves. Sensitivities are
measured once.

Options:
  --measure M    bytes or us: what is limited (bytes)
  --budgets N    (10)
  --folder DIR   keeps networks and the state of the search
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def ranks(values: list[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    for rank, i in enumerate(order):
        result[i] = rank
    return result


def rank_correlation(a: list[float], b: list[float]) -> float:
    x, y = ranks(a), ranks(b)
    mean = (len(x) - 1) / 2
    product = sum((p - mean) * (q - mean) for p, q in zip(x, y))
    return product / sum((p - mean) ** 2 for p in x)


def main() -> None:
    own, _, rest = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--data", required=True)
    parser.add_argument("--measure", choices=["bytes", "us"], default="bytes")
    parser.add_argument("--budgets", type=int, default=10)
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args(own.split())
    folder = options.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    def quantize(limit: float) -> dict:
        command = [options.program, "quantize", options.model, "-o", str(folder / "network.circle"),
                   "--data", options.data, "--budget", f"{options.measure}={limit:.10g}",
                   "--state", str(folder / f"{options.measure}.json"), "--json", *rest.split()]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return {"error": run.stderr.strip()}
        return json.loads(run.stdout)

    measure = options.measure
    front = quantize(1e12)["front"]
    low, high = front[0][measure], front[-1][measure]
    predicted: dict[str, list[float]] = {"loss": [], measure: []}
    measured: dict[str, list[float]] = {"loss": [], measure: []}
    print(f"| budget | {measure} predicted | measured | loss predicted | measured | tries | left |")
    print("|---|---|---|---|---|---|---|")
    for i in range(options.budgets):
        limit = low + (high - low) * (i + 1) / options.budgets
        result = quantize(limit)
        if "error" in result:
            print(f"| {limit:.6g} | {result['error']} | | | | | |")
            continue
        tried = result["tries"][0]
        for key in predicted:
            predicted[key].append(tried["predicted"][key])
            measured[key].append(tried["measured"][key])
        left = 1 - result["chosen"][measure] / limit
        print(f"| {limit:.6g} | {tried['predicted'][measure]:.6g} | "
              f"{tried['measured'][measure]:.6g} | {tried['predicted']['loss']:.4g} | "
              f"{tried['measured']['loss']:.4g} | {len(result['tries'])} | {left:.1%} |",
              flush=True)
    for key in predicted:
        errors = [abs(p / m - 1) for p, m in zip(predicted[key], measured[key]) if m > 0]
        print(f"{key}: rank correlation {rank_correlation(predicted[key], measured[key]):.3f}, "
              f"largest relative error {max(errors):.1%}")


if __name__ == "__main__":
    main()
