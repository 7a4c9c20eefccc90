#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's standard forms of few bits, in ONNX Runtime and in Halftone.

Usage: standard_onnx_test.py writes PROGRAM DATA
       standard_onnx_test.py reads PROGRAM DATA

PROGRAM is halftone; the folder DATA, or that in HALFTONE_DATA, has networks in DATA/models.

writes: networks that Halftone quantizes and writes with --standard and --matmul-nbits open in ONNX
Runtime and give Halftone's own outputs. reads: Halftone reads the files of ONNX Runtime's quantizers
and gives ONNX Runtime's outputs. Skips with exit code 77 if a package or the folder is absent:
pip install numpy onnx onnxruntime onnx_ir sympy

Tolerances. A sum of n products of float32 numbers in another order differs by about sqrt(n) eps of
the largest (eps = 2^-24), which the layers add up: u = eps sum_l sqrt(n_l). Outputs of float layers
may differ by 8 u of the largest. Where values are rounded, u pushes the share p = 2 u / d of them
over a threshold, d being the distance of thresholds relative to a value, and each makes an error of
d. The root mean square of all these errors is sqrt(12 p) of that of rounding itself, which is the
difference of ONNX Runtime's outputs for the rounded and for the float network; 4 times that is
allowed, as outputs are few.
"""

import contextlib
import functools
import io
import logging
import sys

from python_test import Program, Refused, data_folder, networks_of, run_checks, skip

EPSILON = 2.0**-24

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime import quantization
    from onnxruntime.quantization import matmul_nbits_quantizer
except ImportError as error:
    skip(f"{error}; pip install numpy onnx onnxruntime onnx_ir sympy")


def session_of(model, sums="integers"):
    """A session whose int8 sums are in exact integers, in "floats", or "any": saturate without VNNI.

    ONNX Runtime's exact integers do not run all files: not int8 weights that layers share, nor those
    of a layer that it computes in floats.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    if sums == "integers":
        options.add_session_config_entry("session.x64quantprecision", "1")
    if sums == "floats":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Without this, products with weights of 4 bits round their inputs to 8 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def run_onnx(model, inputs, sums="integers"):
    session = session_of(model, sums)
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))


def samples_of(model, count):
    """Fractions for each input, and their names."""
    numbers = np.random.default_rng(5)
    inputs = {}
    for value in session_of(model, "any").get_inputs():
        shape = [extent if isinstance(extent, int) else count for extent in value.shape]
        inputs[value.name] = numbers.uniform(-1, 1, shape).astype(np.float32)
    return inputs


def rounding_of_sums(model):
    """u, from the weights of a float network."""
    total = 0.0
    for tensor in onnx.load(model).graph.initializer:
        if len(tensor.dims) < 2:
            continue
        inputs = np.prod(tensor.dims[1:]) if len(tensor.dims) > 2 else max(tensor.dims)
        total += EPSILON * np.sqrt(float(inputs))
    return total


def compare_sums(found, expected, u):
    """Yields (text, whether it is right) for the largest difference."""
    worst = max(float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-30))
                for x, y in zip(found, expected))
    yield f"{worst:.1e} of the largest, at most {8 * u:.1e}", worst <= 8 * u


def root_mean_square(found, expected):
    return float(np.sqrt(np.mean([np.mean((x - y)**2.0) for x, y in zip(found, expected)])))


def compare_rounded(found, expected, unrounded, u, distance):
    rounding = root_mean_square(expected, unrounded)
    allowed = 4 * np.sqrt(12 * 2 * u / distance) * rounding
    error = root_mean_square(found, expected)
    yield f"{error:.1e} where rounding makes {rounding:.1e}, at most {allowed:.1e}", error <= allowed


# Files that Halftone writes.

FIT = """
[fit]
error_feedback = false
refine = false
bias_correction = false
refit_activations = false
"""
SCHEMES = {
    "int4 in groups of 32": 'weight_bits = 4\nactivation_bits = "none"\nweight_scheme = "int"\n'
                            "group_size = 32\n",
    "affine4 in groups of 32": 'weight_bits = 4\nactivation_bits = "none"\n'
                               'weight_scheme = "affine"\ngroup_size = 32\n',
    "asymmetric4 in groups of 32": 'weight_bits = 4\nactivation_bits = "none"\n'
                                   'weight_scheme = "asymmetric"\ngroup_size = 32\n',
    "asymmetric with inputs": 'weight_bits = 8\nactivation_bits = 8\nscheme = "asymmetric"\n',
    "int8": 'weight_bits = 8\nactivation_bits = "none"\nweight_scheme = "int"\n',
    "int8 with inputs": 'weight_bits = 8\nactivation_bits = 8\nscheme = "int"\n',
    "basis3": 'weight_bits = 3\nactivation_bits = "none"\n',
    "basis3 with inputs": "weight_bits = 3\nactivation_bits = 3\n",
    "nf4": 'activation_bits = "none"\nweight_scheme = "nf4"\n',
    "e4m3": 'scheme = "e4m3"\n',
}
# Forms of a scheme; zero points between integers are those of MatMulNBits alone.
FORMS = {"int4 in groups of 32": ("--standard", "--matmul-nbits"),
         "asymmetric4 in groups of 32": ("--standard", "--matmul-nbits"),
         "affine4 in groups of 32": ("--matmul-nbits",)}
# Schemes that few networks try: others take long, or have layers that MatMulNBits cannot hold.
NETWORKS = {
    "basis3": {"kws_dscnn.tflite", "mnist_mlp_700.onnx", "resnet8_cifar10.tflite"},
    "basis3 with inputs": {"mnist_mlp_700.onnx", "resnet8_cifar10.tflite"},
    "nf4": {"resnet8_cifar10.tflite", "toycar_autoencoder.tflite"},
    "int8 with inputs": {"kws_dscnn.tflite", "mnist_mlp_700.onnx", "resnet8_cifar10.tflite"},
    # ONNX Runtime joins the uint8 convolutions of kws_dscnn and rounds their sums otherwise: single
    # codes differ, 90.60 % of its samples are right in both.
    "asymmetric with inputs": {"mnist_mlp_700.onnx"},
    "asymmetric4 in groups of 32": {"kws_dscnn.tflite", "mnist_mlp_700.onnx",
                                    "toycar_autoencoder.tflite"},
    "affine4 in groups of 32": {"mnist_mlp_700.onnx", "toycar_autoencoder.tflite"}}
# The layers of other formats that ONNX lacks: its LSTM does not clip cells.
WITHOUT_EQUIVALENT = {"mnist_lstm.tflite"}
# e4m3 rounds the states of these.
RECURRENT = {"dtln_1.onnx", "dtln_1.tflite", "dtln_2.onnx", "dtln_2.tflite"}


def check_written(model, scheme, recipe, folder):
    plain, quantized = folder / "float.onnx", folder / "quantized.onnx"
    program("convert", model, plain)
    inputs = samples_of(plain, 2)
    np.savez(folder / "data.npz", **inputs)
    (folder / "recipe.toml").write_text("[default]\n" + recipe + FIT)
    program("quantize", model, "-o", quantized, "--data", folder / "data.npz", "--recipe",
            folder / "recipe.toml", "-q")
    inputs = list(inputs.values())
    u = rounding_of_sums(plain)
    unrounded = run_onnx(plain, inputs, "any")
    for form in FORMS.get(scheme, ("--standard",)):
        written = folder / "written.onnx"
        name = f"{model.name}, {scheme}, {form}"
        try:
            program("convert", quantized, written, form)
        except Refused as error:
            expected = scheme == "e4m3" and model.name in RECURRENT
            yield f"{name}: {error}", expected and "recurrent layer" in str(error)
            continue
        onnx.checker.check_model(onnx.load(written))
        domains = {node.domain for node in onnx.load(written).graph.node}
        yield f"{name}: domains {domains}", domains <= {"", "com.microsoft"}
        expected = run_onnx(written, inputs, "floats" if "inputs" in scheme else "any")
        found = program.run(written, inputs, folder)
        if scheme == "e4m3":
            lines = compare_rounded(found, expected, unrounded, u, 2.0**-4)
        elif "inputs" in scheme:
            lines = compare_rounded(found, expected, unrounded, u, 2.0**-5)
        else:
            lines = compare_sums(found, expected, u)
        for text, right in lines:
            yield f"{name}: {text}", right


def checks_of_written(data):
    for model in networks_of(data):
        if model.stem.endswith("_int8") or model.name in WITHOUT_EQUIVALENT:
            continue
        for scheme, recipe in SCHEMES.items():
            if model.name in NETWORKS.get(scheme, {model.name}):
                yield model.name, functools.partial(check_written, model, scheme, recipe)


# Files that ONNX Runtime's quantizers write.


def model_of(nodes, inputs, weights, opset=21):
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def perceptron():
    """Two matrix products, the first of inputs that no block size divides."""
    numbers = np.random.default_rng(1)
    weights = {"w": numbers.normal(size=(200, 48)), "b": numbers.normal(size=48),
               "v": numbers.normal(size=(48, 10))}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "first"),
             helper.make_node("Add", ["h", "b"], ["i"], "bias"),
             helper.make_node("Relu", ["i"], ["j"], "relu"),
             helper.make_node("MatMul", ["j", "v"], ["y"], "second")]
    return model_of(nodes, ["N", 200], weights)


def convolutions():
    """A convolution, a depthwise one and a Gemm."""
    numbers = np.random.default_rng(2)
    weights = {"w": numbers.normal(size=(8, 3, 3, 3)), "b": numbers.normal(size=8),
               "d": numbers.normal(size=(8, 1, 3, 3)), "c": numbers.normal(size=8),
               "g": numbers.normal(size=(5, 8)), "e": numbers.normal(size=5)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["h"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["h"], ["i"], "relu"),
             helper.make_node("Conv", ["i", "d", "c"], ["j"], "depthwise", group=8),
             helper.make_node("GlobalAveragePool", ["j"], ["k"], "pool"),
             helper.make_node("Flatten", ["k"], ["l"], "flatten"),
             helper.make_node("Gemm", ["l", "g", "e"], ["y"], "gemm", transB=1)]
    return model_of(nodes, ["N", 3, 12, 12], weights)


def check_read(name, model, folder, compare):
    """Compares Halftone with ONNX Runtime on a file."""
    inputs = list(samples_of(model, 16).values())
    found, expected = program.run(model, inputs, folder), run_onnx(model, inputs)
    for text, right in compare(found, expected, inputs):
        yield f"{name}: {text}", right


def check_nbits(bits, is_symmetric, block_size, form, folder):
    plain, file = folder / "plain.onnx", folder / "nbits.onnx"
    onnx.save(perceptron(), plain)
    quantizer = matmul_nbits_quantizer.MatMulNBitsQuantizer(
        perceptron(), bits=bits, block_size=block_size, is_symmetric=is_symmetric, quant_format=form)
    quantizer.process()
    quantizer.model.save_model_to_file(str(file))
    operators = {node.op_type for node in onnx.load(file).graph.node}
    name = f"{form.name} of {bits} bits in blocks of {block_size}, " + (
        "symmetric" if is_symmetric else "asymmetric")
    wanted = "MatMulNBits" if form.name == "QOperator" else "DequantizeLinear"
    yield f"{name}: {sorted(operators)}", wanted in operators
    program("convert", file, folder / "again.onnx")
    small = (folder / "again.onnx").stat().st_size < plain.stat().st_size * (bits + 5) / 32
    yield f"{name}: {(folder / 'again.onnx').stat().st_size} bytes", small
    u = rounding_of_sums(plain)
    yield from check_read(name, file, folder, lambda x, y, _: compare_sums(x, y, u))


def check_order(is_even, has_zeros, folder):
    """MatMulNBits of 4 bits whose inputs are in blocks in any order (g_idx), as act-order gives.

    ONNX Runtime's kernels for 2 and 8 bits, and for packed zero points, ignore or refuse g_idx.
    """
    numbers = np.random.default_rng(4)
    outputs, inputs, size = 24, 200, 32
    blocks = -(-inputs // size)
    order = numbers.permutation(np.arange(inputs) // size)
    weights = {"s": numbers.uniform(0.01, 0.1, outputs * blocks)}
    if has_zeros:
        weights["z"] = numbers.uniform(0, 15, outputs * blocks)
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s", "z" if has_zeros else "", "g"], ["y"], "product",
        domain="com.microsoft", K=inputs, N=outputs, bits=4, block_size=size)
    model = model_of([node], ["N", inputs], weights)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    codes = numbers.integers(0, 256, (outputs, blocks, size // 2), dtype=np.uint8)
    if not is_even:
        order[:5] = 0
    for array, name in ((codes, "w"), (order.astype(np.int32), "g")):
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.save(model, folder / "order.onnx")
    name = (f"MatMulNBits in blocks of {'equal' if is_even else 'other'} sizes in any order, "
            f"{'with' if has_zeros else 'without'} zero points")
    u = EPSILON * np.sqrt(inputs)
    yield from check_read(name, folder / "order.onnx", folder, lambda x, y, _: compare_sums(x, y, u))


class Samples(quantization.CalibrationDataReader):

    def __init__(self, inputs):
        self.left = [inputs]

    def get_next(self):
        return self.left.pop() if self.left else None


def check_static(network, activations, weights, per_channel, folder):
    plain, file = folder / "plain.onnx", folder / "static.onnx"
    onnx.save(network, plain)
    is_float = activations == quantization.QuantType.QFLOAT8E4M3FN
    methods = quantization.CalibrationMethod
    method = methods.Distribution if is_float else methods.MinMax
    with contextlib.redirect_stdout(io.StringIO()):
        quantization.quantize_static(
            plain, file, Samples(samples_of(plain, 16)), per_channel=per_channel,
            activation_type=activations, weight_type=weights, calibrate_method=method)
    name = f"quantize_static {activations.name} {weights.name} per " + (
        "channel" if per_channel else "tensor")
    u, distance = rounding_of_sums(plain), 2.0**-4 if is_float else 2.0**-5

    def compare(found, expected, inputs):
        return compare_rounded(found, expected, run_onnx(plain, inputs), u, distance)

    yield from check_read(name, file, folder, compare)


def check_dynamic(network, weights, per_channel, folder):
    plain, file = folder / "plain.onnx", folder / "dynamic.onnx"
    onnx.save(network, plain)
    quantization.quantize_dynamic(plain, file, weight_type=weights, per_channel=per_channel)
    name = f"quantize_dynamic {weights.name} per " + ("channel" if per_channel else "tensor")
    u = rounding_of_sums(plain)

    def compare(found, expected, inputs):
        return compare_rounded(found, expected, run_onnx(plain, inputs), u, 2.0**-5)

    # The range of all values depends on the batch, so that needs a number.
    inputs = samples_of(file, 1)
    shape = "x=" + ",".join(map(str, inputs["x"].shape))
    inputs = list(inputs.values())
    found = program.run(file, inputs, folder, "--shape", shape)
    expected = run_onnx(file, inputs)
    for text, right in compare(found, expected, inputs):
        yield f"{name}: {text}", right


def checks_of_read(data):
    data_folder(data)
    forms = quantization.QuantFormat
    types = quantization.QuantType
    for bits in (2, 4, 8):
        for form in (forms.QOperator, forms.QDQ) if bits == 4 else (forms.QOperator,):
            for is_symmetric in (False, True):
                for block_size in (16, 32, 128):
                    yield "MatMulNBits", functools.partial(
                        check_nbits, bits, is_symmetric, block_size, form)
    for is_even in (False, True):
        for has_zeros in (False, True):
            yield "g_idx", functools.partial(check_order, is_even, has_zeros)
    for network in (perceptron(), convolutions()):
        for per_channel in (False, True):
            pairs = [(types.QUInt8, types.QInt8), (types.QInt8, types.QInt8),
                     (types.QUInt8, types.QUInt8)]
            if not per_channel:
                pairs.append((types.QFLOAT8E4M3FN, types.QFLOAT8E4M3FN))
            for pair in pairs:
                yield "quantize_static", functools.partial(
                    check_static, network, *pair, per_channel)
            yield "quantize_dynamic", functools.partial(
                check_dynamic, network, types.QInt8, per_channel)


if __name__ == "__main__":
    CHECKS = {"writes": checks_of_written, "reads": checks_of_read}
    if len(sys.argv) != 4 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    logging.disable(logging.WARNING)  # of the quantizers
    program = Program(sys.argv[2])
    sys.exit(run_checks(CHECKS[sys.argv[1]](sys.argv[3])))
