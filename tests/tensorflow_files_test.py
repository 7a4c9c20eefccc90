#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite files that TensorFlow's converter writes give the outputs of LiteRT, at every size.

Usage: tensorflow_files_test.py PROGRAM

PROGRAM is halftone. Functions and Keras networks with random weights: loops, TensorArrays, sizes
that are open or computed from the batch, and all ways in which the converter quantizes. LiteRT
runs without delegates; integers are compared with its reference kernels. Skips with exit code 77
if a package is absent: pip install numpy tensorflow ai-edge-litert
"""

import os
import sys

from python_test import Program, Refused, np, run_checks, skip

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

try:
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    skip(f"{error}; pip install numpy tensorflow ai-edge-litert")

layers = tf.keras.layers

# Sums of up to 144 products of numbers below 4, in another order, in up to 8 layers or iterations.
TOLERANCE = 8 * 144 * 4 * 6e-8
INTEGERS = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


MATRIX = tf.constant(numbers(6, 6))


def counted(x):
    return tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.tanh(a @ MATRIX)), [0, x])[1]


def until(x):
    return tf.while_loop(lambda a: tf.reduce_sum(tf.abs(a)) > 3., lambda a: (a * .7,), [x])


def rows(x):
    return tf.map_fn(lambda row: tf.tanh(tf.linalg.matvec(MATRIX, row)), x)


def written(x):
    """Rows of a TensorArray in the order of the steps."""
    rows_of = tf.TensorArray(tf.float32, size=6, element_shape=(1, 6))
    for i in tf.range(6):
        x = tf.tanh(x @ MATRIX)
        rows_of = rows_of.write(i, x)
    return tf.transpose(rows_of.stack(), [1, 0, 2])


def choice(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x @ MATRIX), lambda: tf.tanh(x))


# Name, shape with None for what is open, sizes, function.
FUNCTIONS = [
    ("while that counts", (4, 6), [(4, 6)], counted),
    ("while on data", (4, 6), [(4, 6)], until),
    ("cond", (4, 6), [(4, 6)], choice),
    ("map_fn", (5, 6), [(5, 6)], rows),
    ("scan", (5, 6), [(5, 6)], lambda x: tf.scan(lambda a, row: tf.tanh(a + row), x)),
    ("TensorArray", (1, 6), [(1, 6)], written),
    ("boolean_mask", (7, 3), [(7, 3)], lambda x: tf.boolean_mask(x, x[:, 0] > 0)),
    ("einsum", (2, 3, 4), [(2, 3, 4)], lambda x: tf.einsum("bij,bkj->bik", x, x)),
    ("stft", (1, None), [(1, 256), (1, 300), (1, 512)],
     lambda x: tf.abs(tf.signal.stft(x, 64, 32, fft_length=64))),
    ("batch and the rest", (None, 4, 6), [(1, 4, 6), (2, 4, 6), (5, 4, 6)],
     lambda x: tf.reshape(x, [tf.shape(x)[0], -1])),
    ("last rows", (2, None, 4), [(2, 6, 4), (2, 4, 4), (2, 3, 4)], lambda x: x[:, -3:]),
    ("pixels as rows", (None, None, None, 3), [(1, 4, 6, 3), (2, 5, 3, 3), (3, 8, 8, 3)],
     lambda x: tf.reshape(x, [tf.shape(x)[0], -1, 3])),
    ("positions", (None, None, 6), [(2, 4, 6), (1, 9, 6), (3, 32, 6)],
     lambda x: x + tf.constant(numbers(32, 6))[:tf.shape(x)[1]]),
    ("twice the size", (1, None, None, 3), [(1, 4, 6, 3), (1, 5, 3, 3), (1, 8, 8, 3)],
     lambda x: tf.image.resize(x, tf.shape(x)[1:3] * 2)),
    *((f"samples: {name}", (None, 6), [(1, 6), (3, 6), (5, 6)], f) for name, f in [
        ("number", lambda x: x * tf.cast(tf.shape(x)[0], tf.float32)),
        ("range", lambda x: x * tf.cast(tf.range(tf.shape(x)[0]), tf.float32)[:, None]),
        ("last", lambda x: (x @ MATRIX)[-3:]),
        ("half", lambda x: (x @ MATRIX)[:tf.shape(x)[0] // 2 + 1]),
        ("backward", lambda x: (x @ MATRIX)[::-1]),
        ("columns", lambda x: tf.tile(x[:, :1], [1, tf.shape(x)[0]])),
        ("padded", lambda x: tf.pad(x, [[0, 0], [0, tf.shape(x)[0]]])),
        ("one hot", lambda x: tf.one_hot(tf.argmax(x, 1), tf.shape(x)[0])),
        ("best", lambda x: tf.math.top_k(x, k=tf.minimum(tf.shape(x)[0], 2))[0]),
        ("token", lambda x: tf.concat([tf.broadcast_to(MATRIX[:1], tf.shape(x)), x], 1)),
    ]),
]


def convolutional(x):
    h = layers.Conv2D(8, 3, padding="same")(x)
    h = layers.MaxPooling2D()(layers.ReLU()(layers.BatchNormalization()(h)))
    h = layers.DepthwiseConv2D(3, padding="same", activation="relu6")(h)
    h = layers.Add()([layers.Conv2D(8, 1)(h), h])
    return layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(h))


def mobile(x):
    """A block of an EfficientNet."""
    h = layers.Conv2D(8, 3, strides=2, padding="same", activation="swish")(x)
    s = layers.GlobalAveragePooling2D(keepdims=True)(h)
    s = layers.Conv2D(8, 1, activation="sigmoid")(layers.Conv2D(4, 1, activation="swish")(s))
    return layers.Dense(3)(layers.GlobalMaxPooling2D()(layers.Multiply()([h, s])))


def causal(x):
    h = layers.Conv1D(6, 3, padding="causal", dilation_rate=2, activation="relu")(x)
    return layers.Dense(3)(layers.GlobalAveragePooling1D()(h))


def attention(x):
    h = layers.LayerNormalization()(x)
    h = layers.Add()([x, layers.MultiHeadAttention(2, 4)(h, h)])
    return layers.Add()([h, layers.Dense(6)(layers.Dense(12, activation="gelu")(h))])


def stacked(cell):
    return lambda x: layers.Dense(3)(cell(5)(cell(6, return_sequences=True)(x)))


IMAGES = [(16, 16, 3), (9, 24, 3), (32, 20, 3)]
LENGTHS = [(10, 6), (7, 6), (16, 6)]
# Name, shape of a sample, sizes, batch (None: open), layers.
NETWORKS = [
    ("convolutional", (None, None, 3), IMAGES, None, convolutional),
    ("mobile", (None, None, 3), IMAGES, None, mobile),
    ("causal", (None, 6), LENGTHS, None, causal),
    ("attention", (None, 6), LENGTHS, None, attention),
    ("lstm", (None, 6), LENGTHS, 1, stacked(layers.LSTM)),
    ("gru", (None, 6), LENGTHS, 2, stacked(layers.GRU)),
    ("convlstm", (4, 6, 6, 2), [(4, 6, 6, 2)], 1,
     lambda x: layers.ConvLSTM2D(3, 3, padding="same")(x)),
]


def network_of(shape, batch, build):
    x = layers.Input(shape, batch_size=batch)
    network = tf.keras.Model(x, build(x))
    values = np.random.default_rng(3)
    for weight in network.weights:
        low = 0.5 if "variance" in weight.path or "gamma" in weight.path else -0.5
        weight.assign(values.uniform(low, low + 1, weight.shape).astype(np.float32))
    return network


def run_litert(path, x, reference=False):
    kind = (OpResolverType.BUILTIN_REF if reference
            else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    interpreter = Interpreter(str(path), experimental_op_resolver_type=kind)
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def run(program, path, x, folder):
    return program.run(path, [x], folder)[0]


def same(found, expected, tolerance=TOLERANCE):
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    error = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    return bool((error <= tolerance * (1 + np.abs(expected))).all())


def compare(program, path, name, sizes, folder):
    for size in sizes:
        x = numbers(*size)
        yield f"{name}, {size}", same(run(program, path, x, folder), run_litert(path, x))


def quantized(program, path, name, sizes, folder):
    """4/8 bits, fitted to the first size, run at that size."""
    samples = numbers(16, *sizes[0][1:])
    np.save(folder / "samples.npy", samples)
    for ending in ("onnx", "tflite"):
        small = folder / f"small.{ending}"
        program("quantize", path, "-o", small, "--data", folder / "samples.npy", "-q",
                "--weight-bits", 4, "--activation-bits", 8)
        found = run(program, small, numbers(*sizes[0]), folder)
        yield f"{name}, 4/8 bits, {ending}", np.isfinite(found).all()


def check_function(program, name, shape, sizes, function, folder):
    path = folder / "m.tflite"
    concrete = tf.function(function).get_concrete_function(tf.TensorSpec(shape, tf.float32))
    path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())
    yield from compare(program, path, name, sizes, folder)


def check_network(program, name, shape, sizes, batch, build, folder):
    path = folder / "m.tflite"
    network = network_of(shape, batch, build)
    path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(network).convert())
    batches = (1, 3) if batch is None else (batch,)
    sizes = [(b, *size) for size in sizes for b in batches]
    yield from compare(program, path, name, sizes, folder)
    yield from quantized(program, path, name, sizes, folder)


def check_integers(program, folder):
    """The quantized forms of one network."""
    network = network_of((16, 16, 3), None, convolutional)
    for name, types, ends, reference, tolerance in (
            ("weights of 8 bits", None, None, False, 0.05), ("float16", [tf.float16], None, False,
                                                             TOLERANCE),
            ("int8", None, tf.int8, True, 0), ("uint8 at the ends", None, tf.uint8, True, 0),
            ("int8 inside", None, tf.float32, True, 0)):
        converter = tf.lite.TFLiteConverter.from_keras_model(network)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if types:
            converter.target_spec.supported_types = types
        if ends:
            converter.representative_dataset = lambda: ([numbers(1, 16, 16, 3) * s]
                                                        for s in (0.5, 1))
            converter.target_spec.supported_ops = INTEGERS
            converter.inference_input_type = converter.inference_output_type = ends
        path = folder / "m.tflite"
        path.write_bytes(converter.convert())
        for batch in (1, 3):
            x = numbers(batch, 16, 16, 3)
            if ends in (tf.int8, tf.uint8):
                x = (x * 127 + (0 if ends == tf.int8 else 128)).astype(ends.as_numpy_dtype)
            expected = run_litert(path, x, reference)
            yield f"{name}, batch {batch}", same(run(program, path, x, folder), expected,
                                                 tolerance)


def check_refusals(program, folder):
    """What cannot be read is refused in one line that names it."""
    path = folder / "m.tflite"
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([1], tf.int64)), -1)
    network = tf.keras.Sequential([layers.Input((10, 5)), layers.LSTM(4)])
    for name, module, function, spec, words in (
            ("hash table", table, table.lookup, tf.TensorSpec([2], tf.string), "STRING"),
            ("Flex", network, network, tf.TensorSpec([None, 10, 5]), "FlexTensorList")):
        concrete = tf.function(function).get_concrete_function(spec)
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS,
                                               tf.lite.OpsSet.SELECT_TF_OPS]
        converter._experimental_lower_tensor_list_ops = False
        path.write_bytes(converter.convert())
        try:
            program("inspect", path)
            yield f"{name}: read", False
        except Refused as error:
            text = str(error)
            yield f"{name}: {text}", words in text and "\n" not in text


def main(path):
    program = Program(path)
    checks = [(case[0], lambda folder, case=case: check_function(program, *case, folder))
              for case in FUNCTIONS]
    checks += [(case[0], lambda folder, case=case: check_network(program, *case, folder))
               for case in NETWORKS]
    checks += [("integers", lambda folder: check_integers(program, folder)),
               ("refusals", lambda folder: check_refusals(program, folder))]
    return run_checks(checks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
