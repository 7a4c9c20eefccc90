# SPDX-License-Identifier: Apache-2.0
"""The forms of a network that frameworks.py measures: in each framework, and in ours inside it."""

import copy
import io
import sys

import numpy as np
import onnxruntime
import openvino
import torch
from ai_edge_litert.interpreter import Interpreter, load_delegate
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

BATCHES = (1, 16)


def _state_bytes(module):
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    return len(file.getvalue())


class _Samples(CalibrationDataReader):
    def __init__(self, samples):
        self._batches = iter({"x": batch.numpy()} for batch in samples.split(64))

    def get_next(self):
        return next(self._batches, None)


class Forms:
    """Functions that make the forms. Each gives a function of arrays and a number of bytes."""

    def __init__(self, halftone, case, threads, folder):
        self.halftone, self.case, self.threads, self.folder = halftone, case, threads, folder
        self.float = folder / "float.onnx"
        torch.onnx.export(case.module, (case.samples[:2],), str(self.float), dynamo=False,
                          input_names=["x"], dynamic_axes={"x": {0: "N"}})
        weights, activations = case.bits
        self.fit = {"weight_bits": weights, "activation_bits": activations, "progress": False,
                    **case.options}
        self.network = None

    def named(self):
        """Names of the forms and what makes them, those of this network."""
        ours = f"Halftone {self.case.bits[0]}/{self.case.bits[1]}"
        yield "PyTorch", self.torch
        yield "PyTorch, compiled", self.compiled
        if self.case.kind == "linear":
            yield "torchao, int8", lambda: self.torchao(8)
            yield "torchao, int4", lambda: self.torchao(4)
        elif self.case.kind == "recurrent":
            yield "PyTorch, dynamic int8", self.dynamic
        yield "ONNX Runtime, float", lambda: self.onnxruntime(self.float)
        yield "ONNX Runtime, int8", self.onnxruntime_int8
        if self.case.kind == "linear":
            yield "ONNX Runtime, MatMulNBits of 4 bits", self.onnxruntime_int4
        yield "OpenVINO, float", lambda: self.openvino(openvino.Core().read_model(self.float))
        yield "OpenVINO, NNCF int8", self.nncf
        if self.case.kind == "linear":
            yield "OpenVINO, NNCF int4 weights", self.nncf_int4
        yield "LiteRT, float", self.litert_float
        yield "LiteRT, int8", self.litert_int8
        yield f"{ours} inside PyTorch, layers", self.our_layers
        yield f"{ours} inside PyTorch, network", self.our_module
        yield f"{ours} inside ONNX Runtime", self.our_onnx
        yield f"{ours} inside LiteRT", self.our_tflite
        yield f"{ours} alone", self.alone

    # PyTorch

    def of_torch(self, module):
        def call(x):
            with torch.inference_mode():
                return module(torch.from_numpy(x)).numpy()
        return call, _state_bytes(module)

    def torch(self):
        return self.of_torch(self.case.module)

    def compiled(self, module=None):
        module = module or self.case.module
        return self.of_torch(torch.compile(module, dynamic=False))[0], _state_bytes(module)

    def dynamic(self):
        kinds = {torch.nn.LSTM, torch.nn.Linear}
        return self.of_torch(
            torch.ao.quantization.quantize_dynamic(self.case.module, kinds, torch.qint8))

    def torchao(self, bits):
        from torchao import quantization

        if bits == 8:
            config = quantization.Int8DynamicActivationInt8WeightConfig()
        else:
            config = quantization.Int8DynamicActivationIntxWeightConfig(
                weight_dtype=torch.int4, weight_granularity=quantization.PerGroup(32))
        module = copy.deepcopy(self.case.module)
        quantization.quantize_(module, config)
        return self.compiled(module)

    # ONNX Runtime

    def onnxruntime(self, path, library=None):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 3
        if library is not None:
            options.add_session_config_entry("halftone.threads", str(self.threads))
            options.register_custom_ops_library(library)  # which reads the entry
        found = onnxruntime.InferenceSession(str(path), options,
                                             providers=["CPUExecutionProvider"])
        name = found.get_inputs()[0].name
        return lambda x: found.run(None, {name: x})[0], path.stat().st_size

    def onnxruntime_int8(self):
        path = self.folder / "int8.onnx"
        if self.case.kind != "conv":
            quantize_dynamic(self.float, path, per_channel=True)
        else:
            quantize_static(self.float, path, _Samples(self.case.samples),
                            quant_format=QuantFormat.QDQ, per_channel=True)
        return self.onnxruntime(path)

    def onnxruntime_int4(self):
        four = MatMulNBitsQuantizer(str(self.float), bits=4, block_size=32, accuracy_level=4)
        four.process()
        four.model.save_model_to_file(str(self.folder / "four.onnx"))
        return self.onnxruntime(self.folder / "four.onnx")

    # OpenVINO

    def openvino(self, model):
        path = self.folder / "openvino.xml"
        openvino.save_model(model, path, compress_to_fp16=False)
        size = sum(file.stat().st_size for file in (path, path.with_suffix(".bin")))
        found = openvino.Core().compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32"})
        return lambda x: found(x)[0], size

    def nncf(self):
        import nncf

        data = nncf.Dataset(self.case.samples.split(1), lambda x: x.numpy())
        kind = nncf.ModelType.TRANSFORMER if "BERT" in self.case.title else None
        model = openvino.Core().read_model(self.float)
        return self.openvino(nncf.quantize(model, data, model_type=kind,
                                           subset_size=len(self.case.samples)))

    def nncf_int4(self):
        import nncf

        model = openvino.Core().read_model(self.float)
        return self.openvino(nncf.compress_weights(
            model, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=64, all_layers=True))

    # LiteRT

    def litert(self, path, delegates=()):
        """A file for each batch: LiteRT's LSTM has the one of its states."""
        found = {}
        for count in BATCHES:
            shape = [count, *self.case.samples.shape[1:]]
            sized = path.with_stem(f"{path.stem}_{count}")
            self.halftone.load(path, shapes={"x": shape}).save(
                sized, one_operator=bool(delegates))
            each = Interpreter(str(sized), num_threads=self.threads,
                               experimental_delegates=list(delegates))
            each.allocate_tensors()
            ends = each.get_input_details(), each.get_output_details()
            found[count] = each, *(details[0]["index"] for details in ends)

        def call(x):
            each, source, target = found[len(x)]
            if self.case.kind == "recurrent":
                each.reset_all_variables()  # or it goes on where the last sequence ended
            each.set_tensor(source, x)
            each.invoke()
            return each.get_tensor(target)
        return call, path.stat().st_size

    def litert_float(self):
        path = self.folder / "float.tflite"
        self.halftone.convert(self.float, path)
        return self.litert(path)

    def litert_int8(self):
        path = self.folder / "int8.tflite"
        recipe = self.case.options.get("recipe")
        self.halftone.quantize(self.float, self.case.samples.numpy(), full_integer="tflite",
                               recipe=recipe, progress=False).model.save(path)
        return self.litert(path)

    # Halftone

    def ours(self):
        if self.network is None:
            self.network = self.halftone.quantize(self.float, self.case.samples.numpy(),
                                                  **self.fit).model
        return self.network

    def our_layers(self):
        module = copy.deepcopy(self.case.module)
        return self.of_torch(self.halftone.torch.quantize_(module, self.case.samples, **self.fit))

    def our_module(self):
        return self.of_torch(self.halftone.torch.from_halftone(self.ours()))

    def our_onnx(self):
        path = self.folder / "one.onnx"
        self.ours().save(path, one_operator=True)
        return self.onnxruntime(path, self.halftone.onnxruntime_library())

    def our_tflite(self):
        path = self.folder / "one.tflite"
        self.ours().save(path, one_operator=True)
        delegate = load_delegate(self.halftone.litert_library(), {"threads": self.threads})
        return self.litert(path, [delegate])

    def alone(self):
        path = self.folder / "small.circle"
        self.ours().save(path)
        return self.halftone.load(path, threads=self.threads), path.stat().st_size


def made(forms):
    """Names, functions and bytes of the forms that the packages here can make."""
    for name, make in forms.named():
        try:
            function, size = make()
            for count in BATCHES:
                function(forms.case.test[:count])
        except Exception as error:  # noqa: BLE001  of any framework
            print(f"{forms.case.title}, {name}: {type(error).__name__}: "
                  f"{str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
            continue
        yield name, function, size


def quality(case, function, expected):
    """The accuracy, or the distance from the outputs of floats, both in percent."""
    count = len(case.test) // 16 * 16
    found = np.concatenate([function(case.test[i : i + 16]) for i in range(0, count, 16)])
    if case.classes is not None:
        return 100 * float(np.mean(found.argmax(1) == case.classes[:count]))
    return 100 * float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
