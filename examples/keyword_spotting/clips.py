#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes clips.h: the features of some clips as constants in C.

usage: clips.py FEATURES.npy LABELS.npy INDEX ... > clips.h
FEATURES are float32 [clips, 49, 10, 1], LABELS int64 [clips].
"""
import ast
import struct
import sys

INPUTS = 49 * 10


def read(path, kind, size):
    """The numbers of a NumPy file in C order, as a function from an index and a count."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:begin].decode())
    assert header["descr"] == kind and not header["fortran_order"], header
    code = {"<f4": "f", "<i8": "q"}[kind]
    return lambda index, count: struct.unpack_from(f"<{count}{code}", data, begin + index * size)


def main(features, labels, indices):
    feature = read(features, "<f4", 4 * INPUTS)
    label = read(labels, "<i8", 8)
    print(f"enum {{ NUM_CLIPS = {len(indices)} }};")
    print(f"static const int spoken[NUM_CLIPS] = {{{', '.join(str(*label(i, 1)) for i in indices)}}};")
    print(f"static const float clips[NUM_CLIPS][{INPUTS}] = {{")
    for i in indices:
        print("  {" + ", ".join(f"{x.hex()}f" for x in feature(i, INPUTS)) + "},")
    print("};")


main(sys.argv[1], sys.argv[2], [int(i) for i in sys.argv[3:]])
