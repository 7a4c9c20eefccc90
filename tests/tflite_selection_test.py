#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of TFLite files that find elements and boxes find those of LiteRT.

Usage: tflite_selection_test.py PROGRAM

PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert

Integers are equal. Boxes of detectors differ by roundings of their decoding: y / scale, times the
size, plus the centre, minus half the size, of numbers below 4, so by less than 8 * 4 * 6e-8.
"""

import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import np, schema
from flatbuffers import flexbuffers

TOLERANCE = 2e-6
numbers = np.random.default_rng(62)


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def boxes_of(count, grid=None):
    """Boxes [count, 4] by two opposite corners; on a grid, so that many overlap by equal parts.

    None is empty: LiteRT finds empty boxes twice, TensorFlow does not.
    """
    if grid is None:
        return numbers.uniform(0, 1, (count, 4)).astype(np.float32)
    corners = numbers.integers(0, grid, (count, 2, 2))
    sizes = numbers.integers(1, 4, (count, 1, 2)) * [[[0], [1]]]
    return (corners[:, :1] + sizes).reshape(count, 4).astype(np.float32)


def scores_of(shape, levels=None):
    """Scores of 0 to 1; of few levels, so that many are equal."""
    if levels is None:
        return numbers.uniform(0, 1, shape).astype(np.float32)
    return (numbers.integers(0, levels + 1, shape) / levels).astype(np.float32)


def suppression(path, count, most, iou, least, with_scores):
    file = tf.File()
    graph = file.main
    inputs = [graph.input("boxes", [count, 4], np.float32),
              graph.input("scores", [count], np.float32),
              graph.constant("most", np.int32(most)), graph.constant("iou", np.float32(iou)),
              graph.constant("least", np.float32(least))]
    outputs = [graph.tensor("selected", [most], np.int32), graph.tensor("valid", [], np.int32)]
    if with_scores:
        inputs.append(graph.constant("sigma", np.float32(0)))
        outputs.insert(1, graph.tensor("selected_scores", [most], np.float32))
    code = f"NON_MAX_SUPPRESSION_V{5 if with_scores else 4}"
    graph.op(code, inputs, outputs, options(f"NonMaxSuppressionV{5 if with_scores else 4}"))
    graph.table.outputs = outputs
    return file.write(path)


def detector(path, count, classes, background=1, coordinates=4, **fields):
    """The custom operator. @return the file and its fields"""
    fields = {"max_detections": 10, "max_classes_per_detection": 1, "num_classes": classes,
              "nms_score_threshold": 0.4, "nms_iou_threshold": 0.5, "use_regular_nms": False,
              "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, **fields}
    file = tf.File()
    graph = file.main
    anchors = numbers.uniform(0.2, 0.8, (count, 4)).astype(np.float32)
    inputs = [graph.input("boxes", [1, count, coordinates], np.float32),
              graph.input("scores", [1, count, classes + background], np.float32),
              graph.constant("anchors", anchors)]
    n = fields["max_detections"] * fields["max_classes_per_detection"]
    outputs = [graph.tensor(name, shape, np.float32) for name, shape in
               (("found", [1, n, 4]), ("classes", [1, n]), ("best", [1, n]), ("count", [1]))]
    graph.op("TFLite_Detection_PostProcess", inputs, outputs,
             custom=bytes(flexbuffers.Dumps(fields)))
    graph.table.outputs = outputs
    return file.write(path)


def known_detections(fields, classes):
    """What LiteRT writes without use_regular_nms: not what lies past the last detection."""
    def known(outputs):
        boxes, kinds, scores, count = outputs
        rows, columns = int(count[0]), fields.get("max_classes_per_detection", 1)
        return [x.reshape(-1, columns, *x.shape[2:])[:rows, :classes]
                for x in (boxes, kinds, scores)] + [count]
    return known


def greedy(boxes, scores, most, iou, least):
    """Indices of boxes as TensorFlow suppresses them: of equal scores the first box is first."""
    def common(a, b):
        sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
        part = np.prod(np.maximum(sides, 0))
        return part / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - part)
    chosen = []
    for s in np.argsort(-scores, kind="stable"):
        if len(chosen) < most and scores[s] > least and \
                all(common(boxes[s], boxes[c]) < iou for c in chosen):
            chosen.append(s)
    indices = np.array(chosen + [0] * (most - len(chosen)), np.int32)
    return [indices, np.int32(len(chosen))]


def one_input(path, code, shape, dtype, outputs, made):
    file = tf.File()
    graph = file.main
    x = graph.input("x", shape, dtype)
    graph.table.outputs = [graph.tensor(f"y{i}", np.abs(s), t, signature=s)
                           for i, (s, t) in enumerate(outputs)]
    graph.op(code, [x], graph.table.outputs, made)
    return file.write(path)


def same(found, expected):
    def equal(a, b):
        b = np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return np.max(np.abs(a.astype(np.float64) - b), initial=0) <= \
            (TOLERANCE if a.dtype == np.float32 else 0)
    return len(found) == len(expected) and all(map(equal, found, expected))


def compare(program, path, inputs, folder, known=lambda outputs: outputs):
    """@param known  those parts of the outputs that LiteRT computes"""
    expected = tf.run_litert(path, inputs)
    found = program.run(path, inputs, folder)
    return same(known(found), known(expected))


def suppressions(program, folder):
    for case in range(60):
        count = int(numbers.integers(1, 40))
        grid = [None, 4, 8][case % 3]
        levels = [None, 4][case // 3 % 2] if grid else None
        most = int(numbers.integers(0, 12)) if case % 5 else count + 3
        iou = [0.5, 0.25, 1 / 3, 1.0, 0.0][case // 6 % 5]
        least = [0.0, 0.5, -1.0, 2.0][case % 4]
        with_scores = case % 2 == 1
        path = suppression(folder / "m.tflite", count, most, iou, least, with_scores)
        inputs = [boxes_of(count, grid), scores_of(count, levels)]
        if levels is None:
            right = compare(program, path, inputs, folder)
        else:  # LiteRT takes equal scores in no order
            found = program.run(path, inputs, folder)
            wanted = greedy(*inputs, most, np.float32(iou), least)
            right = same(found[::2] if with_scores else found, wanted)
        yield f"suppression {case}: {count} boxes, most {most}, iou {iou}, score {least}, " \
            f"levels {levels}", right


DETECTORS = [
    ("fast", {}),
    ("fast, no background", {"background": 0}),
    ("fast, 3 classes of a box", {"max_classes_per_detection": 3}),
    ("fast, more classes of a box than there are", {"max_classes_per_detection": 9}),
    ("fast, all above the threshold", {"nms_score_threshold": -1.0}),
    ("fast, all equal to the threshold or less", {"nms_score_threshold": 1.0}),
    ("fast, none", {"nms_score_threshold": 2.0}),
    ("fast, none suppressed", {"nms_iou_threshold": 1.0, "max_detections": 100}),
    ("fast, more numbers of a box", {"coordinates": 6}),
    ("regular", {"use_regular_nms": True, "detections_per_class": 5}),
    ("regular, no background", {"use_regular_nms": True, "background": 0}),
    ("regular, one of a class", {"use_regular_nms": True, "detections_per_class": 1}),
    ("regular, all", {"use_regular_nms": True, "nms_score_threshold": 0.0,
                      "nms_iou_threshold": 1.0, "max_detections": 200}),
    ("regular, none", {"use_regular_nms": True, "nms_score_threshold": 2.0}),
]


def detections(program, folder):
    for name, fields in DETECTORS:
        for case in range(6):
            # LiteRT sorts equal scores of one box in no order.
            shown = fields.get("max_classes_per_detection", 1)
            count, classes = int(numbers.integers(1, 30)), int(numbers.integers(1, 6))
            path = detector(folder / "m.tflite", count, classes, **fields)
            boxes = numbers.uniform(-4, 4, (1, count, fields.get("coordinates", 4)))
            scores = scores_of((1, count, classes + fields.get("background", 1)),
                               [None, 5][case % 2 if shown == 1 else 0])
            inputs = [boxes.astype(np.float32), scores]
            more = [] if fields.get("use_regular_nms") else [known_detections(fields, classes)]
            right = compare(program, path, inputs, folder, *more)
            yield f"detector, {name}: {count} boxes, {classes} classes", right


def found_elements(program, folder):
    for shape in ([7], [3, 4], [2, 3, 2], [1, 1]):
        for dtype in (np.bool_, np.float32, np.int32, np.int64, np.int8, np.uint8):
            path = one_input(folder / "m.tflite", "WHERE", shape, dtype,
                             [([-1, len(shape)], np.int64)], options("Where"))
            for part in (0, 0.4, 1):
                x = (numbers.uniform(0, 1, shape) < part) * numbers.integers(1, 9, shape)
                name = f"WHERE {shape} {np.dtype(dtype)}, {part}"
                if np.any(x):
                    yield name, compare(program, path, [x.astype(dtype)], folder)
                else:  # LiteRT hands out no tensor without elements
                    found = program.run(path, [x.astype(dtype)], folder)
                    yield name, same(found, [np.argwhere(x)])


def distinct_elements(program, folder):
    for count in (1, 6, 40):
        for dtype in (np.float32, np.int32, np.int64, np.int8, np.uint8):
            for index in (np.int32, np.int64):
                made = options("Unique", idxOutType=tf.TYPES[np.dtype(index)])
                path = one_input(folder / "m.tflite", "UNIQUE", [count], dtype,
                                 [([-1], dtype), ([count], index)], made)
                x = numbers.integers(0, 5, count) * 3
                yield f"UNIQUE {count} {np.dtype(dtype)} {np.dtype(index)}", \
                    compare(program, path, [x.astype(dtype)], folder)


def main(path):
    program = Program(path)
    return run_checks([(check.__name__, lambda folder, check=check: check(program, folder))
                       for check in (suppressions, detections, found_elements, distinct_elements)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
