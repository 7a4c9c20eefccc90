#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MediaPipe's custom operators in TFLite files compute what their definitions say, in loops here.

Usage: tflite_media_pipe_test.py PROGRAM

PROGRAM is halftone. LiteRT has no kernels of them. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert

Pooling is exact. Points differ by roundings of about 20 operations on numbers up to `size`, and
parts of images by that of their positions times the slope of the image.
"""

import math
import struct
import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import np
from flatbuffers import flexbuffers

ROUNDING = 20 * 2.0 ** -24
numbers = np.random.default_rng(162)


def network(path, name, inputs, outputs, options, version=1):
    """One custom operator. `options` are a map, or the six integers of a pooling."""
    file = tf.File()
    graph = file.main
    tensors = [graph.input(f"x{i}", x.shape, np.float32) for i, x in enumerate(inputs)]
    graph.table.outputs = [graph.tensor(f"y{i}", shape, np.float32)
                           for i, shape in enumerate(outputs)]
    raw = bytes(flexbuffers.Dumps(options)) if isinstance(options, dict) else \
        struct.pack("<10i", *options, *[0] * 4)
    graph.op(name, tensors, graph.table.outputs, custom=raw)
    file.table.operatorCodes[0].version = version
    return file.write(path)


def run(program, folder, *arguments, **more):
    path = network(folder / "m.tflite", *arguments, **more)
    inputs = [x.astype(np.float32) for x in arguments[1]]
    out = folder / "out"
    for file in out.glob("*") if out.is_dir() else []:
        file.unlink()
    return program.run(path, inputs, folder)


def near(found, expected, bound):
    return found.shape == expected.shape and np.max(np.abs(found - expected), initial=0) <= bound


def pooled(x, same, strides, kernel):
    """The largest elements and their positions in the windows, plus 0.1."""
    counts = [(n + s - 1) // s if same else (n - k + s) // s
              for n, s, k in zip(x.shape[1:3], strides, kernel)]
    before = [max((c - 1) * s + k - n, 0) // 2
              for c, s, k, n in zip(counts, strides, kernel, x.shape[1:3])]
    y = np.full([x.shape[0], *counts, x.shape[3]], -np.inf, np.float32)
    at = np.zeros_like(y)
    for n, i, j, c in np.ndindex(*y.shape):
        for u, v in np.ndindex(*kernel):
            row, col = i * strides[0] - before[0] + u, j * strides[1] - before[1] + v
            if 0 <= row < x.shape[1] and 0 <= col < x.shape[2] and x[n, row, col, c] > y[n, i, j, c]:
                y[n, i, j, c] = x[n, row, col, c]
                at[n, i, j, c] = np.float32(u * kernel[1] + v) + np.float32(0.1)
    return y, at


def unpooled(x, at, strides, kernel):
    rows, cols = x.shape[1] * kernel[0], x.shape[2] * kernel[1]
    before = [max((n - 1) * s + k - m, 0) // 2
              for n, s, k, m in zip(x.shape[1:3], strides, kernel, (rows, cols))]
    y = np.zeros([x.shape[0], rows, cols, x.shape[3]], np.float32)
    for n, i, j, c in np.ndindex(*x.shape):
        tap = int(at[n, i, j, c])
        u, v = int(math.trunc(tap / kernel[1])), int(math.fmod(tap, kernel[1]))
        row, col = i * strides[0] - before[0] + u, j * strides[1] - before[1] + v
        if 0 <= row < rows and 0 <= col < cols:
            y[n, row, col, c] = x[n, i, j, c]
    return y


# padding (1 SAME, 2 VALID), strides and kernel by row and column, an image
POOLINGS = [(2, (2, 2), (2, 2), (1, 4, 6, 3)), (1, (2, 2), (3, 3), (2, 5, 7, 2)),
            (2, (1, 2), (3, 2), (1, 5, 6, 1)), (1, (2, 2), (2, 2), (1, 3, 5, 4)),
            (1, (1, 1), (3, 2), (1, 4, 4, 2)), (2, (3, 1), (1, 4), (1, 7, 4, 2))]


def poolings(program, folder):
    for padding, strides, kernel, shape in POOLINGS:
        # Few values, of which many are equal: the first one counts.
        x = numbers.integers(-3, 3, shape).astype(np.float32)
        options = (padding, strides[1], strides[0], kernel[1], kernel[0], 0)
        y, at = pooled(x, padding == 1, strides, kernel)
        found = run(program, folder, "MaxPoolingWithArgmax2D", [x], [y.shape, at.shape], options)
        right = np.array_equal(found[0], y) and np.array_equal(found[1], at)
        yield f"pool {padding} {strides} {kernel} {shape}", right
        whole = unpooled(y, at, strides, kernel)
        found = run(program, folder, "MaxUnpooling2D", [y, at], [whole.shape], options)
        yield f"unpool {padding} {strides} {kernel} {shape}", np.array_equal(found[0], whole)
        far = numbers.uniform(-9, 20, at.shape).astype(np.float32)
        whole = unpooled(y, far, strides, kernel)
        found = run(program, folder, "MaxUnpooling2D", [y, far], [whole.shape], options)
        yield f"unpool outside {padding} {strides} {kernel}", np.array_equal(found[0], whole)
    x = numbers.uniform(-9, 9, (1, 4, 4, 2)).astype(np.float32)
    y, at = pooled(x, False, (2, 2), (2, 2))
    found = run(program, folder, "MaxPoolingWithArgmax2D", [x], [y.shape] * 2, (2, 2, 2, 2, 2, 3))
    yield "pool with RELU6", np.array_equal(found[0], np.clip(y, 0, 6))


def transformed_landmarks(program, folder):
    matrix = numbers.uniform(-3, 3, (1, 4, 4)).astype(np.float32)
    for dimensions in (2, 3):
        for version, shape in ((1, (1, 1, 1, 7 * dimensions)), (2, (1, 7, dimensions))):
            scale = 2.5 if version == 1 else 1.0
            options = {"dimensions": dimensions, "scale": scale} if version == 1 else {}
            x = numbers.uniform(-50, 50, shape).astype(np.float32)
            expected = x.astype(np.float64).reshape(-1, dimensions)
            expected[:, :2] = expected[:, :2] @ matrix[0, :2, :2].T + matrix[0, :2, 3] * scale
            found = run(program, folder, "TransformLandmarks", [x, matrix], [shape], options,
                        version=version)
            yield f"TransformLandmarks {version} {dimensions}", \
                near(found[0], expected.reshape(shape), ROUNDING * 400)


def first_matrix(points, o):
    """Landmarks2TransformMatrix, version 1, by products of matrices [3, 3]."""
    left, right = points[o["left_rotation_idx"]], points[o["right_rotation_idx"]]
    turn = -math.atan((right[1] - left[1]) / (right[0] - left[0]))

    def rotation(a):
        return np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
    seen = points[o["subset"]] @ rotation(turn).T
    high, low = seen.max(0), seen.min(0)
    size = (high - low) * o["bbox_size_multiplier"] / o["landmarks_range"]
    middle = rotation(-turn) @ ((high + low) / 2) / o["landmarks_range"] * 2 - 1
    (ih, iw), (oh, ow) = o["input_hw"], o["output_hw"]
    absolute = np.array([[(iw - 1) / 2, 0, (iw - 1) / 2], [0, (ih - 1) / 2, (ih - 1) / 2],
                         [0, 0, 1]])
    turned = np.eye(3)
    turned[:2, :2], turned[:2, 2] = rotation(-turn), middle
    relative = np.array([[2 / (ow - 1), 0, -1], [0, 2 / (oh - 1), -1], [0, 0, 1]])
    return absolute @ turned @ np.diag([*size, 1]) @ relative


def second_matrix(points, o):
    left, right = points[o["left_rotation_idx"]], points[o["right_rotation_idx"]]
    turn = o["target_rotation_radians"] - math.atan2(right[1] - left[1], right[0] - left[0])

    def rotation(a):
        turned = np.eye(3)
        turned[:2, :2] = [[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]
        return turned

    def shift(x, y):
        return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]])
    seen = points[o["subset_idxs"]] @ rotation(turn)[:2, :2].T
    high, low = seen.max(0), seen.min(0)
    center = rotation(-turn)[:2, :2] @ ((high + low) / 2)
    width, height = o["output_width"], o["output_height"]
    size = (high - low) * [o["scale_x"], o["scale_y"]] / [width, height]
    return shift(*center) @ rotation(-turn) @ np.diag([*size, 1]) @ shift(-width / 2, -height / 2)


def whole_matrix(m):
    y = np.eye(4)
    y[:2, :2], y[:2, 3] = m[:2, :2], m[:2, 2]
    return y[None]


def landmark_matrices(program, folder):
    for case in range(12):
        x = numbers.uniform(0, 192, (10, 3)).astype(np.float32)
        subset = [int(i) for i in numbers.integers(0, 10, 3 + case % 4)]
        o = {"dimensions": 3, "subset": subset, "input_hw": [256, 192], "output_hw": [64, 48],
             "landmarks_range": 192, "bbox_size_multiplier": 1.5, "left_rotation_idx": case % 5,
             "right_rotation_idx": 5 + case % 5}
        expected = whole_matrix(first_matrix(x.astype(np.float64)[:, :2], o))
        found = run(program, folder, "Landmarks2TransformMatrix", [x.reshape(1, 1, 1, 30)],
                    [[1, 4, 4]], o)
        yield f"Landmarks2TransformMatrix 1 {case}", near(found[0], expected, ROUNDING * 1000)
        o = {"subset_idxs": subset, "target_rotation_radians": [0.0, 1.5, -2.0][case % 3],
             "output_height": 64, "output_width": 48, "scale_x": 1.5, "scale_y": 1.25,
             "left_rotation_idx": 5 + case % 5, "right_rotation_idx": case % 5}
        expected = whole_matrix(second_matrix(x.astype(np.float64)[:, :2], o))
        found = run(program, folder, "Landmarks2TransformMatrix", [x.reshape(1, 10, 3)],
                    [[1, 4, 4]], o, version=2)
        yield f"Landmarks2TransformMatrix 2 {case}", near(found[0], expected, ROUNDING * 1000)


def sampled(x, matrix, height, width, moved):
    y = np.zeros((1, height, width, x.shape[3]))
    last = np.array([x.shape[2] - 1, x.shape[1] - 1])
    sure = np.ones((1, height, width, 1), bool)
    for i, j in np.ndindex(height, width):
        at = matrix[0, :2, :2] @ [j + moved, i + moved] + matrix[0, :2, 3] - moved
        sure[0, i, j] = np.min(np.abs([*at, *(at - last)])) > 1e-4  # no rounding moves it inside
        if np.all(at >= 0) and np.all(at <= last):
            col, row = (int(math.floor(v)) for v in at)
            right, low = at[0] - col, at[1] - row
            c2, r2 = min(col + 1, last[0]), min(row + 1, last[1])
            y[0, i, j] = (1 - low) * ((1 - right) * x[0, row, col] + right * x[0, row, c2]) + \
                low * ((1 - right) * x[0, r2, col] + right * x[0, r2, c2])
    return y, sure


def parts_of_images(program, folder):
    for case in range(8):
        shape = [(1, 9, 7, 2), (1, 6, 12, 1), (1, 1, 5, 3), (1, 8, 8, 1)][case % 4]
        matrix = np.eye(4)[None]
        matrix[0, :2, :2] = numbers.uniform(-1.5, 1.5, (2, 2))
        matrix[0, :2, 3] = numbers.uniform(0, 5, 2)
        if case % 4 == 3:
            matrix = np.eye(4)[None]  # the image itself
        matrix = matrix.astype(np.float32)
        x = numbers.uniform(-1, 1, shape).astype(np.float32)
        for name, version, options in (
                ("TransformTensor", 1, {"mode": "bilinear", "output_size": [5, 6]}),
                ("TransformTensorBilinear", 2, {"output_height": 5, "output_width": 6})):
            expected, sure = sampled(x, matrix.astype(np.float64), 5, 6, (version - 1) / 2)
            found = run(program, folder, name, [x, matrix], [expected.shape], options,
                        version=version)
            sure |= case % 4 == 3
            yield f"{name} {case}", near(found[0] * sure, expected * sure, ROUNDING * 2 * 30)


def main(path):
    program = Program(path)
    return run_checks([(check.__name__, lambda folder, check=check: check(program, folder))
                       for check in (poolings, transformed_landmarks, landmark_matrices,
                                     parts_of_images)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
