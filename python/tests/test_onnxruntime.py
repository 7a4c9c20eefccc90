# SPDX-License-Identifier: Apache-2.0
"""The module has our operators for ONNX Runtime; the example of ship_it.md runs."""

from __future__ import annotations

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK, pixels, run_guide_block

onnxruntime = pytest.importorskip("onnxruntime")


def session_of(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(ht.onnxruntime_library())
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("one_operator", [False, True])
def test_sessions_give_the_bits_of_models(one_operator: bool) -> None:
    images = (pixels("t10k", 64).reshape(64, 784) / 255).astype(np.float32)
    small, _ = ht.quantize(NETWORK, images, weight_bits=2, activation_bits=2)
    file = small.to_bytes("onnx", one_operator=one_operator)
    (found,) = session_of(file).run(None, {small.inputs[0].name: images})
    if one_operator:
        np.testing.assert_array_equal(found, small(images))
    else:  # ONNX Runtime's own softmax: an exponential and a sum of ten, each rounded
        np.testing.assert_allclose(found, small(images), rtol=0, atol=13 * 2.0**-24)
    np.testing.assert_array_equal(ht.load(file)(images), small(images))


def test_other_formats_and_forms_are_refused(tmp_path) -> None:
    model = ht.load(NETWORK)
    with pytest.raises(ValueError, match="one operator is for ONNX Runtime and LiteRT: expected"):
        model.save(tmp_path / "m.circle", one_operator=True)
    with pytest.raises(ValueError, match="the standard form or one operator, found both"):
        model.save(tmp_path / "m.onnx", one_operator=True, standard=True)
    assert not list(tmp_path.iterdir())


def test_the_example_of_the_guide_runs(tmp_path) -> None:
    assert run_guide_block("import onnxruntime", tmp_path) == "the same bits: True\n"
