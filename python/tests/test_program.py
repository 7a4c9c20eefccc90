# SPDX-License-Identifier: Apache-2.0
"""Files and figures are byte for byte those of the program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import MNIST, NETWORK, Program, classes, pixels


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "x.npy"
    np.save(path, pixels("train", 150))
    return path


def without_seconds(report: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(report)
    del facts["seconds"]
    return facts


@pytest.mark.parametrize(
    ("suffix", "options", "arguments"),
    [
        ("circle", {}, ()),
        ("onnx", {"weight_bits": 2, "activation_bits": 2}, "--weight-bits 2 --activation-bits 2"),
        ("circle", {"scheme": "affine", "seed": 5}, "--scheme affine --seed 5"),
        ("circle", {"weight_bits": 2, "ends": 8}, "--weight-bits 2 --ends 8"),
        ("onnx", {"weight_scheme": "nf4", "activation_bits": "none"},
         "--weight-scheme nf4 --activation-bits none"),
        ("onnx", {"weight_scheme": "2x6", "activation_bits": 8},
         "--weight-scheme 2x6 --activation-bits 8"),
        ("tflite", {"full_integer": "tflite"}, "--full-integer"),
    ],
)
def test_quantize_writes_the_same_file(
    program: Program, samples: Path, tmp_path: Path, suffix: str, options: dict[str, Any],
    arguments: Any,
) -> None:
    by_program = tmp_path / f"program.{suffix}"
    by_python = tmp_path / f"python.{suffix}"
    words = arguments.split() if arguments else ()
    printed = program(
        "quantize", NETWORK, "-o", by_program, "--data", samples, "--json", *words
    )
    x = np.load(samples)
    model, report = ht.quantize(NETWORK, x, output=by_python, progress=False, **options)
    assert by_python.read_bytes() == by_program.read_bytes()
    assert without_seconds(report.to_json()) == without_seconds(printed)
    assert model.to_bytes(suffix) == by_program.read_bytes()  # type: ignore[arg-type]


def test_recipes_are_the_same_as_file_and_text(
    program: Program, samples: Path, tmp_path: Path
) -> None:
    recipe = MNIST / "recipes" / sorted(p.name for p in (MNIST / "recipes").iterdir())[0]
    by_program = tmp_path / "program.circle"
    program("quantize", NETWORK, "-o", by_program, "--data", samples, "--recipe", recipe)
    by_file = ht.quantize(NETWORK, samples, recipe=recipe, progress=False, threads=1)
    by_text = ht.quantize(
        NETWORK, samples, recipe=recipe.read_text(), progress=False, memory=1 << 20
    )
    assert by_file.model.to_bytes() == by_text.model.to_bytes() == by_program.read_bytes()


def test_run_gives_the_same_numbers(
    program: Program, two_bits: ht.Quantized, tmp_path: Path, x: np.ndarray
) -> None:
    two_bits.model.save(tmp_path / "m.circle")
    np.save(tmp_path / "x.npy", x)
    for network in (NETWORK, tmp_path / "m.circle"):
        program("run", network, "--input", tmp_path / "x.npy", "-o", tmp_path)
        np.testing.assert_array_equal(ht.load(network)(x), np.load(tmp_path / "out0.npy"))


def test_evaluate_and_inspect_print_the_same(
    program: Program, two_bits: ht.Quantized, tmp_path: Path
) -> None:
    path = tmp_path / "m.circle"
    two_bits.model.save(path)
    arguments = ("eval", path, "--data", MNIST, "--limit", 500, "--reference", NETWORK)
    found = ht.evaluate(
        path, (pixels("t10k", 500), classes("t10k", 500)), reference=NETWORK, progress=False
    )
    assert found.to_json() == program(*arguments, "--json")
    assert str(found) == program(*arguments)
    for options, words in (({}, ()), ({"work": True, "batch": 3}, ("--work", "--batch", 3)),
                           ({"simplified": True}, ("--simplified",))):
        inspected = ht.inspect(path, **options)  # type: ignore[arg-type]
        assert inspected.to_json() == program("inspect", path, "--json", *words)
        assert str(inspected) == program("inspect", path, *words)


@pytest.mark.parametrize(
    ("suffix", "options", "words"),
    [
        ("tflite", {"decoded": True}, ("--decoded",)),
        ("onnx", {"standard": True}, ("--standard",)),
        ("onnx", {}, ()),
    ],
)
def test_convert_writes_the_same_file(
    program: Program, samples: Path, tmp_path: Path, suffix: str, options: dict[str, Any],
    words: tuple[str, ...],
) -> None:
    path = tmp_path / "m.circle"
    ht.quantize(NETWORK, samples, weight_scheme="int", weight_bits=4, activation_bits="none",
                limit=20, output=path, progress=False)
    by_program, by_python = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    printed = program("convert", path, by_program, "--json", *words)
    assert ht.convert(path, by_python, **options).to_json() == printed
    assert by_python.read_bytes() == by_program.read_bytes()


def test_export_c_writes_the_same_files(program: Program, tmp_path: Path) -> None:
    by_program, by_python = tmp_path / "a", tmp_path / "b"
    printed = program("export", NETWORK, "-o", by_program, "--target", "c", "--json")
    written = ht.export_c(NETWORK, by_python)
    assert written.to_json() == printed
    assert sorted(written.files) == sorted(file.name for file in by_python.iterdir())
    for name in written.files:
        assert (by_python / name).read_bytes() == (by_program / name).read_bytes()
    assert [layer.operator for layer in written.layers][0] == "FullyConnected"
    assert written.core == "cortex-m4"
    assert written.inputs[0] == ht.CPort(*written.inputs[0][:2], [1, 784])
    assert ht.export_c(NETWORK, by_python, core="rv32-zbb").core == "rv32-zbb"
    outside = ht.export_c(NETWORK, by_python, pointers=True)
    assert outside.ram_bytes < 784 * 4 < written.ram_bytes
    with pytest.raises(NotImplementedError, match="takes codes only if one encoder of 8 bits"):
        ht.export_c(NETWORK, by_python, input_codes=True)
    with pytest.raises(NotImplementedError, match="the arena takes 5936 bytes"):
        ht.export_c(NETWORK, tmp_path / "c", ram=5000)
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(not (shutil.which("clang") and shutil.which("wasm-ld")), reason="no clang")
def test_export_wasm_writes_the_same_files(program: Program, tmp_path: Path) -> None:
    by_program, by_python = tmp_path / "a", tmp_path / "b"
    printed = program("export", NETWORK, "-o", by_program, "--target", "wasm", "--json")
    written = ht.export_wasm(NETWORK, by_python)
    assert written.to_json() == printed
    assert written.module_bytes == (by_python / "net.wasm").stat().st_size
    for name in written.files:
        assert (by_python / name).read_bytes() == (by_program / name).read_bytes()
    with pytest.raises(ValueError, match="ram: expected at least 1"):
        ht.export_wasm(NETWORK, by_python, ram=0)


def test_bench_says_the_same_of_kernels(program: Program, two_bits: ht.Quantized,
                                        tmp_path: Path) -> None:
    path = tmp_path / "m.circle"
    two_bits.model.save(path)
    facts = json.loads(program("bench", path, "--seconds", 0, "--threads", 1, "--json"))
    found = ht.bench(path, seconds=0, threads=1)
    assert [layer["kernel"] for layer in found.layers] == [x["kernel"] for x in facts["layers"]]
    assert found.to_dict().keys() == facts.keys()
    assert 0 < found.p10_us <= found.median_us <= found.p99_us
    assert "because" in str(ht.bench(path, seconds=0, threads=1, explain=True))
    assert found.predicted_us is None
    chip = {"accelerator": "h100", "progress": False}
    beside = ht.bench(path, seconds=0, **chip)
    assert beside.predicted_us is not None
    assert beside.predicted_us >= sum(layer["predicted_us"] for layer in beside.layers)
    assert "predicted for NVIDIA H100" in str(beside)
    with pytest.raises(FileNotFoundError, match="none.toml"):
        ht.bench(path, seconds=0, accelerator="none.toml", progress=False)


def test_number_systems_are_the_same(program: Program) -> None:
    rows = json.loads(program("systems", "--json"))["systems"]
    assert [system._asdict() for system in ht.number_systems()] == rows
    levels = json.loads(program("systems", "nf4", "--json"))["levels"]
    np.testing.assert_array_equal(ht.levels("nf4"), np.array(levels, np.float32))


def test_the_version_is_the_same(program: Program) -> None:
    assert ht.__version__ == program("--version").split()[-1]
