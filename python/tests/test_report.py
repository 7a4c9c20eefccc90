# SPDX-License-Identifier: Apache-2.0
"""report(): the page of the program, in notebooks and files."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, Program, classes, pixels


def test_the_page_is_that_of_the_program(
    program: Program, two_bits: ht.Quantized, tmp_path: Path
) -> None:
    network = tmp_path / "two.circle"
    two_bits.model.save(network)
    by_program, by_python = tmp_path / "program.html", tmp_path / "python.html"
    printed = program("report", network, "-o", by_program, "--reference", NETWORK, "--data", MNIST,
                      "--limit", 100, "--worst", 3, "--json")
    page = ht.report(network, MNIST, reference=NETWORK, limit=100, worst=3, threads=2,
                     progress=False)
    page.save(by_python)
    assert by_python.read_bytes() == by_program.read_bytes()
    assert page.to_json() == printed
    assert page.missing == ()
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "program.html", "python.html", "two.circle"
    ]  # fmt: skip


def test_networks_and_samples_in_memory_have_a_page(two_bits: ht.Quantized) -> None:
    page = ht.report(two_bits.model, pixels("t10k", 60), classes("t10k", 60), reference=NETWORK,
                     beside=NETWORK, time=True, samples_per_run=4, progress=False)
    model = page.to_dict()["model"]
    assert (model["format"], model["bytes"]) == ("circle", len(two_bits.model.to_bytes()))
    assert page.to_dict()["beside"]["format"] == "onnx"
    assert list(page.node_data) == ["bits", "bytes", "sqnr", "sqnr-alone", "us"]
    assert "dense1" in page.node_data["us"]
    same = ht.evaluate(two_bits.model, pixels("t10k", 60), classes("t10k", 60), progress=False)
    assert model["evaluation"]["value"] == same.value


def test_classes_have_names_and_networks_are_compared(
    two_bits: ht.Quantized, tmp_path: Path
) -> None:
    file = tmp_path / "classes.txt"
    names = [f"digit {i}" for i in range(10)]
    file.write_text("\n".join(names))
    pages = [ht.report(two_bits.model, MNIST, reference=NETWORK, beside=[NETWORK, two_bits.model],
                       classes=classes_, limit=60, progress=False) for classes_ in (file, names)]
    assert pages[0].html == pages[1].html
    facts = pages[0].to_dict()
    assert facts["classes"] == names and len(facts["more_beside"]) == 1
    assert sum(map(sum, facts["model"]["confusion"])) == 60
    assert facts["verdict"]["size"]["ratio"] > 1
    with pytest.raises(FileNotFoundError):
        ht.report(NETWORK, classes=tmp_path / "none.txt", progress=False)
    with pytest.raises(ValueError, match="at most 4 networks beside"):
        ht.report(NETWORK, beside=[NETWORK] * 5, progress=False)


def test_results_are_shown(tmp_path: Path) -> None:
    recipe = '[[layer]]\nname = "dense1"\nskip = true'
    within = ht.quantize(NETWORK, MNIST, budget="loss=10", choices=[1, 2], recipe=recipe, limit=30,
                         tries=1, progress=False)
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"epochs": [{"loss": 2}, {"loss": 1}]}))
    page = ht.report(within.model, search=within.report, training=[file, file],
                     sensitivity=[within.report.sensitivity, within.report], progress=False)
    facts = page.to_dict()
    assert [each["file"] for each in facts["sensitivities"]] == ["Sensitivity", "BudgetReport"]
    assert [each["file"] for each in facts["searches"]] == ["BudgetReport"]
    assert [each["file"] for each in facts["trainings"]] == ["run.json", "run.json"]


def test_notebooks_show_the_page() -> None:
    page = ht.report(NETWORK, progress=False)
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', page._repr_html_())
    assert found is not None and unescape(found[1]) == page.html
    assert str(page) == f"mnist_mlp_700.onnx: 2 layers, a page of {len(page.html)} bytes"
    assert repr(page) == f"<halftone.Report: {page}>"
    assert page.missing == ()


def test_bad_reports_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Evaluation: expected what quantize --budget --json"):
        ht.report(NETWORK, search=ht.evaluate(NETWORK, MNIST, limit=10, progress=False))
    with pytest.raises(FileNotFoundError):
        ht.report(NETWORK, sensitivity=tmp_path / "no.json")
    with pytest.raises(ValueError, match="expected"):
        ht.report(NETWORK, np.zeros((2, 5), np.float32), np.zeros(2, np.int64), progress=False)
    page = ht.report(NETWORK, progress=False)
    with pytest.raises(FileNotFoundError):
        page.save(tmp_path / "no" / "page.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        page.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
