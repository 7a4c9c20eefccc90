# SPDX-License-Identifier: Apache-2.0
"""Type checkers find nothing, neither in the package nor in a program that uses it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import halftone as ht
from conftest import ROOT

PACKAGE = Path(ht.__file__).parent

PROGRAM = """
from typing import Any

import numpy as np
import numpy.typing as npt
import halftone as ht

model: ht.Model = ht.load(b"", threads=2)
port: ht.Port = model.inputs[0]
name: str = port.name
result = ht.quantize(model, np.zeros((1, 2)), weight_bits=2, activation_bits="none")
decibels: list[float | None] = [layer.sqnr_db for layer in result.report.layers]
accuracy: float = ht.evaluate(result.model, "folder").value
codes = ht.fit(np.zeros(3), "basis", 2).encode(np.zeros(3))
largest: int = int(codes.max())
lanes: int = len(ht.spmd.devices(8))
total = ht.spmd.pmap(lambda v: ht.spmd.psum(v, "i"), "i")(np.zeros(3))
scores: npt.NDArray[Any] = model(np.zeros((1, 784), np.float32))
out = np.empty((1, 10), np.float32)
same: npt.NDArray[np.float32] = model(np.zeros((1, 784), np.float32), out=out)
first, second = model(np.zeros((1, 784), np.float32))  # of two outputs
chip: float = ht.estimate(model, "h100", method="tiles").seconds
design: ht.HardwareDesign = ht.explore(model, out, "space.toml").chosen.design
cells: tuple[float, ...] = ht.crossbar(model, out, device="pcm").values
epochs: tuple[ht.EpochResult, ...] = ht.train(model, out, epochs=2, optimizer="sgd").report.epochs
small: ht.Model = ht.distill(model, out, weight_bits=1, temperature=2.0).model
levels: npt.NDArray[np.float32] = ht.Encoding.uniform(0.1, 3, 8).levels()
def score(found: ht.Model) -> float:
    return 0.5
drop = ht.quantize(model, out, "int8", metric=score, largest_drop=0.1,
                   skip=lambda layer: layer.weight_bytes < 100).report.metric
kept: tuple[str, ...] = drop.float_layers if drop is not None else ()
"""


def test_the_package_has_its_types() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_halftone.pyi").exists()


def test_the_stub_is_that_of_the_module() -> None:
    pytest.importorskip("nanobind", minversion="3.1")
    path = ROOT / "scripts" / "python_stub.py"
    spec = importlib.util.spec_from_file_location("python_stub", path)
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    for name in maker.MODULES:
        assert maker.path(name).read_text() == maker.stub(name), "run scripts/python_stub.py"


@pytest.mark.parametrize("checker", [["mypy", "--strict"], ["pyright"]])
def test_checkers_find_nothing(checker: list[str], tmp_path: Path) -> None:
    tool = shutil.which(checker[0], path=str(Path(sys.executable).parent)) or ""
    if not tool:
        pytest.skip(f"{checker[0]} is not installed")
    user = tmp_path / "program.py"
    user.write_text(PROGRAM)
    package = ROOT / "python" / "halftone"
    # Types of halftone.torch are those of PyTorch and transformers.
    left_out = [] if all(map(importlib.util.find_spec, ("torch", "transformers"))) else ["torch"]
    if checker[0] == "mypy":
        words = [f"--python-executable={sys.executable}", str(package), str(user)]
        words += [f"--exclude=halftone/{each}/" for each in left_out]
    else:
        # Otherwise it takes the folder of C++ sources for the package.
        files = [os.path.relpath(path, tmp_path) for path in (package, user)]
        settings = {"include": files, "extraPaths": [str(package.parent)],
                    "exclude": [f"{files[0]}/{each}" for each in left_out]}  # fmt: skip
        (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
        words = [f"--pythonpath={sys.executable}", "--project", str(tmp_path)]
    done = subprocess.run(
        [tool, *checker[1:], *words], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ignoring path" not in done.stdout + done.stderr
