# SPDX-License-Identifier: Apache-2.0
"""Samples in every form give the same network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, classes, pixels


# The large layer stays float: these tests are about samples, and its fit takes a second.
RECIPE = "[[layer]]\nname = 'dense1'\nskip = true\n"


def fitted(data: Any, **options: Any) -> bytes:
    result = ht.quantize(
        NETWORK, data, weight_bits=1, activation_bits=2, recipe=RECIPE, progress=False, **options
    )
    return result.model.to_bytes()


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    return pixels("train", 60)


@pytest.fixture(scope="module")
def expected(samples: np.ndarray) -> bytes:
    return fitted(samples)


def test_paths_and_arrays_are_the_same(
    samples: np.ndarray, expected: bytes, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", samples)
    assert fitted(tmp_path / "x.npy") == expected
    assert fitted(str(MNIST), limit=60) == expected
    assert fitted([tmp_path / "x.npy"]) == expected


def test_iterables_are_the_same(samples: np.ndarray, expected: bytes) -> None:
    labels = classes("train", 60)
    batches = [samples[i : i + 25] for i in range(0, 60, 25)]
    assert fitted(batches) == expected
    assert fitted(iter(batches)) == expected
    assert fitted((b, labels[: len(b)]) for b in batches) == expected
    assert fitted({"pixels": b} for b in batches) == expected
    assert fitted({"pixels": samples}) == expected
    assert fitted((samples, labels)) == expected


def test_layouts_and_types_are_the_same(samples: np.ndarray, expected: bytes) -> None:
    assert fitted(np.asfortranarray(samples)) == expected
    assert fitted(samples.astype(np.float32) * np.float32(1 / 255)) == fitted(
        samples.astype(">f4") * np.float32(1 / 255)
    )


def test_an_endless_iterable_ends_at_the_limit(samples: np.ndarray, expected: bytes) -> None:
    def endless() -> Iterator[np.ndarray]:
        yield samples[:40]
        while True:
            yield samples[40:]

    assert fitted(endless(), limit=60) == expected


def test_an_iterable_may_end_before_the_limit(samples: np.ndarray, expected: bytes) -> None:
    assert fitted(iter([samples[:40], samples[40:]]), limit=1000) == expected
    # Labels apart are cut to the samples that there are.
    labels = classes("train", 60)
    short = ht.evaluate(NETWORK, iter([samples[:40]]), labels, limit=50, progress=False)
    assert short.samples == 40


def test_a_job_keeps_what_it_reads(samples: np.ndarray, expected: bytes) -> None:
    """Arrays that an iterable reuses or frees are no concern of the job."""

    def reused() -> Iterator[np.ndarray]:
        buffer = np.empty((30, 28, 28), np.uint8)
        for i in (0, 30):
            buffer[:] = samples[i : i + 30]
            yield buffer.copy()
        buffer[:] = 0

    assert fitted(reused()) == expected


def raising(samples: np.ndarray) -> Iterator[np.ndarray]:
    yield samples
    raise RuntimeError("the disk is gone")


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda x: [], ValueError, "the iterable has no samples"),
        (lambda x: iter([x[:0]]), ValueError, "the iterable has no samples"),
        (lambda x: [x, x.reshape(60, 784)], ValueError, "batch 1 has uint8"),
        (lambda x: [x, x.astype(np.float32)], ValueError, "batch 1 has float32"),
        (lambda x: [x, {"pixels": x}], ValueError, "batch 1 has other inputs"),
        (lambda x: [(x, x[:, 0, 0]), x], ValueError, "only some batches have labels"),
        (lambda x: raising(x), RuntimeError, "the disk is gone"),
        (lambda x: [x.tolist()], ValueError, "expected 1 arrays"),
        (lambda x: ["x.npy", x], TypeError, "batch 0: expected an array .* found str"),
        (lambda x: [7], TypeError, "batch 0: expected an array .* found int"),
        (lambda x: 7, TypeError, "an iterable of arrays or a path, found int"),
        (lambda x: None, TypeError, "found NoneType"),
        (lambda x: x.astype(complex), TypeError, "found dtype complex128"),
        (lambda x: np.array(["a"]), TypeError, "found dtype <U1"),
        (lambda x: np.zeros(()), ValueError, "found a single number"),
        (lambda x: x[:0], ValueError, r"expected an array of samples \[N, ...\]"),
        (lambda x: x[:, :5], ValueError, r"\[28, 28\]|784"),
        (lambda x: (x, x, x), ValueError, "found 3"),
        (lambda x: {"y": x}, ValueError, r"expected the inputs \['pixels'\], found \['y'\]"),
        (lambda x: np.full((60, 784), np.nan, np.float32), ValueError, "NaN|nan|finite"),
        (lambda x: "nowhere.npy", FileNotFoundError, "nowhere.npy"),
        (lambda x: "README.md", NotImplementedError, "README.md"),
    ],
)
def test_other_data_is_refused(
    samples: np.ndarray, make: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ht.quantize(NETWORK, make(samples), progress=False)


def test_limit_and_scale_are_checked(samples: np.ndarray) -> None:
    with pytest.raises(ValueError, match="limit: expected at least 1, found 0"):
        fitted(samples, limit=0)
    with pytest.raises(ValueError, match="scale: expected a finite number"):
        fitted(samples, scale=float("inf"))
    with pytest.raises(ValueError, match="threads: expected at least 1"):
        fitted(samples, threads=0)


def test_labels_come_with_the_data_or_apart() -> None:
    images, labels = pixels("t10k", 500), classes("t10k", 500)
    together = ht.evaluate(NETWORK, (images, labels), progress=False)
    assert together.metric == "accuracy" and together.samples == 500
    assert together.value > 0.9
    for apart in (labels, labels.reshape(-1, 1), labels.astype(np.int32)):
        assert ht.evaluate(NETWORK, images, apart, progress=False).to_json() == together.to_json()
    batches = [(images[:300], labels[:300]), (images[300:], labels[300:])]
    assert ht.evaluate(NETWORK, batches, progress=False).to_json() == together.to_json()
    by_path = ht.evaluate(NETWORK, MNIST, limit=500, progress=False)
    assert by_path.to_json() == together.to_json()


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (np.zeros(4), TypeError, "labels: expected integers"),
        (np.zeros((5, 2), int), ValueError, "labels: expected shape"),
        (np.zeros(4, int), ValueError, "labels"),
        (np.full(5, 10), ValueError, "label of sample 0: expected 0 to 9, found 10"),
        ([1, 2, 3, 4, 5], TypeError, "labels: expected an array"),
    ],
)
def test_other_labels_are_refused(labels: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ht.evaluate(NETWORK, pixels("t10k", 5), labels, progress=False)


def test_without_labels_there_must_be_a_reference(two_bits: ht.Quantized) -> None:
    images = pixels("t10k", 200)
    with pytest.raises(ValueError, match=r"reference=\)"):
        ht.evaluate(two_bits.model, images, progress=False)
    report = ht.evaluate(two_bits.model, images, reference=NETWORK, progress=False)
    assert report.metric == "agreement" and report.reference is not None
    assert report.reference.agreement == report.value > 0.8
