# SPDX-License-Identifier: Apache-2.0
"""The module has our delegate for LiteRT; the example of ship_it.md runs."""

from __future__ import annotations

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK, pixels, run_guide_block

interpreter = pytest.importorskip("ai_edge_litert.interpreter")


@pytest.mark.parametrize("one_operator", [False, True])
def test_interpreters_give_the_bits_of_models(one_operator: bool) -> None:
    images = (pixels("t10k", 64).reshape(64, 784) / 255).astype(np.float32)
    small, _ = ht.quantize(NETWORK, images, weight_bits=2, activation_bits=2)
    file = small.to_bytes("tflite", one_operator=one_operator)
    delegate = interpreter.load_delegate(ht.litert_library(), {"threads": 2})
    found = interpreter.Interpreter(model_content=file, experimental_delegates=[delegate])
    (answers,) = found.get_signature_runner()(**{small.inputs[0].name: images}).values()
    if one_operator:
        np.testing.assert_array_equal(answers, small(images))
    else:  # LiteRT's own softmax: an exponential and a sum of ten, each rounded
        np.testing.assert_allclose(answers, small(images), rtol=0, atol=13 * 2.0**-24)
    np.testing.assert_array_equal(ht.load(file)(images), small(images))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="halftone: option 'cores': expected 'threads'"):
        interpreter.load_delegate(ht.litert_library(), {"cores": 2})
    with pytest.raises(ValueError, match="halftone: threads: expected a whole number"):
        interpreter.load_delegate(ht.litert_library(), {"threads": 0})


def test_the_example_of_the_guide_runs(tmp_path) -> None:
    assert run_guide_block("ai_edge_litert", tmp_path) == "the same bits: True\n"
