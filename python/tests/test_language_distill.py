# SPDX-License-Identifier: Apache-2.0
"""Quantized language models that are tuned: on a tiny one, and beside the program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import halftone as ht
from conftest import Program, write_tiny_gguf

FEW: dict[str, Any] = {"steps": 4, "batch": 2, "sample_tokens": 32, "held_out": 2,
                       "progress": False}  # fmt: skip


@pytest.fixture(scope="module")
def files(libtorch: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model.gguf, student.gguf, student.safetensors and fit.txt."""
    folder = tmp_path_factory.mktemp("distill")
    write_tiny_gguf(folder / "model.gguf")
    lines = (f"{1000 + i * i % 97} {'foxes ran away' if i % 3 else 'birds flew home'} by noon.\n"
             for i in range(150))
    (folder / "fit.txt").write_text("".join(lines))
    for name, type in (("student.gguf", "Q4_1"), ("student.safetensors", "4x8")):
        ht.quantize_language_model(folder / "model.gguf", folder / "fit.txt", folder / name,
                                   type=type, samples=8, held_out=0, sample_tokens=32,
                                   progress=False)
    return folder


def distilled(
    files: Path, output: Path, student: str = "student.gguf", **options: Any
) -> ht.LanguageDistillReport:
    return ht.distill_language_model(files / "model.gguf", files / student, files / "fit.txt",
                                     output, **FEW | options)


@pytest.mark.parametrize("student", ["student.gguf", "student.safetensors"])
def test_files_are_those_of_the_program(
    files: Path, tmp_path: Path, program: Program, student: str
) -> None:
    ours, theirs = tmp_path / f"ours_{student}", tmp_path / f"theirs_{student}"
    report = distilled(files, ours, student, learning_rate=0.01, seed=5, threads=1)
    printed = json.loads(program(
        "distill", "--teacher", files / "model.gguf", "--student", files / student, "--text",
        files / "fit.txt", "-o", theirs, "--steps", 4, "--batch", 2, "--sample-tokens", 32,
        "--held-out", 2, "--learning-rate", 0.01, "--seed", 5, "--json"))
    assert ours.read_bytes() == theirs.read_bytes()
    found = report.to_dict()
    for facts in (found, printed):
        facts["seconds"] = 0
        for step in facts["steps"]:
            step["seconds"] = 0
    assert found == printed


def test_the_report(files: Path, tmp_path: Path) -> None:
    tuned = tmp_path / "tuned.gguf"
    report = distilled(files, tuned, second_text=files / "fit.txt")
    assert report.output_bytes == report.input_bytes == tuned.stat().st_size
    assert report.held_out.after <= report.held_out.before == report.evaluations[0][1]
    assert report.held_out.tokens == 2 * 32
    assert report.second_text is not None and report.second_text.before > 0
    assert len(report.losses) == 4 and all(loss > 0 for loss in report.losses)
    assert report.best_steps in {steps for steps, _ in report.evaluations}
    assert report.scales > 0 and report.gains == 5 * 64 and report.bases == ()
    assert report.fit_tokens > 32 and report.seconds > 0 and isinstance(report.warnings, tuple)
    assert repr(report).startswith("<halftone.LanguageDistillReport: divergence ")
    assert "held-out text: divergence" in str(report)
    assert ht.LanguageModel.open(tuned).generate("1042", max_tokens=2).prompt_tokens > 0


def test_a_state_continues(files: Path, tmp_path: Path) -> None:
    whole, parts, state = (tmp_path / name for name in ("a.gguf", "b.gguf", "state"))
    distilled(files, whole)

    def stop(share: float, activity: str) -> None:
        if share > 0.4:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        distilled(files, parts, state=state, progress=stop)
    assert state.exists() and not parts.exists()
    assert distilled(files, parts, state=state).losses
    assert parts.read_bytes() == whole.read_bytes()


def test_errors(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.gguf"
    for options, text in (({"steps": 0}, "steps: expected at least 1, found 0"),
                          ({"learning_rate": -1.0}, "learning_rate: expected a number above 0"),
                          ({"sample_tokens": 1}, "sample_tokens: expected at least 2, found 1"),
                          ({"threads": 0}, "threads: expected at least 1")):
        with pytest.raises(ValueError, match=text):
            distilled(files, output, **options)
    with pytest.raises(ValueError, match=r"expected NAME\.gguf, as the student"):
        distilled(files, tmp_path / "x.safetensors")
    with pytest.raises(NotImplementedError, match="no matrix has scales"):
        distilled(files, output, "model.gguf")
    with pytest.raises(TypeError):
        distilled(files, output, steps="many")
    for options in ({"second_text": tmp_path / "none"}, {"student": "none.gguf"}):
        with pytest.raises(FileNotFoundError, match="none"):
            distilled(files, output, **options)
    assert not output.exists()


def test_builds_without_libtorch_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "halftone._halftone_train", None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(NotImplementedError, match="build it with libtorch"):
        ht.distill_language_model("a.gguf", "b.gguf", "c.txt", tmp_path / "x.gguf")
