# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments are refused in the words of Python, and what people pass is taken."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import halftone as ht

NETWORK = "examples/mnist/mnist_mlp_700.onnx"
X = np.random.default_rng(1).random((32, 784), dtype=np.float32)
FAST: Any = {"progress": False, "limit": 16}


def bits_of(model: ht.Model) -> list[tuple[int, int]]:
    return [(layer.weight_bits, layer.activation_bits) for layer in model.layers]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"weight_bits": "4"}, TypeError, "weight_bits: expected an integer or None, found '4'"),
        ({"weight_bits": 3.5}, TypeError, "weight_bits: expected an integer or None, found 3.5"),
        ({"weight_bits": True}, TypeError, "weight_bits: expected an integer or None, found True"),
        ({"weight_bits": 0}, ValueError, "weight_bits: expected 1 to 16 or none, found 0"),
        ({"activation_bits": 0}, ValueError, "activation_bits: expected 1 to 16 or none, found 0"),
        ({"activation_bits": "some"}, ValueError, "activation_bits: expected an integer, 'none'"),
        ({"ends": False}, TypeError, "ends: expected an integer or None, found False"),
        ({"scheme": 4}, TypeError, "scheme: expected a text or None, found 4"),
        ({"arithmetic": "exact"}, ValueError, "'bits', 'integers', 'float' or None, found 'exact'"),
        ({"seed": -1}, ValueError, "seed: expected 0 to 2\\^63 - 1, found -1"),
        ({"seed": 1 << 70}, ValueError, "seed: expected 0 to 2\\^63 - 1, found 118059162071741"),
        ({"progress": "yes"}, TypeError, "progress: expected True or False or a function, found"),
        ({"threads": []}, TypeError, "threads: expected an integer or None, found list"),
        ({"output": 5}, TypeError, "output: expected a text, a path or None, found 5"),
        ({"recipe": 5}, TypeError, "recipe: expected a text, a path, a dict or None, found 5"),
        ({"recipe": {"default": 4}}, ValueError, "default"),
        ({"recipe": {"default": {"weight_bits": None}}}, TypeError, "default.weight_bits: expected"),
        ({"recipe": {"default": {"bits": 3}}}, ValueError, "unknown key 'bits'"),
        ({"skip": 3}, TypeError, "skip: expected a text, a list, a function or None, found 3"),
        ({"skip": [3]}, TypeError, "skip\\[0\\]: expected a text, found 3"),
        ({"skip": "dense9"}, ValueError, "pattern 'dense9' matches no layer"),
        ({"bits": {"dense1": "4/8/2"}}, ValueError, "expected 4, '4/8' or \\(4, 8\\), found '4/8/2'"),
        ({"bits": {"dense1": "many"}}, ValueError, "bits: 'dense1': expected 4, '4/8'"),
        ({"bits": {"dense1": True}}, TypeError, "bits\\['dense1'\\]: expected 4, '4/8'"),
        ({"budget": {"bytes": 10}}, ValueError, "cannot be met"),
        ({"choices": [True], "budget": "bytes=90k"}, TypeError, "choices\\[0\\]: expected a text or an integer"),
    ],
)
def test_wrong_arguments_of_quantize(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ht.quantize(NETWORK, X, **{**FAST, **options})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.session("2"), "batch: expected an integer, found '2'"),
        (lambda m: m.save(None), "path: expected a text or a path, found NoneType"),
        (lambda m: m.to_bytes(3), "format: expected 'onnx', 'tflite' or 'circle', found 3"),
        (lambda m: m.inspect(batch="1"), "batch: expected an integer or None, found '1'"),
        (lambda m: ht.load(NETWORK, threads=1.5), "threads: expected an integer, found 1.5"),
        (lambda m: ht.bench(m, seconds="1"), "seconds: expected a number, found '1'"),
        (lambda m: ht.convert(m, 3), "output: expected a text or a path, found 3"),
        (lambda m: ht.evaluate(m, X, batch=[]), "batch: expected an integer, found list"),
        (lambda m: ht.sensitivity(m, X, choices=3), "choices: expected a list, a text or None"),
        (lambda m: ht.report(m, worst="2"), "worst: expected an integer, found '2'"),
        (lambda m: ht.levels(3), "name: expected a text, found 3"),
        (lambda m: ht.fit(X, 4), "system: expected a text, found 4"),
        (lambda m: ht.LanguageModel(NETWORK), "opened by LanguageModel.open"),
        (lambda m: ht.LanguageModel.open(5), "path: expected a text or a path, found 5"),
        (lambda m: ht.quantize_language_model(5, None, "o"), "model: expected a text or a path"),
        (lambda m: ht.quantize(m), "missing a required argument: 'data'"),
        (lambda m: ht.quantize(m, X, weigth_bits=4), "unexpected keyword argument 'weigth_bits'"),
    ],
)
def test_wrong_types_elsewhere(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(ht.load(NETWORK))


def test_scalars_of_numpy_are_numbers() -> None:
    model, _ = ht.quantize(NETWORK, X, weight_bits=np.int32(4), seed=np.uint8(1), **FAST)
    assert bits_of(model) == [(4, 3), (4, 3)]


def test_layers_are_skipped_or_have_bits_by_name() -> None:
    assert bits_of(ht.quantize(NETWORK, X, weight_bits=2, skip="dense2", **FAST).model) == [
        (2, 3),
        (32, 32),
    ]
    several = ht.quantize(NETWORK, X, bits={"*1": "2/4", "dense2": (8, "none")}, **FAST).model
    assert bits_of(several) == [(2, 4), (8, 32)]
    recipe = {"default": {"weight_bits": 5}, "layer": [{"name": "dense1", "weight_bits": 1}]}
    assert bits_of(ht.quantize(NETWORK, X, recipe=recipe, skip=["dense2"], **FAST).model) == [
        (1, 3),
        (32, 32),
    ]


def test_a_recipe_as_a_dict_is_its_text() -> None:
    recipe = {"default": {"weight_bits": 2, "weight_offset": False}, "ends": {"weight_bits": 8}}
    text = "[default]\nweight_bits = 2\nweight_offset = false\n[ends]\nweight_bits = 8\n"
    found = ht.quantize(NETWORK, X, recipe=recipe, **FAST).model.to_bytes()
    assert found == ht.quantize(NETWORK, X, recipe=text, **FAST).model.to_bytes()


def test_models_and_reports_are_copied_and_pickled() -> None:
    small, report = ht.quantize(NETWORK, X, weight_bits=2, activation_bits=2, **FAST)
    for model in (ht.load(NETWORK), small):
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(other(X), model(X))
            assert (other.name, other.format) == (model.name, model.format)
    for result in (report, ht.inspect(small)):
        assert str(pickle.loads(pickle.dumps(result))) == str(result)
        assert copy.deepcopy(result).to_json() == result.to_json()


def test_a_model_runs_as_a_session_of_onnx_runtime_does() -> None:
    model = ht.load(NETWORK)
    expected = model(X)
    for wanted in (None, ["probabilities"], "probabilities"):
        [found] = model.run(wanted, {"pixels": X})
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="outputs: expected names of"):
        model.run(["scores"], {"pixels": X})
