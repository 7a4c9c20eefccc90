# SPDX-License-Identifier: Apache-2.0
"""Networks that learn: the files of the program, interruption, and the course of a run."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, Program

#: One epoch of the small layer alone, whose fit takes little time.
FAST: Any = {"limit": 128, "batch": 64, "skip": ["dense1"], "weight_bits": 2,
             "activation_bits": 2, "progress": False}  # fmt: skip


def facts(report: ht.TrainReport) -> dict[str, Any]:
    """Without times."""
    found = report.to_dict() | {"seconds": 0}
    for epoch in found["epochs"]:
        epoch["seconds"] = 0
    return found


def printed_facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text) | {"seconds": 0}
    for epoch in found["epochs"]:
        epoch["seconds"] = 0
    return found


def test_trained_files_are_those_of_the_program(
    libtorch: None, program: Program, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours.onnx", tmp_path / "theirs.onnx"
    printed = program("train", NETWORK, "-o", theirs, "--data", MNIST, "--limit", 256, "--epochs", 2,
                      "--batch", 64, "--validation-split", 0.25, "--learning-rate", 0.002, "--seed",
                      3, "--json")  # fmt: skip
    seen: list[ht.EpochResult] = []
    trained = ht.train(NETWORK, MNIST, limit=256, epochs=2, batch=64, validation_split=0.25,
                       learning_rate=0.002, seed=3, output=ours, on_epoch=seen.append, threads=1,
                       progress=False)  # fmt: skip
    assert ours.read_bytes() == theirs.read_bytes() == trained.model.to_bytes("onnx")
    assert facts(trained.report) == printed_facts(printed)
    assert tuple(seen) == trained.report.epochs and trained.report.best_epoch in (1, 2)
    assert seen[1].loss < seen[0].loss
    # Ten classes: chance answers a tenth of the samples.
    assert ht.evaluate(trained.model, MNIST, limit=1000, progress=False).value > 0.4


def test_distilled_files_are_those_of_the_program(
    libtorch: None, program: Program, tmp_path: Path
) -> None:
    ours, theirs, recipe = tmp_path / "a.circle", tmp_path / "b.circle", tmp_path / "r.toml"
    recipe.write_text('[[layer]]\nname = "dense1"\nskip = true\n')
    printed = program("distill", "--teacher", NETWORK, "-o", theirs, "--data", MNIST, "--limit", 128,
                      "--batch", 64, "--recipe", recipe, "--weight-bits", 2, "--activation-bits", 2,
                      "--stages", "4:1", "--temperature", 3, "--json")  # fmt: skip
    small = ht.distill(NETWORK, MNIST, stages=["4:1"], temperature=3.0, output=ours, **FAST)
    assert ours.read_bytes() == theirs.read_bytes()
    assert facts(small.report) == printed_facts(printed)
    assert [layer.weight_bits for layer in small.model.layers] == [32, 2]
    # A student in few bits learns on, and several teachers are averaged.
    again = ht.distill(small.model, MNIST, teacher=[NETWORK, NETWORK], limit=64, batch=32,
                       progress=False)  # fmt: skip
    assert [layer.weight_bits for layer in again.model.layers] == [32, 2]
    pickled = pickle.loads(pickle.dumps(again.report))
    assert facts(pickled) == facts(again.report) and repr(pickled) == repr(again.report)
    assert again.report._repr_html_().count("<tr>") == 2


def test_cells_of_crossbars_are_learned_with(libtorch: None) -> None:
    old = ht.distill(NETWORK, MNIST, crossbar="pcm", crossbar_seconds=1e6, **FAST)
    new = ht.distill(NETWORK, MNIST, crossbar="pcm", **FAST)
    assert old.report.epochs[0].loss != new.report.epochs[0].loss


def test_arrays_and_labels(libtorch: None) -> None:
    """Two clusters are learned by a network of the bundled shape."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 256)
    x = (labels[:, None] + random.normal(0, 0.1, (256, 784))).astype(np.float32)
    trained = ht.train(NETWORK, x, labels, epochs=3, batch=32, progress=False)
    assert ht.evaluate(trained.model, x, labels, progress=False).value > 0.9


def test_an_interrupted_run_continues(libtorch: None, tmp_path: Path) -> None:
    whole = ht.distill(NETWORK, MNIST, epochs=2, **FAST).model.to_bytes()

    def stop(epoch: ht.EpochResult) -> None:
        raise LookupError("enough")

    run = tmp_path / "run"
    with pytest.raises(LookupError, match="enough"):
        ht.distill(NETWORK, MNIST, epochs=2, checkpoint=run, checkpoint_minutes=0, on_epoch=stop,
                   **FAST)  # fmt: skip
    assert run.exists()
    resumed = ht.distill(NETWORK, MNIST, epochs=2, checkpoint=run, resume=True, **FAST)
    assert resumed.model.to_bytes() == whole

    def refuse(share: float, activity: str) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        ht.distill(NETWORK, MNIST, **{**FAST, "progress": refuse})


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs: expected 1 to 100000, found 0"),
        ({"epochs": -1}, ValueError, "epochs: expected 1 to 100000, found -1"),
        ({"epochs": 1.5}, TypeError, "epochs: expected an integer, found 1.5"),
        ({"epoch": 1}, TypeError, "unexpected option 'epoch'"),
        ({"optimizer": "newton"}, ValueError, "optimizer: expected 'adam' or 'sgd', found"),
        ({"learning_rate": -1.0}, ValueError, "learning_rate: expected a number above 0"),
        ({"learning_rate": float("nan")}, ValueError, "learning_rate: expected a number above 0"),
        ({"milestones": 0.5}, TypeError, "milestones: expected a list, found 0.5"),
        ({"precision": "int99"}, ValueError, "int99"),
        ({"temperature": 0.0}, ValueError, "temperature"),
        ({"stages": ["4"]}, ValueError, "4"),
        ({"stages": [4]}, TypeError, "stages\\[0\\]: expected a text, found 4"),
        ({"features": ["nothing=nothing"]}, ValueError, "nothing"),
        ({"crossbar_seconds": 1.0}, ValueError, "crossbar_seconds: only with crossbar="),
        ({"calibration": 0}, ValueError, "calibration: expected 1 to 1073741824, found 0"),
        ({"teacher": []}, ValueError, "expected a teacher, found none"),
    ],
)  # fmt: skip
def test_other_requests_are_refused(
    libtorch: None, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ht.distill(NETWORK, MNIST, **{**FAST, **options})


@pytest.mark.parametrize("first", ["torch", "halftone"])
def test_two_libtorches_are_refused(libtorch: None, first: str) -> None:
    """In a process of its own: the second one would crash it."""
    lines = ["import torch", f"ht.train({str(NETWORK)!r}, {str(MNIST)!r}, limit=128, progress=False)"]
    program = "\n".join(["import halftone as ht", *(lines if first == "torch" else lines[::-1])])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    if "No module named 'torch'" in done.stderr:
        pytest.skip("there is no torch")
    assert done.returncode == 1 and "another libtorch; use another process" in done.stderr


@pytest.mark.parametrize("call", [ht.train, ht.distill])
def test_builds_without_libtorch_say_so(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "halftone._halftone_train", None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(NotImplementedError, match="build it with libtorch, see 'Train' in docs"):
        call(NETWORK, MNIST)
