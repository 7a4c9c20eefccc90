#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the matrices of halftone/numerics/vector_basis.cc to a normal distribution.

Alternates between the nearest codeword of every number and the least squares matrix for these
codewords, from several starts, then rounds to integers whose rows have sums of magnitudes of at
most 127. The best of all is printed, with its error for other normal numbers. The matrices there
are the best of runs with 8 to 40 starts and 20000 or 40000 samples. Needs numpy.
Usage: fit_vector_basis.py [d D]
"""

import sys

import numpy as np

RATES = [(4, 8), (4, 9), (4, 10), (2, 6), (2, 7), (2, 8), (2, 10)]
SAMPLES = 20000


def nearest(x, codewords):
    half = (codewords * codewords).sum(1) / 2
    parts = [(x[i:i + 4000] @ codewords.T - half).argmax(1) for i in range(0, len(x), 4000)]
    return np.concatenate(parts)


def fit_once(x, signs, matrix, steps):
    for _ in range(steps):
        b = signs[nearest(x, signs @ matrix.T)]
        matrix = np.linalg.lstsq(b, x, rcond=None)[0].T.astype(np.float32)
    return matrix


def error(x, signs, matrix):
    """The mean squared error with the best scale, and the scale."""
    scale = 1.0 / np.abs(matrix).sum(1).max() * 3.0
    for _ in range(6):
        words = (signs @ matrix.T).astype(np.float32)
        y = words[nearest(x, words * np.float32(scale))]
        scale = float((x * y).sum() / (y * y).sum())
    return float(((x - scale * y) ** 2).mean()), scale


def start_of(rng, d, D, start):
    if start == 0 and D % d == 0:  # the scalar basis, slightly turned
        k = D // d
        matrix = np.concatenate([np.eye(d) * 0.5**i for i in range(k)], 1)
        matrix *= np.sqrt(0.88 / sum(0.25**i for i in range(k)))
        return (matrix + 0.05 * rng.standard_normal((d, D))).astype(np.float32)
    matrix = rng.standard_normal((d, D)).astype(np.float32)
    return matrix * (0.9 / np.sqrt((matrix * matrix).sum(1, keepdims=True)))


def rounded(matrix, most):
    """Integers whose rows sum to at most 127, the largest row to about `most`."""
    q = np.rint(matrix * (most / np.abs(matrix).sum(1).max())).astype(int)
    for row in q:
        while np.abs(row).sum() > 127:
            row[np.abs(row).argmax()] -= np.sign(row[np.abs(row).argmax()])
    return q


def fit(d, D, starts=16, steps=30):
    rng = np.random.default_rng(0)
    signs = np.array([[1 if c >> k & 1 else -1 for k in range(D)] for c in range(1 << D)],
                     dtype=np.float32)
    x = rng.standard_normal((SAMPLES, d)).astype(np.float32)
    test = rng.standard_normal((4 * SAMPLES, d)).astype(np.float32)
    best = None
    for start in range(starts):
        matrix = fit_once(x, signs, start_of(rng, d, D, start), steps)
        for most in (127, 122):
            q = rounded(matrix, most)
            e = error(x, signs, q.astype(np.float32))[0]
            if best is None or e < best[0]:
                best = (e, q)
    q = best[1]
    e, scale = error(test, signs, q.astype(np.float32))
    print(f"{d}x{D} mean squared error {e:.5f}, scale {scale:.5f}")
    print(f"  {q.tolist()}", flush=True)


if __name__ == "__main__":
    for rate in [tuple(map(int, sys.argv[1:3]))] if len(sys.argv) > 2 else RATES:
        fit(*rate)
