# SPDX-License-Identifier: Apache-2.0
"""Few-bit neural networks: quantize, evaluate and run them; language models.

>>> import halftone as ht, numpy as np
>>> model = ht.load("examples/mnist/mnist_mlp_700.onnx")
>>> model(np.zeros((1, 784), np.float32)).shape
(1, 10)
"""

from __future__ import annotations

from . import _halftone as native
from . import spmd
from ._devices import Device, devices
from ._hardware import (
    accelerator_text,
    accelerators,
    crossbar,
    estimate,
    explore,
    language_estimate,
    measure_hardware,
)
from ._hardware_reports import (
    BatchSpeed,
    CrossbarLayer,
    CrossbarReport,
    EstimateReport,
    ExploreReport,
    HardwareDesign,
    LanguageEstimateReport,
    MemoryTraffic,
    OperationEstimate,
    VerifiedDesign,
)
from ._jobs import (
    bench,
    convert,
    evaluate,
    export_c,
    export_wasm,
    inspect,
    litert_library,
    onnxruntime_library,
)
from ._language import Chat, ChatInputs, GenerateOptions, LanguageModel, LanguageModelOptions
from ._language_distill import LanguageDistillOptions, distill_language_model
from ._language_quantize import (
    LanguageFitOptions,
    LanguageQuantizeOptions,
    convert_language_model,
    language_sensitivity,
    quantize_language_model,
)
from ._model import Model, Port, Session, load
from ._quantize import Quantized, quantize
from ._report import LanguageReport, Report, language_report, report
from ._reports import (
    CExport,
    CLayer,
    CPort,
    Comparison,
    EpochResult,
    Evaluation,
    Generation,
    Inspection,
    LanguageConvertReport,
    LanguageDistillReport,
    LanguageQuantizeReport,
    LanguageSpeed,
    Layer,
    LayerReport,
    Measurement,
    MetricDrop,
    NetworkCosts,
    QuantizedMatrix,
    QuantizeReport,
    SpeedAtDepth,
    SpeedOnRanks,
    TextDivergence,
    TextEvaluation,
    TrainReport,
)
from ._sensitivity import sensitivity
from ._sensitivity_reports import (
    BudgetReport,
    BudgetTry,
    ChoiceSensitivity,
    ChosenLayer,
    LayerSensitivity,
    SensitiveLayer,
    SensitiveUnit,
    Sensitivity,
    UnitSensitivity,
)
from ._systems import Encoding, NumberSystem, decode, encode, fit, levels, number_systems
from ._training import DistillOptions, Trained, TrainOptions, distill, train

__version__: str = native.version

__all__ = [
    "BatchSpeed",
    "BudgetReport",
    "BudgetTry",
    "CExport",
    "CLayer",
    "CPort",
    "Chat",
    "ChatInputs",
    "ChoiceSensitivity",
    "ChosenLayer",
    "Comparison",
    "CrossbarLayer",
    "CrossbarReport",
    "Device",
    "DistillOptions",
    "Encoding",
    "EpochResult",
    "EstimateReport",
    "Evaluation",
    "ExploreReport",
    "GenerateOptions",
    "Generation",
    "HardwareDesign",
    "Inspection",
    "LanguageConvertReport",
    "LanguageDistillOptions",
    "LanguageDistillReport",
    "LanguageEstimateReport",
    "LanguageFitOptions",
    "LanguageModel",
    "LanguageModelOptions",
    "LanguageQuantizeOptions",
    "LanguageQuantizeReport",
    "LanguageReport",
    "LanguageSpeed",
    "Layer",
    "LayerReport",
    "LayerSensitivity",
    "Measurement",
    "MemoryTraffic",
    "MetricDrop",
    "Model",
    "NetworkCosts",
    "NumberSystem",
    "OperationEstimate",
    "Port",
    "QuantizeReport",
    "Quantized",
    "QuantizedMatrix",
    "Report",
    "SensitiveLayer",
    "SensitiveUnit",
    "Sensitivity",
    "Session",
    "SpeedAtDepth",
    "SpeedOnRanks",
    "TextDivergence",
    "TextEvaluation",
    "TrainOptions",
    "TrainReport",
    "Trained",
    "UnitSensitivity",
    "VerifiedDesign",
    "accelerator_text",
    "accelerators",
    "bench",
    "convert",
    "convert_language_model",
    "crossbar",
    "decode",
    "devices",
    "distill",
    "distill_language_model",
    "encode",
    "estimate",
    "evaluate",
    "export_c",
    "export_wasm",
    "explore",
    "fit",
    "inspect",
    "language_estimate",
    "language_report",
    "language_sensitivity",
    "levels",
    "litert_library",
    "load",
    "measure_hardware",
    "number_systems",
    "onnxruntime_library",
    "quantize",
    "quantize_language_model",
    "report",
    "sensitivity",
    "spmd",
    "train",
]
