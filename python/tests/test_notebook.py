# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/python runs, and jobs show their progress in notebooks."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import NETWORK, ROOT

NOTEBOOK = ROOT / "examples" / "python" / "compress_a_cnn.ipynb"
NEEDS = ("torch", "onnxscript", "matplotlib", "ipykernel", "nbformat", "nbclient")


def executed(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The outputs of the cells, run by a kernel that imports the package under test."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def texts(outputs: list[Any], kind: str) -> list[str]:
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def test_the_notebook_is_stored_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDS:
        pytest.importorskip(name)
    import nbformat

    outputs = executed(nbformat.read(NOTEBOOK, as_version=4), NOTEBOOK.parent, monkeypatch)
    printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    right = [float(x) for x in re.findall(r"([0-9.]+) % right", printed)]
    assert len(right) == 2 and right[0] > 90 and right[1] > right[0] - 5
    assert len(texts(outputs, "image/png")) == 1
    tables = texts(outputs, "text/html")
    assert any("<td>FullyConnected</td>" in table for table in tables)
    assert texts(outputs, "text/plain")[-1] == "True"  # the file computes the same


BAR = f"""
import numpy as np
import halftone as ht

shown = []
ipython = get_ipython()
original = ipython.display_pub.publish
ipython.display_pub.publish = lambda data, **more: (shown.append(data), original(data, **more))
ht.quantize({str(NETWORK)!r}, np.zeros((64, 784), np.float32) + np.eye(64, 784, dtype=np.float32))
bars = [data["text/html"] for data in shown]
print(sum("<progress" in bar for bar in bars) > 0, repr(bars[-1]))
"""


def test_jobs_show_a_bar_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(BAR)])
    outputs = executed(notebook, tmp_path, monkeypatch)
    assert outputs[-1]["text"] == "True ''\n"
