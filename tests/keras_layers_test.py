#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keras layers that TensorFlow's converter writes as loops, blocks or computed shapes.

Usage: keras_layers_test.py PROGRAM

PROGRAM is halftone. Compares its outputs with those of LiteRT. Skips with exit code 77 if a package
is absent: pip install numpy tensorflow ai-edge-litert
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from python_test import skip

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

try:
    import numpy as np
    import tensorflow
    from ai_edge_litert.interpreter import Interpreter
except ImportError as error:
    skip(f"{error}; pip install numpy tensorflow ai-edge-litert")

layers = tensorflow.keras.layers

# Sums in another order, relative to 1 + |y|.
TOLERANCE = 1e-5

# Name, shape of a sample, batch (None: open), layers.
NETWORKS = [
    ("lstm", (6, 3), 1, [layers.LSTM(4)]),
    ("lstm_relu", (6, 3), 1, [layers.LSTM(4, activation="relu",
                                          recurrent_activation="hard_sigmoid")]),
    ("lstm_sequence", (6, 3), 4, [layers.LSTM(4, return_sequences=True), layers.LSTM(5)]),
    ("lstm_backwards", (6, 3), 1, [layers.LSTM(4, go_backwards=True, return_sequences=True)]),
    ("bidirectional", (6, 3), 1, [layers.Bidirectional(layers.LSTM(4))]),
    ("gru", (6, 3), 1, [layers.GRU(4, return_sequences=True)]),
    ("gru_reset_before", (6, 3), 1, [layers.GRU(4, reset_after=False)]),
    ("gru_without_bias", (6, 3), 1, [layers.GRU(4, use_bias=False)]),
    ("rnn", (6, 3), 1, [layers.SimpleRNN(4, activation="relu")]),
    ("dilated", (12, 12, 3), None, [layers.Conv2D(4, 3, dilation_rate=2, padding="same")]),
    ("dilated_valid", (12, 12, 3), None, [layers.Conv2D(4, 3, dilation_rate=(2, 3))]),
    ("dilated_depthwise", (9, 9, 3), None,
     [layers.DepthwiseConv2D(3, dilation_rate=2, padding="same")]),
    ("dilated_causal", (20, 3), None,
     [layers.Conv1D(4, 3, dilation_rate=4, padding="causal", activation="relu")]),
    ("shapes", (8, 3), None, [layers.Flatten(), layers.Dense(6), layers.Reshape((2, 3))]),
    ("normalized", (6, 6, 4), None, [layers.LayerNormalization(), layers.GroupNormalization(2)]),
    ("upsampled", (4, 4, 3), None, [layers.UpSampling2D(2, interpolation="bilinear"),
                                    layers.Conv2DTranspose(3, 3, strides=2, padding="same")]),
]


def convert(shape, batch, stack, path):
    """Writes a network with random weights, biases included."""
    network = tensorflow.keras.Sequential([layers.Input(shape, batch_size=batch), *stack])
    numbers = np.random.default_rng(3)
    network.set_weights([numbers.uniform(-0.6, 0.6, w.shape) for w in network.get_weights()])
    path.write_bytes(tensorflow.lite.TFLiteConverter.from_keras_model(network).convert())


def difference(program, model, folder):
    interpreter = Interpreter(str(model))
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    x = np.random.default_rng(5).standard_normal(given["shape"]).astype(np.float32)
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.save(folder / "x.npy", x)
    done = subprocess.run([program, "run", model, "--input", folder / "x.npy", "-o", folder],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    found = np.load(folder / "out0.npy")
    return float((np.abs(found - expected) / (1 + np.abs(expected))).max())


def main(program):
    failures = 0
    for name, shape, batch, stack in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                convert(shape, batch, stack, folder / "network.tflite")
                worst = difference(program, folder / "network.tflite", folder)
                text, right = f"{name}: {worst:.1e}", worst <= TOLERANCE
            except RuntimeError as error:
                text, right = f"{name}: {error}", False
        print("right " if right else "WRONG ", text, flush=True)
        failures += not right
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
