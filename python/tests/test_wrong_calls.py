# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of every public function get errors of Python, not of the compiled module."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, write_tiny_gguf

X = np.random.default_rng(1).random((8, 784), dtype=np.float32)
LABELS = np.zeros(8, np.int64)
#: What the compiled module, the C++ library or Python itself says of a call nobody has checked.
RAW = re.compile(
    "incompatible function arguments|nanobind|std::|basic_string|bad_alloc|vector::|Invoked with"
    "|object has no attribute|not subscriptable|not iterable|unhashable"
)
NAN = float("nan")


def failing() -> Iterator[np.ndarray]:
    yield X
    raise RuntimeError("the disk is full")


def closed() -> Any:
    file = io.BytesIO(b"")
    file.close()
    return file


def quantize(**options: Any) -> Any:
    return lambda: ht.quantize(NETWORK, **{"data": X, "progress": False, **options})


def evaluate(*args: Any, **options: Any) -> Any:
    return lambda: ht.evaluate(NETWORK, *args, progress=False, **options)


def language(**options: Any) -> Any:
    given: dict[str, Any] = {"model": "none.gguf", "texts": "none.txt", "output": "none.safetensors",
                             "type": "Q4_0"}
    return lambda: ht.quantize_language_model(**{**given, "progress": False, **options})


def encoding() -> ht.Encoding:
    return ht.fit(X, "basis", 2)


MODEL = ht.load(NETWORK)
T, V, F, N = TypeError, ValueError, FileNotFoundError, NotImplementedError

CALLS: list[tuple[Any, type[Exception] | tuple[type[Exception], ...], str]] = [
    # load
    (lambda: ht.load(None), T, "model: expected a path"),
    (lambda: ht.load(3), T, "model: expected a path"),
    (lambda: ht.load([]), T, "model: expected a path"),
    (lambda: ht.load(b""), V, ""),
    (lambda: ht.load(b"no network"), (V, N), ""),
    (lambda: ht.load(closed()), T, "model: expected a path"),
    (lambda: ht.load("nowhere.onnx"), F, "nowhere.onnx"),
    (lambda: ht.load(Path("nowhere.tflite")), F, "nowhere.tflite"),
    (lambda: ht.load(MNIST), (V, N, OSError), ""),
    (lambda: ht.load("README.md"), (V, N), "README.md"),
    (lambda: ht.load(NETWORK, name=3), T, "name: expected a text or None"),
    (lambda: ht.load(NETWORK, threads=0), V, "threads"),
    (lambda: ht.load(NETWORK, threads=-1), V, "threads"),
    (lambda: ht.load(NETWORK, threads=True), T, "threads: expected an integer"),
    (lambda: ht.load(NETWORK, threads=1 << 40), V, "threads"),
    (lambda: ht.load(NETWORK, shapes=3), T, "shapes: expected a dict"),
    (lambda: ht.load(NETWORK, shapes={"pixels": 3}), T, "shapes\\['pixels'\\]: expected a list"),
    (lambda: ht.load(NETWORK, shapes={"pixels": [0]}), V, "shape of 'pixels'"),
    (lambda: ht.load(NETWORK, shapes={"pixels": ["M", 3]}), V, "shape of 'pixels'"),
    (lambda: ht.load(NETWORK, shapes={3: [1]}), T, "shapes: expected keys that are texts"),
    (lambda: ht.load(NETWORK, shapes={"other": [1]}), V, "other"),
    (lambda: ht.load(NETWORK, max_iterations=0), V, "max_iterations: expected at least 1"),
    (lambda: ht.load(NETWORK, constants=[1]), T, "constants: expected a dict"),
    (lambda: ht.load(NETWORK, constants={"pixels": "x"}), T, "constant 'pixels'"),
    (lambda: ht.load(NETWORK, constants={3: 1}), T, "constants: expected keys that are texts"),
    (lambda: ht.load(NETWORK, float_order=None), T, "float_order: expected 'fastest' or 'fixed'"),
    (lambda: ht.load(NETWORK, float_activations=1), T, "float_activations: expected True or False"),
    (lambda: ht.load(NETWORK, dtype="int8"), T, "unexpected keyword argument 'dtype'"),
    # models
    (lambda: MODEL(), T, "expected 1 inputs, found 0"),
    (lambda: MODEL(None), T, "input 'pixels'"),
    (lambda: MODEL("x"), T, "input 'pixels'"),
    (lambda: MODEL([[0.0] * 784]), T, "input 'pixels'"),
    (lambda: MODEL(X, X), T, "expected 1 inputs, found 2"),
    (lambda: MODEL(X.astype(np.float64)), T, "expected float32"),
    (lambda: MODEL(X.astype(object)), T, "expected float32"),
    (lambda: MODEL(X.astype(complex)), T, "expected float32"),
    (lambda: MODEL(X[:, :3]), V, "expected float32"),
    (lambda: MODEL(X[:0]), V, "batch: expected at least 1"),
    (lambda: MODEL(np.float32(3)), T, "input 'pixels'"),
    (lambda: MODEL(np.ma.masked_array(X)), T, "masked"),
    (lambda: MODEL(X, out=3), T, "output 'probabilities'"),
    (lambda: MODEL(X, out=[]), V, "out="),
    (lambda: MODEL(X, out=np.zeros((8, 9), np.float32)), V, "expected float32"),
    (lambda: MODEL.run(X), T, "inputs: expected arrays by name"),
    (lambda: MODEL.run({}), V, "inputs: expected the names"),
    (lambda: MODEL.run({"pixel": X}), V, "inputs: expected the names"),
    (lambda: MODEL.run(3, {"pixels": X}), T, "outputs: expected names"),
    (lambda: MODEL.run([3], {"pixels": X}), T, "outputs\\[0\\]: expected a text"),
    (lambda: MODEL.run({"pixels": X}, out=X), T, "out="),
    (lambda: MODEL.session(0), V, "batch: expected at least 1"),
    (lambda: MODEL.session(-1), V, "batch"),
    (lambda: MODEL.session(None), T, "batch: expected an integer"),
    (lambda: MODEL.session(1.0), T, "batch: expected an integer"),
    (lambda: MODEL.session(1)(X[:, 1:]), V, "input 'pixels'"),
    (lambda: MODEL.save(3), T, "path: expected a text or a path"),
    (lambda: MODEL.save("x.zip"), (V, N), "x.zip"),
    (lambda: MODEL.save("nowhere/x.onnx"), OSError, "nowhere"),
    (lambda: MODEL.save("build/x.onnx", standard="yes"), T, "standard: expected True or False"),
    (lambda: MODEL.to_bytes("gguf"), V, "format: expected 'onnx'"),
    (lambda: MODEL.inspect(work=True, batch=0), V, "batch"),
    (lambda: MODEL.inspect(work=True, batch=-3), V, "batch"),
    # quantize
    (quantize(data=None), T, "data: expected an array"),
    (quantize(data=3), T, "data: expected an array"),
    (quantize(data=[]), V, "no samples"),
    (quantize(data=()), V, "data: expected 1 arrays"),
    (quantize(data={}), V, "data: expected at least one array"),
    (quantize(data=iter([])), V, "no samples"),
    (quantize(data=failing()), RuntimeError, "the disk is full"),
    (quantize(data=[None]), T, "data: batch 0"),
    (quantize(data=["x", X]), T, "data: batch 0"),
    (quantize(data="nowhere.npy"), F, "nowhere.npy"),
    (quantize(data=Path("nowhere")), F, "nowhere"),
    (quantize(data=["nowhere.npy"]), F, "nowhere.npy"),
    (quantize(data="README.md"), (V, N), "README.md"),
    (quantize(data=closed()), V, "closed file"),
    (quantize(data=X[:0]), V, ""),
    (quantize(data=X[0, 0]), T, "data: expected an array"),
    (quantize(data=np.array(3.0)), V, "data: expected samples"),
    (quantize(data=X[:, :3]), V, "784"),
    (quantize(data=X.astype(object)), T, "data: expected numbers or booleans"),
    (quantize(data=X.astype(complex)), T, "data: expected numbers or booleans"),
    (quantize(data=X.astype("S1")), T, "data: expected numbers or booleans"),
    (quantize(data=X * NAN), V, "NaN|finite"),
    (quantize(data={"pixel": X}), V, "data: expected the inputs"),
    (quantize(data={3: X}), V, "data: expected the inputs"),
    (quantize(data=[X, X[:, :3]]), V, "sample"),
    (quantize(data=[(X, LABELS), X]), V, "only some batches have labels"),
    (quantize(preset="int4"), V, "preset: expected 'int8', 'w4a8', 'smallest', 'fastest'"),
    (quantize(preset=8), T, "preset: expected 'int8'"),
    (quantize(preset="int8", weight_bits=4), V, "weight_bits: expected none beside the preset"),
    (quantize(preset="smallest", budget="bytes=9k"), V, "budget: expected none beside the preset"),
    (quantize(weight_bits=-1), V, "weight_bits: expected 1 to 16 or none, found -1"),
    (quantize(weight_bits=0), V, "weight_bits: expected 1 to 16 or none, found 0"),
    (quantize(ends=9), V, "ends: expected 1 to 8, found 9"),
    (quantize(weight_bits=99), V, "99"),
    (quantize(weight_bits=1 << 40), V, "weight_bits"),
    (quantize(activation_bits=2.0), T, "activation_bits: expected an integer"),
    (quantize(scheme="nosuch"), V, "nosuch"),
    (quantize(scheme=""), V, "scheme"),
    (quantize(calibrator="median"), V, "calibrator: expected 'fit'"),
    (quantize(recipe="nowhere.toml"), F, "nowhere.toml"),
    (quantize(recipe="x = ["), V, "recipe"),
    (quantize(recipe={3: 4}), T, "recipe: expected keys that are texts"),
    (quantize(recipe={"default": None}), T, "recipe: default"),
    (quantize(skip=[None]), T, "skip\\[0\\]: expected a text"),
    (quantize(skip=lambda: True), T, ""),
    (quantize(bits=[4]), T, "bits: expected a dict"),
    (quantize(bits={3: 4}), T, "bits: expected keys that are texts"),
    (quantize(bits={"dense1": None}), T, "bits\\['dense1'\\]: expected 4, '4/8'"),
    (quantize(bits={"dense1": -4}), V, "bits: 'dense1'"),
    (quantize(budget=3), T, "budget: expected"),
    (quantize(budget={}), V, "budget"),
    (quantize(budget=""), V, "budget"),
    (quantize(budget={"bytes": "many"}), T, "budget\\['bytes'\\]: expected a number"),
    (quantize(budget={"bytes": -1}), V, "bytes"),
    (quantize(budget={"bytes": NAN}), V, "bytes"),
    (quantize(budget={"kilos": 1}), V, "kilos"),
    (quantize(budget="bytes=90k", tries=0), V, "tries: expected 1 to 100, found 0"),
    (quantize(budget="bytes=90k", choices=[]), V, "choices"),
    (quantize(budget="bytes=90k", choices=["x"]), V, "x"),
    (quantize(budget="bytes=90k", weight_bits=2), V, "weight_bits: expected none beside budget="),
    (quantize(tries=3), V, "tries: only with budget="),
    (quantize(test_limit=3), V, "test_limit: only with budget="),
    (quantize(metric=3, largest_drop=0.1), T, "metric: expected a function"),
    (quantize(metric=len), V, "metric= and largest_drop=: expected both or none"),
    (quantize(largest_drop=0.1), V, "metric= and largest_drop=: expected both or none"),
    (quantize(metric=lambda m: 1.0, largest_drop=-1), V, "largest_drop: expected a number of at"),
    (quantize(metric=lambda m: 1.0, largest_drop=NAN), V, "largest_drop: expected a number of at"),
    (quantize(metric=lambda m: None, largest_drop=1), T, "metric: expected a number, found NoneType"),
    (quantize(metric=lambda m: NAN, largest_drop=1), V, "metric: expected a finite number"),
    (quantize(metric=lambda y, t: 1.0, largest_drop=1), V, "have no labels"),
    (quantize(metric=lambda y, t: 1.0, largest_drop=1, data=MNIST, limit=8), V, "in memory"),
    (quantize(seed=None), T, "seed: expected an integer"),
    (quantize(limit=0), V, "limit: expected at least 1"),
    (quantize(limit=-1), V, "limit: expected at least 1"),
    (quantize(limit=1.5), T, "limit: expected an integer"),
    (quantize(scale="1"), T, "scale: expected a number"),
    (quantize(scale=NAN, data=np.zeros((4, 784), np.uint8)), V, "scale"),
    (quantize(split="dev", data=MNIST), V, "dev"),
    (quantize(memory=-1), V, "memory: expected 0 to"),
    (quantize(threads=0), V, "threads: expected at least 1"),
    (quantize(threads=1 << 40), V, "threads"),
    (quantize(progress=None), T, "progress: expected True or False"),
    (quantize(output=""), (V, N), ""),
    (quantize(output=b"x.onnx"), T, "output: expected a text"),
    (quantize(full_integer="circle"), V, "full_integer: expected 'onnx'"),
    (quantize(example=X), T, "example= is for a torch.nn.Module only"),
    # evaluate, bench, convert, inspect
    (evaluate(X), V, "labels|reference"),
    (evaluate(X, [0] * 8), T, "labels: expected an array"),
    (evaluate(X, LABELS[:3]), V, "labels|8"),
    (evaluate(X, LABELS + 0.5), T, "labels: expected integers"),
    (evaluate(X, LABELS - 1), V, "label|class"),
    (evaluate(X, LABELS + 10), V, "label|class"),
    (evaluate(X, LABELS.reshape(2, 4)), V, "labels: expected shape"),
    (evaluate(X, "labels"), T, "labels: expected an array"),
    (evaluate(MNIST, LABELS), V, "labels="),
    (evaluate(X, LABELS, batch=0), V, "batch: expected at least 1"),
    (evaluate(X, LABELS, batch=-1), V, "batch"),
    (evaluate(X, LABELS, batch=None), T, "batch: expected an integer"),
    (evaluate(X, LABELS, reference=3), T, "model: expected a path"),
    (evaluate(X, LABELS, reference="nowhere.onnx"), F, "nowhere.onnx"),
    (evaluate(X, LABELS, float_order="any"), V, "float_order"),
    (lambda: ht.evaluate(), T, "missing a required argument"),
    (lambda: ht.bench(NETWORK, seconds=-1, progress=False), V, "seconds"),
    (lambda: ht.bench(NETWORK, seconds=NAN, progress=False), V, "seconds"),
    (lambda: ht.bench(NETWORK, batch=0, progress=False), V, "batch"),
    (lambda: ht.bench(NETWORK, batch="1"), T, "batch: expected an integer or None"),
    (lambda: ht.bench(None), T, "model: expected a path"),
    (lambda: ht.inspect("nowhere.onnx"), F, "nowhere.onnx"),
    (lambda: ht.inspect(NETWORK, work="all"), T, "work: expected True or False"),
    (lambda: ht.convert(NETWORK, None), T, "output: expected a text or a path"),
    (lambda: ht.convert(NETWORK, "x.gguf"), (V, N), "x.gguf"),
    (lambda: ht.convert("nowhere.onnx", "x.circle"), F, "nowhere.onnx"),
    (lambda: ht.export_c(NETWORK, None), T, "folder: expected a text or a path"),
    (lambda: ht.export_c(NETWORK, "x", ram=0), V, "ram: expected at least 1"),
    (lambda: ht.export_c(NETWORK, "x", core="z80"), V, "core: expected cortex-m0, cortex-m3"),
    (lambda: ht.export_c(NETWORK, "x", vectors=0), V, "vectors: expected at least 1"),
    (lambda: ht.export_c(NETWORK, "x", name="two words"), V, "name: expected a C identifier"),
    (lambda: ht.export_c("nowhere.onnx", "x"), F, "nowhere.onnx"),
    # sensitivity and report
    (lambda: ht.sensitivity(NETWORK, X, choices=[]), V, "choices"),
    (lambda: ht.sensitivity(NETWORK, X, choices=[None]), T, "choices\\[0\\]: expected"),
    (lambda: ht.sensitivity(NETWORK, X, choices="x", progress=False), V, "x"),
    (lambda: ht.sensitivity(NETWORK, X, loss="mse"), V, "loss: expected 'kl'"),
    (lambda: ht.sensitivity(NETWORK, X, loss="labels", progress=False), V, "labels"),
    (lambda: ht.sensitivity(NETWORK, X, state=3), T, "state: expected a text"),
    (lambda: ht.sensitivity(NETWORK, X, reference=NETWORK, choices=[2]), V, "reference"),
    (lambda: ht.report(NETWORK, X, LABELS, worst=-1), V, "worst"),
    (lambda: ht.report(NETWORK, sensitivity=3), T, "sensitivity(\\[0\\])?: expected"),
    (lambda: ht.report(NETWORK, sensitivity="nowhere.json"), F, "nowhere.json"),
    (lambda: ht.report(NETWORK, sensitivity=[3]), T, "sensitivity(\\[0\\])?: expected"),
    (lambda: ht.report(NETWORK, beside=3), T, "model: expected a path"),
    # numbers
    (lambda: ht.levels("nosuch"), V, "nosuch"),
    (lambda: ht.levels("int", -1), V, "bits"),
    (lambda: ht.levels("int", 99), V, "bits"),
    (lambda: ht.levels(None), T, "name: expected a text"),
    (lambda: ht.fit(None), T, "values: expected an array"),
    (lambda: ht.fit(X, bits=-1), V, "bits"),
    (lambda: ht.fit(X, group_size=-1, granularity="group"), V, "group"),
    (lambda: ht.fit(X, offset=None), T, "offset: expected True or False"),
    (lambda: ht.fit(X.astype(bool)), T, "values: expected numbers"),
    (lambda: ht.encode(X, None), T, "encoding: expected an Encoding"),
    (lambda: ht.decode(X, "basis"), T, "encoding: expected an Encoding"),
    (lambda: encoding().encode(None), T, "values: expected an array"),
    (lambda: encoding().decode(X), T, "codes: expected integers"),
    (lambda: encoding().levels("0"), T, "block: expected an integer"),
    (lambda: ht.Encoding.uniform(None), T, "scale: expected"),
    (lambda: ht.Encoding.fixed_point(0.5, 8), T, "exponent: expected an integer"),
    (lambda: ht.Encoding.fixed_point(1 << 40, 8), V, "exponent"),
    (lambda: ht.Encoding.minifloat("4", 3), T, "exponent_bits: expected an integer"),
    (lambda: ht.Encoding.rule(X, 3), T, "system: expected a text"),
    # described hardware
    (lambda: ht.estimate(NETWORK, None), T, "accelerator: expected a text"),
    (lambda: ht.estimate(NETWORK, ""), (V, OSError), ""),
    (lambda: ht.estimate(NETWORK, {}), V, "accelerator"),
    (lambda: ht.estimate(NETWORK, "h100", batch=-1), V, "batch"),
    (lambda: ht.estimate(NETWORK, "h100", devices=-1), V, "devices"),
    (lambda: ht.estimate(NETWORK, "h100", split="half"), V, "split: expected 'data'"),
    (lambda: ht.explore(NETWORK, X, None), T, "space: expected a text"),
    (lambda: ht.explore(NETWORK, X, {}), V, "space"),
    (lambda: ht.explore(NETWORK, X, "x = 1\n", budget={"area": "big"}), T, "budget\\['area'\\]: expected"),
    (lambda: ht.crossbar(NETWORK, X), T, "missing a required argument: 'device'"),
    (lambda: ht.crossbar(NETWORK, X, device={}), V, "device"),
    (lambda: ht.crossbar(NETWORK, X, device="ideal", seconds=-1, progress=False), (V, N), ""),
    (lambda: ht.crossbar(NETWORK, X, device="ideal", seeds=-1), V, "seeds"),
    (lambda: ht.accelerator_text(None), T, "name: expected a text"),
    # training
    (lambda: ht.train(NETWORK, X, LABELS, epochs="1"), (T, N), "epochs|libtorch"),
    (lambda: ht.train(NETWORK, X, LABELS, seed=1 << 70), (V, N), "seed|libtorch"),
    (lambda: ht.distill(NETWORK, X, teacher=3), (T, N), "model: expected|libtorch"),
    # language models
    (lambda: ht.LanguageModel.open(None), T, "path: expected a text or a path"),
    (lambda: ht.LanguageModel.open("nowhere.gguf"), F, "nowhere.gguf"),
    (lambda: ht.LanguageModel.open("README.md"), (V, N), "README.md"),
    (lambda: ht.LanguageModel.open("x.gguf", context="many"), T, "context: expected an integer"),
    (language(), F, "none"),
    (language(model=None), T, "model: expected a text or a path"),
    (language(texts=3), T, "texts: expected a text, a path, a list or None"),
    (language(texts=[3]), T, "texts\\[0\\]: expected a text or a path"),
    (language(output=None), T, "output: expected a text or a path"),
    (language(type=4), T, "type: expected a text or None"),
    (language(rules=["a"]), T, "rules: expected a dict or None"),
    (language(rules={"a": 3}), T, "rules\\['a'\\]: expected a text"),
    (language(size="60M"), T, "size: expected an integer or None"),
    (language(samples=-1), V, "samples: expected at least 1, found -1"),
    (language(threads=0), V, "threads: expected at least 1"),
    (lambda: ht.convert_language_model("nowhere", "x.gguf"), F, "nowhere"),
    (lambda: ht.convert_language_model(None, "x.gguf"), T, "model: expected a text or a path"),
    (lambda: ht.language_sensitivity(3, None), T, "model: expected a text or a path"),
    (lambda: ht.language_sensitivity("x", "y", choices=[3]), T, "choices\\[0\\]: expected a text"),
    (lambda: ht.language_report(None), T, "model: expected a text or a path"),
    (lambda: ht.language_report("nowhere.gguf"), F, "nowhere.gguf"),
    (lambda: ht.distill_language_model(3, "b", "c", "d"), T, "teacher: expected a text or a path"),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(CALLS)))
def test_wrong_calls_are_refused_in_words(index: int) -> None:
    call, kind, message = CALLS[index]
    with pytest.raises(kind) as found:
        call()
    text = str(found.value)
    assert re.search(message, text), text
    assert not RAW.search(text), text
    assert text.strip() and "\n" not in text.strip(), text


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ht.LanguageModel:
    path = tmp_path_factory.mktemp("tiny") / "model.gguf"
    write_tiny_gguf(path)
    return ht.LanguageModel.open(path)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda m: m.generate(3), T, "prompt: expected a text"),
        (lambda m: m.generate("a", max_tokens=-1), V, "max_tokens: expected 0 to"),
        (lambda m: m.generate("a", max_tokens=1.5), T, "max_tokens: expected an integer"),
        (lambda m: m.generate("a", temperature="hot"), T, "temperature: expected a number"),
        (lambda m: m.generate("a", temperature=NAN), V, "temperature"),
        (lambda m: m.generate("a", top_k=-1), V, "top_k"),
        (lambda m: m.generate("a", heat=1), T, "unexpected option 'heat'"),
        (lambda m: m.generate("a", stop=3), T, "stop: expected a text or a list"),
        (lambda m: m.generate("a", stop=[3]), T, "stop\\[0\\]: expected a text"),
        (lambda m: m.generate("a", sequence=7), V, "sequence"),
        (lambda m: m.generate("a", on_text=3), T, "on_text: expected a function"),
        (lambda m: m.generate([1, "b"]), T, "prompt\\[1\\]: expected"),
        (lambda m: m.generate([1 << 40]), V, "token"),
        (lambda m: m.generate([-5]), V, "token"),
        (lambda m: m.tokenize(None), T, "text: expected a text"),
        (lambda m: m.detokenize(["a"]), T, "tokens\\[0\\]: expected an integer"),
        (lambda m: m.append([]), V, "token"),
        (lambda m: m.append(None), T, "tokens: expected"),
        (lambda m: m.append_each({0: []}), V, "token"),
        (lambda m: m.append_each({-1: [3]}), V, "parts: expected"),
        (lambda m: m.append_each([3]), T, "parts: expected"),
        (lambda m: m.append_each({"a": [3]}), T, "parts"),
        (lambda m: m.append(["a"]), T, "tokens\\[0\\]: expected"),
        (lambda m: m.evaluate_text(None), T, "text: expected a text"),
        (lambda m: m.evaluate_text(""), V, ""),
    ],
)  # fmt: skip
def test_wrong_calls_of_language_models(
    tiny: ht.LanguageModel, call: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as found:
        call(tiny)
    assert re.search(message, str(found.value)), str(found.value)
    assert not RAW.search(str(found.value)), str(found.value)
