# SPDX-License-Identifier: Apache-2.0
"""Networks on described hardware: the figures of the program, and counts by hand."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, Program, write_tiny_gguf

#: A chip that multiplies 100 pairs of numbers in a cycle and never waits for memory.
CHIP: dict[str, Any] = {
    "name": "chip",
    "clock_hz": 1e6,
    "unit": [
        {
            "name": "lanes",
            "kind": "vector",
            "operations_per_cycle": 1e9,
            "rates": [{"weight_bits": 32, "input_bits": 32, "float": True, "per_cycle": 100}],
        }
    ],
    "memory": [{"name": "DRAM", "bytes": 1e9, "bytes_per_second": 1e15}],
}
SPACE: dict[str, Any] = {
    "accelerator": "edge-2bit",
    "weight_bits": [2, 8],
    "parameter": [{"key": "unit.bit-serial array.count", "values": [8, 16]}],
    "area": [{"of": ["unit.bit-serial array.count"], "mm2": 0.1}],
}
PRODUCTS = 784 * 700 + 700 * 10


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("space") / "space.toml"
    path.write_text(
        'accelerator = "edge-2bit"\nweight_bits = [2, 8]\n'
        '[[parameter]]\nkey = "unit.bit-serial array.count"\nvalues = [8, 16]\n'
        '[[area]]\nof = ["unit.bit-serial array.count"]\nmm2 = 0.1\n'
    )
    return path


def test_products_and_cycles_are_those_of_the_layers() -> None:
    found = ht.estimate(NETWORK, CHIP, method="roofline")
    assert sum(each.products for each in found.operations) == PRODUCTS
    assert found.seconds == pytest.approx(sum(each.seconds for each in found.operations))
    assert found.seconds == pytest.approx(PRODUCTS / 100 * 1e-6, rel=1e-6)
    assert found.operations[0].traffic[0].memory == "DRAM"
    assert found.memory_bytes["weights"] == pytest.approx(4 * PRODUCTS, abs=4 * 710)  # biases
    assert (found.accelerator, found.batch, found.comparison) == ("chip", 1, None)


@pytest.mark.parametrize("options", [{}, {"batch": 8}, {"weight_bits": 2, "activation_bits": 4}])
@pytest.mark.parametrize("chip", ["h100", "edge-2bit"])
def test_estimates_are_those_of_the_program(
    program: Program, chip: str, options: dict[str, Any]
) -> None:
    words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
    printed = json.loads(program("estimate", NETWORK, "--accelerator", chip, *words, "--json"))
    assert ht.estimate(NETWORK, chip, **options).to_dict() == printed | {"workload": str(NETWORK)}


def test_estimates_may_be_of_training_and_of_several_chips() -> None:
    one = ht.estimate(NETWORK, "h100", batch=64)
    assert ht.estimate(NETWORK, "h100", batch=64, training=True).seconds > 2 * one.seconds
    several = ht.estimate(NETWORK, "h100", batch=64, devices=4, split="data").to_dict()
    assert (several["devices"], several["split"]) == (4, "data")


def test_language_models_have_the_figures_of_the_program(program: Program, tmp_path: Path) -> None:
    shape = tmp_path / "config.json"
    shape.write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 32,
        "num_attention_heads": 2, "intermediate_size": 96}))
    printed = program("estimate", "--llm", shape, "--accelerator", "h100", "--weight-bits", 4,
                      "--group-size", 32, "--cache-bits", 8, "--batch", 2, "--json")
    found = ht.language_estimate(shape, "h100", weight_bits=4, group_size=32, cache_bits=8, batch=2)
    assert found.to_dict() == json.loads(printed)
    # Attention and the feed-forward network of two blocks; the table and the head.
    assert found.parameters == 2 * (4 * 64 * 64 + 3 * 64 * 96) + 2 * 32 * 64
    assert found.weights == "int4" and found.devices_needed == 1
    assert found.batches[0].tokens_per_second == pytest.approx(1 / found.batches[0].seconds)
    assert found.token.roofline.startswith("<svg") and found.prompt.seconds > 0
    assert pickle.loads(pickle.dumps(found)).token.seconds == found.token.seconds
    model = tmp_path / "tiny.gguf"
    write_tiny_gguf(model)
    assert "bits in the file" in ht.language_estimate(model, "h100").weights
    with pytest.raises(ValueError, match="its weights have bits of their own"):
        ht.language_estimate(model, "h100", weight_bits=4)


def test_accelerators_have_texts() -> None:
    for name in ("h100", "edge-2bit"):
        text = ht.accelerator_text(name)
        assert ht.estimate(NETWORK, text).seconds == ht.estimate(NETWORK, name).seconds


def test_a_search_has_the_figures_of_the_program(program: Program, space: Path) -> None:
    printed = json.loads(program(
        "explore", NETWORK, "--space", space, "--data", MNIST, "--limit", 40, "--objective",
        "energy", "--budget", "accuracy-drop=0.2,area=1.2", "--json"))
    found = ht.explore(str(NETWORK), str(MNIST), SPACE, limit=40, objective="energy",
                       budget={"accuracy_drop": 0.2, "area": 1.2}, progress=False)
    assert found.to_dict() == printed
    from_file = ht.explore(str(NETWORK), str(MNIST), space, limit=40, objective="energy",
                           budget="accuracy-drop=0.2,area=1.2", progress=False)
    assert from_file.to_dict() == printed


def test_the_chosen_design_is_what_it_says(tmp_path: Path) -> None:
    data = np.random.default_rng(2).random((60, 784), np.float32)
    state = tmp_path / "state"
    found = ht.explore(NETWORK, data, SPACE, budget={"accuracy-drop": 1.0}, objective="energy",
                       test_data=str(MNIST), test_limit=100, state=state, progress=False)
    assert state.exists() and found.is_within and found.designs == 2 * 2 * 2
    assert found.layers == ("dense1", "dense2")
    energies = [each.energy_joules for each in found.front]
    assert energies == sorted(energies) and found.chosen in found.verified
    small, _ = ht.quantize(NETWORK, data, recipe=found.recipe, progress=False)
    bits = [(layer.weight_bits, layer.activation_bits) for layer in small.layers]
    assert tuple(bits) == found.chosen.design.bits
    assert ht.estimate(small, found.accelerator).energy_joules == pytest.approx(
        found.to_dict()["chosen"]["network_energy_joules"], rel=0.01
    )


def test_crossbars_have_the_figures_of_the_program(program: Program, tmp_path: Path) -> None:
    small, _ = ht.quantize(NETWORK, MNIST, weight_bits=2, activation_bits=2, limit=60,
                           progress=False)
    small.save(tmp_path / "small.circle")
    printed = json.loads(program(
        "crossbar", tmp_path / "small.circle", "--device", "pcm", "--data", MNIST, "--limit", 100,
        "--seeds", 3, "--seconds", 1e6, "--json"))
    found = ht.crossbar(tmp_path / "small.circle", MNIST, device="pcm", limit=100, seeds=3,
                        seconds=1e6, progress=False)
    assert found.to_dict() == printed
    assert len(found.values) == 3 and found.mean == pytest.approx(np.mean(found.values))
    assert found.deviation == pytest.approx(np.std(found.values, ddof=1))
    assert [(each.inputs, each.outputs) for each in found.layers] == [(784, 700), (700, 10)]
    ideal = ht.crossbar(small, MNIST, device="ideal", limit=100, progress=False)
    assert ideal.is_equal and ideal.mean == ideal.digital and ideal.agreement == 1


def test_reports_are_copied_pickled_and_shown() -> None:
    estimate = ht.estimate(NETWORK, "h100")
    search = ht.explore(NETWORK, MNIST, SPACE, limit=40, budget={"accuracy-drop": 1}, tries=1,
                        progress=False)
    for each in (estimate, search):
        for other in (copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
            assert (str(other), other.to_json()) == (str(each), each.to_json())
        assert each._repr_html_()
    assert pickle.loads(pickle.dumps(estimate)).roofline == estimate.roofline
    for picture in (estimate.roofline, estimate.timeline, search.picture):
        assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert json.loads(estimate.trace)["traceEvents"]
    assert repr(estimate).startswith("<halftone.EstimateReport: ")
    assert repr(search).startswith("<halftone.ExploreReport: 8 designs, 1 verified")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ht.estimate(NETWORK, "h9"), ValueError, "no accelerator 'h9': known are"),
        (lambda: ht.estimate(NETWORK, "cortex-m4"), NotImplementedError, "memory 'flash'"),
        (lambda: ht.estimate(NETWORK, 3), TypeError, "accelerator: expected a text, a path or a"),
        (lambda: ht.estimate(NETWORK, {"clock_hz": "1\n"}), ValueError, "accelerator: line 1"),
        (lambda: ht.estimate(NETWORK, {"unit": {"a": None}}), TypeError, "accelerator: unit.a: "),
        (lambda: ht.estimate(NETWORK, "h100", method="guess"), ValueError, "'events', found 'guess'"),
        (lambda: ht.estimate(NETWORK, "h100", devices=0), ValueError, "devices: expected 1 to 4096, found 0"),
        (lambda: ht.estimate(NETWORK, CHIP, devices=2), ValueError, "has no \\[link\\]"),
        (lambda: ht.estimate(NETWORK, "h100", batch=0), ValueError, "batch: expected 1 to"),
        (lambda: ht.explore(NETWORK, MNIST, "none.toml"), FileNotFoundError, "none.toml"),
        (lambda: ht.explore(NETWORK, MNIST, SPACE, tries=0), ValueError, "tries: expected 1 to 1000, found 0"),
        (lambda: ht.explore(NETWORK, MNIST, SPACE, test_limit=3), ValueError, "only with test_data"),
        (lambda: ht.explore(NETWORK, MNIST, SPACE, limit=20, budget={"size": 1}, progress=False),
         ValueError, "expected area=MM2"),
        (lambda: ht.crossbar(NETWORK, MNIST, device="ideal", limit=5, progress=False),
         NotImplementedError, "no layer can be mapped"),
        (lambda: ht.crossbar(NETWORK, MNIST, device="none.toml", limit=5), FileNotFoundError, "none"),
        (lambda: ht.crossbar(NETWORK, MNIST, device="ideal", seeds=0, limit=5), ValueError, "seeds"),
        (lambda: ht.accelerator_text("none"), ValueError, "no accelerator 'none'"),
        (lambda: ht.measure_hardware("gpu"), ValueError, "found 'gpu'"),
        (lambda: ht.measure_hardware(threads=-1), ValueError, "threads"),
    ],
)  # fmt: skip
def test_other_requests_are_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
