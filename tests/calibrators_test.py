#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The thresholds of the calibrator kl are those of ONNX Runtime's entropy calibrator.

Usage: calibrators_test.py PROGRAM

PROGRAM is kl_divergences. Skips with exit code 77 if a package is absent: pip install numpy
onnxruntime

Both compute the algorithm of TensorRT, on other bins. ONNX Runtime's bins lie around zero:

    candidate i:   2 i + 1 bins, the middle one for zero, in N levels of floor((2 i + 1) / N) bins;
                   the remaining bins have no level, and a count of almost zero
    Halftone's:    i bins of magnitudes, in L levels of i / L bins

So ONNX Runtime gets the magnitudes on the left of zero and nothing on the right, N = 2 L levels,
and only candidates whose levels have whole bins, i = m L, count: the left half then has exactly
the levels of Halftone. ONNX Runtime truncates counts to whole numbers and puts counts of 0.0001 in
place of zeros, so bins without counts, or with few, are not compared.
"""

import subprocess
import sys

from python_test import skip

NUM_BINS = 2048

try:
    import numpy as np
    from onnxruntime.quantization import calibrate
except ImportError as error:
    skip(f"{error}; pip install numpy onnxruntime")


def histograms():
    """Names and counts of magnitudes in bins, all above 1000."""
    bins = np.arange(NUM_BINS) + 0.5
    shapes = {
        "normal": np.exp(-0.5 * (bins / 300) ** 2),
        "wide normal": np.exp(-0.5 * (bins / 900) ** 2),
        "exponential": np.exp(-bins / 200),
        "power law": (bins + 20) ** -1.5,
        "two humps": np.exp(-0.5 * ((bins - 100) / 60) ** 2)
        + 0.02 * np.exp(-0.5 * ((bins - 1200) / 200) ** 2),
        "rising and falling": bins * np.exp(-bins / 250),
    }
    numbers = np.random.default_rng(3)
    for name, shape in shapes.items():
        noise = numbers.uniform(0.8, 1.2, NUM_BINS)
        yield name, 1000 + np.round(1e9 * noise * shape / shape.max()).astype(np.int64)


def halftone_divergences(program, counts, levels):
    """Of the thresholds after levels, levels + 1, ..., NUM_BINS bins."""
    done = subprocess.run([program, str(levels)], input=counts.tobytes(), capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode().strip())
    return np.frombuffer(done.stdout, np.float64)


def onnxruntime_divergences(counts, levels):
    """The same, as its calibrator computes them; and the threshold that it would choose."""
    mirrored = np.concatenate([counts[::-1], np.zeros(NUM_BINS + 1, np.int64)])
    edges = (np.arange(2 * NUM_BINS + 2) - NUM_BINS).astype(np.float32)
    found = []
    entropy = calibrate.entropy

    def recorded(p, q):
        found.append(entropy(p, q))
        return found[-1]

    collector = calibrate.HistogramCollector("entropy", True, 2 * NUM_BINS + 1, 2 * levels, 0, "same")
    calibrate.entropy = recorded
    try:
        histogram = (mirrored, edges, edges[0], edges[-1])
        collector.get_entropy_threshold(histogram, 2 * levels)
    finally:
        calibrate.entropy = entropy
    return np.array(found)


def main(program):
    failures = 0
    for name, counts in histograms():
        for levels in (128, 8):
            mine = halftone_divergences(program, counts, levels)
            theirs = onnxruntime_divergences(counts, levels)
            assert len(mine) == len(theirs) == NUM_BINS - levels + 1, (len(mine), len(theirs))
            whole = slice(0, None, levels)  # thresholds after levels, 2 levels, ... bins
            difference = np.max(np.abs(mine[whole] - theirs[whole]) / (1e-4 + theirs[whole]))
            chosen = [levels * (1 + int(np.argmin(each[whole]))) for each in (mine, theirs)]
            is_same = difference < 1e-3 and chosen[0] == chosen[1]
            failures += not is_same
            print(f"{'ok' if is_same else 'FAILED'}: {name}, {levels} levels: thresholds after "
                  f"{chosen[0]} and {chosen[1]} bins, divergences differ by {difference:.1e}")
    return failures


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
