# SPDX-License-Identifier: Apache-2.0
"""Runs a network on ONNX Runtime for halftone_bench, which starts it as a process of its own.

    python3 bench/onnx_runtime.py MODEL.onnx float32|int8 BATCH THREADS

Prints one line with the version; then, for each number of runs read from standard input, the
seconds of one run: processor time of the process with one thread, else wall time. int8 quantizes
the network first, as ONNX Runtime's documentation advises for x86 (QDQ, u8 activations, s8 weights
per channel), calibrated on random inputs.
"""

import pathlib
import sys
import tempfile
import time

import numpy
import onnxruntime


def random_inputs(session, batch):
    """Uniform numbers in [0, 1) for every input; `batch` for extents that are not fixed."""
    random = numpy.random.default_rng(1)

    def shape(extents):
        return [extent if isinstance(extent, int) else batch for extent in extents]

    return {x.name: random.random(shape(x.shape), dtype=numpy.float32) for x in session.get_inputs()}


def quantize(model, batch, folder):
    from onnxruntime import quantization

    prepared = folder / "prepared.onnx"
    quantized = folder / "int8.onnx"
    quantization.shape_inference.quant_pre_process(model, prepared, skip_symbolic_shape=True)
    session = onnxruntime.InferenceSession(prepared, providers=["CPUExecutionProvider"])

    class Reader(quantization.CalibrationDataReader):
        samples = iter([random_inputs(session, batch) for _ in range(4)])

        def get_next(self):
            return next(self.samples, None)

    quantization.quantize_static(
        prepared,
        quantized,
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
    )
    return quantized


def make_session(model, kind, batch, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        if kind == "int8":
            model = quantize(model, batch, pathlib.Path(folder))
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def bind(session, batch):
    """Inputs and outputs in fixed memory, so that a run copies nothing."""
    binding = session.io_binding()
    for name, value in random_inputs(session, batch).items():
        binding.bind_cpu_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return binding


def main():
    model, kind, batch, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    session = make_session(pathlib.Path(model), kind, batch, threads)
    binding = bind(session, batch)
    clock = time.process_time if threads == 1 else time.perf_counter
    session.run_with_iobinding(binding)
    print(f"ONNX Runtime {onnxruntime.__version__}", flush=True)
    for line in sys.stdin:
        count = int(line)
        begin = clock()
        for _ in range(count):
            session.run_with_iobinding(binding)
        print((clock() - begin) / count, flush=True)


if __name__ == "__main__":
    main()
