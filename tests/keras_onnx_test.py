#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX files that Keras 3 exports with open height, width or length run at any size.

Usage: keras_onnx_test.py PROGRAM

PROGRAM is halftone. Outputs are those of ONNX Runtime at three sizes, and quantized files keep the
extents. Keras traces a network at sizes of 1, which become constants of recurrent layers and of
padding, so that such a file computes other numbers than Keras. Skips with exit code 77 if a
package is absent: pip install numpy keras torch onnx onnxscript onnxruntime
"""

import os
import sys

from python_test import Program, check_quantized_sizes, check_sizes, np, run_checks, skip

os.environ["KERAS_BACKEND"] = "torch"

try:
    import keras
    import onnxruntime
    import onnxscript  # noqa: F401
    from keras import layers
except ImportError as error:
    skip(f"{error}; pip install numpy keras torch onnx onnxscript onnxruntime")

# Sums of up to 144 products of numbers below 2, in another order.
TOLERANCE = 144 * 4 * 6e-8


def segmentation(x):
    """Down by a stride, up by bilinear steps beside a transposed layer."""
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    b = layers.Conv2D(16, 3, strides=2, padding="same")(a)
    b = layers.ReLU()(layers.BatchNormalization()(b))
    up = layers.UpSampling2D(2, interpolation="bilinear")(b)
    both = layers.Concatenate()([up, layers.Conv2DTranspose(8, 2, strides=2)(b)])
    return layers.Conv2D(2, 1, activation="softmax")(both)


def recurrent(x, cell):
    return layers.Dense(3)(cell(5)(cell(8, return_sequences=True)(x)))


def mobile(x):
    """A block of an EfficientNet: depthwise, and scaled by what squeezes all pixels."""
    h = layers.Conv2D(8, 3, strides=2, padding="same", activation="swish")(x)
    d = layers.DepthwiseConv2D(3, padding="same")(layers.Conv2D(16, 1, activation="swish")(h))
    d = layers.Activation("swish")(d)
    s = layers.Conv2D(4, 1, activation="swish")(layers.GlobalAveragePooling2D(keepdims=True)(d))
    d = layers.Multiply()([d, layers.Conv2D(16, 1, activation="sigmoid")(s)])
    h = layers.Add()([h, layers.Conv2D(8, 1)(d)])
    return layers.Dense(4)(layers.GlobalAveragePooling2D()(h))


def causal(x):
    h = layers.SeparableConv1D(8, 3, padding="same", activation="relu")(x)
    return layers.Conv1D(6, 5, padding="causal", dilation_rate=2)(h)


IMAGES = [(32, 32), (20, 28), (64, 16)]
LENGTHS = [(5,), (8,), (17,)]
# Name, channels of the input, sizes, layers.
NETWORKS = [
    ("segmentation", 3, IMAGES, segmentation), ("mobile", 3, IMAGES, mobile),
    ("lstm", 6, LENGTHS, lambda x: recurrent(x, layers.LSTM)),
    ("gru", 6, LENGTHS, lambda x: recurrent(x, layers.GRU)),
    ("causal", 4, LENGTHS, causal),
]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def check(program, name, channels, sizes, build, folder):
    keras.utils.set_random_seed(3)
    x = layers.Input((*[None] * len(sizes[0]), channels))
    network = keras.Model(x, build(x))
    network.predict(numbers(1, *sizes[0], channels), verbose=0)
    path = folder / "m.onnx"
    network.export(str(path), format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(str(path))
    first = session.get_inputs()[0].name
    inputs = [(size, numbers(1, *size, channels)) for size in sizes]
    expected = [(size, x, session.run(None, {first: x})[0]) for size, x in inputs]
    samples = numbers(16, *sizes[1], channels)
    for text, right in (*check_sizes(program, path, expected, TOLERANCE, folder),
                        *check_quantized_sizes(program, path, inputs, samples, folder)):
        yield f"{name}, {text}", right


def main(path):
    program = Program(path)
    return run_checks([(case[0], lambda folder, case=case: check(program, *case, folder))
                       for case in NETWORKS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
