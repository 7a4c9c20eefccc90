# SPDX-License-Identifier: Apache-2.0
"""Networks and samples of PyTorch, and joblib."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import NETWORK, classes, pixels

FAST: Any = {"weight_bits": 2, "skip": ["dense1"], "progress": False}


def fitted(data: Any, **options: Any) -> bytes:
    return ht.quantize(NETWORK, data, **{**FAST, **options}).model.to_bytes()


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    """150 samples of float32, and labels."""
    x = pixels("train", 150).reshape(150, 784).astype(np.float32) / 255
    return x, classes("train", 150).astype(np.int64)


def test_a_module_needs_the_package_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    def export(*_: Any, **__: Any) -> None:
        raise RuntimeError("Module onnx is not installed!")

    monkeypatch.setattr(torch.onnx, "export", export)
    module, x = torch.nn.Linear(8, 5), torch.zeros(1, 8)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(RuntimeError, match="^Module onnx"):
        ht.load(module, example=x)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install onnx"):
        ht.load(module, example=x)


def test_datasets_and_loaders_are_the_same(samples: tuple[np.ndarray, np.ndarray]) -> None:
    torch = pytest.importorskip("torch")
    x, labels = samples
    expected = fitted(x)
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(labels))
    assert fitted(dataset) == expected
    assert fitted(torch.utils.data.DataLoader(dataset, batch_size=40)) == expected
    assert fitted(dataset, limit=100) == fitted(x[:100])

    class Rows(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return len(x)

        def __getitem__(self, index: int) -> Any:
            return {"pixels": x[index]}

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return ((row, int(label)) for row, label in zip(x, labels))

    assert fitted(Rows()) == expected and fitted(Stream()) == expected
    found = ht.evaluate(NETWORK, dataset, progress=False)
    assert found.value == ht.evaluate(NETWORK, x, labels, progress=False).value


def test_the_example_is_a_sample_of_the_data(samples: tuple[np.ndarray, np.ndarray]) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    x, labels = samples
    network = torch.nn.Sequential(torch.nn.Linear(784, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
    given = ht.quantize(network, x, weight_bits=2, example=x[:1], progress=False).model
    for data in (x, (x, labels), [(x, labels)],
                 torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(labels))):
        found = ht.quantize(network, data, weight_bits=2, progress=False).model
        assert found.to_bytes() == given.to_bytes()
    with pytest.raises(TypeError, match="example=, an input or a tuple of them, or data in memory"):
        ht.quantize(network, iter([x]), progress=False)
    with pytest.raises(TypeError, match="needs example="):
        ht.load(network)


def test_results_go_through_joblib(tmp_path: Path, samples: tuple[np.ndarray, np.ndarray]) -> None:
    joblib = pytest.importorskip("joblib")
    x, _ = samples
    small, report = ht.quantize(NETWORK, x, **FAST)
    encoding = ht.fit(x[:4], "nf4")
    joblib.dump((small, report, encoding), tmp_path / "all.joblib")
    model, other, numbers = joblib.load(tmp_path / "all.joblib")
    np.testing.assert_array_equal(model(x), small(x))
    assert other.to_json() == report.to_json() and numbers.bits == 4
    shapes = joblib.Parallel(n_jobs=2)(joblib.delayed(model)(part) for part in np.split(x, 2))
    np.testing.assert_array_equal(np.concatenate(shapes), small(x))
