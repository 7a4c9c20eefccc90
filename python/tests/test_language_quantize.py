# SPDX-License-Identifier: Apache-2.0
"""Language models in few bits: on a tiny one of random weights, and beside the program."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import (
    ROOT,
    Program,
    gguf_number,
    gguf_text,
    write_gguf,
    write_tiny_gguf,
    write_tiny_model,
)

FEW: dict[str, Any] = {"samples": 8, "held_out": 2, "sample_tokens": 32, "progress": False}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose rows hold every type of blocks of 64, its tokenizer, and a text."""
    path = tmp_path_factory.mktemp("quantize") / "tiny.bin"
    write_tiny_model(path, width=64, inner=128)
    lines = (f"{1000 + i * i % 97} {'foxes ran away' if i % 3 else 'birds flew home'} by noon.\n"
             for i in range(150))
    path.with_suffix(".txt").write_text("".join(lines))
    try:
        ht.LanguageModel.open(path, tokenizer=path.with_suffix(".tokenizer"))
    except NotImplementedError as error:
        assert "this build has none" in str(error)
        pytest.skip(str(error))
    return path


def quantized(files: Path, output: Path, **options: Any) -> ht.LanguageQuantizeReport:
    return ht.quantize_language_model(files, files.with_suffix(".txt"), output,
                                      tokenizer=files.with_suffix(".tokenizer"), **FEW | options)


@pytest.mark.parametrize("type", ["4x8", "Q4_0"])
def test_files_are_those_of_the_program(
    files: Path, tmp_path: Path, program: Program, type: str
) -> None:
    small = tmp_path / "small.safetensors"
    report = quantized(files, small, type=type, seed=5, threads=1)
    printed = json.loads(program(
        "quantize", files, "--tokenizer", files.with_suffix(".tokenizer"), "--text",
        files.with_suffix(".txt"), "-o", tmp_path / "program.safetensors", "--type", type,
        "--samples", 8, "--held-out", 2, "--sample-tokens", 32, "--seed", 5, "--json"))
    assert small.read_bytes() == (tmp_path / "program.safetensors").read_bytes()
    assert {**report.to_dict(), "seconds": 0} == {**printed, "seconds": 0}
    model = ht.LanguageModel.open(small)
    other = ht.LanguageModel.open(tmp_path / "program.safetensors")
    for options in ({}, {"temperature": 0.8, "seed": 3}):
        text = model.generate("1042 foxes", max_tokens=9, **options)  # type: ignore[arg-type]
        assert text.tokens == other.generate(
            "1042 foxes", max_tokens=9, **options).tokens  # type: ignore[arg-type]


def test_two_precisions_in_one_file(files: Path, tmp_path: Path, program: Program) -> None:
    small = tmp_path / "nested.safetensors"
    report = quantized(files, small, nested="3,4")
    assert {"nested3+4", "int4/64"} <= {matrix.type for matrix in report.matrices}
    assert report.weight_bits == 4.25

    def logits(bits: int | None) -> np.ndarray:
        model = ht.LanguageModel.open(small, bits=bits)
        return model.append(model.tokenize("1042 foxes"))

    assert np.array_equal(logits(4), logits(None))
    assert not np.array_equal(logits(3), logits(None))
    printed = [program("generate", small, "-p", "1042 foxes", "-n", 9, *more)
               for more in ((), ("--bits", 4), ("--bits", 3))]
    assert printed[0] == printed[1]
    types = json.loads(program("inspect", small, "--json"))["types"]
    assert {"nested3+4", "int4/64"} <= {use["type"] for use in types}
    with pytest.raises(ValueError, match="bits.*found 2"):
        ht.LanguageModel.open(small, bits=2)


def test_sensitivities_are_those_of_the_program(
    files: Path, tmp_path: Path, program: Program
) -> None:
    text, tokenizer = files.with_suffix(".txt"), files.with_suffix(".tokenizer")
    state = tmp_path / "s"
    found = ht.language_sensitivity(
        files, text, tokenizer=tokenizer, choices=["2x6", "q4_0"], state=state, **FEW)
    assert found.to_json() == program(
        "sensitivity", files, "--tokenizer", tokenizer, "--text", text, "--choices", "2x6,Q4_0",
        "--samples", 8, "--held-out", 2, "--sample-tokens", 32, "--json")
    assert state.exists() and (found.samples, found.tokens) == (2, 32)
    assert found.loss == "kl" and found.model_loss is not None and found.model_loss > 0
    assert not found.on_fit_samples and any("does not know" in line for line in found.warnings)
    query = [layer.name for layer in found.layers].index("blk.0.attn_q.weight")
    assert found.layers[query] == ht.SensitiveLayer(
        "blk.0.attn_q.weight", "", 16384, "F32", 64, 64, 16384)
    assert found.units[query] == ht.SensitiveUnit((query,), True)
    two, four = found.choices
    assert (two.name, four.name, four.weight_bits) == ("2x6", "Q4_0", 4.5)
    cost = four.layers[query]
    assert isinstance(cost, ht.LayerSensitivity) and cost.is_possible and cost.sqnr_db is None
    assert four.units[query] == ht.UnitSensitivity(cost.bytes, cost.loss, None)
    assert cost.bytes == 64 * 64 * 4.5 / 8 and 0 < cost.loss < four.loss < two.loss
    assert isinstance(two, ht.ChoiceSensitivity) and two.bytes < four.bytes
    about = f"{len(found.layers)} layers in 2 choices, loss: kl"
    assert repr(found) == f"<halftone.Sensitivity: {about}>"
    html = found._repr_html_()
    assert "<th>2x6</th><th>Q4_0</th>" in html and "<td>blk.0.attn_q.weight</td>" in html
    with pytest.raises(ValueError, match="'Q4_0' comes twice"):
        ht.language_sensitivity(files, text, tokenizer=tokenizer, choices=["Q4_0", "Q4_0"], **FEW)
    with pytest.raises(FileNotFoundError):
        ht.language_sensitivity("none.gguf", text, **FEW)


def test_pages_are_those_of_the_program(files: Path, tmp_path: Path, program: Program) -> None:
    text, tokenizer = files.with_suffix(".txt"), files.with_suffix(".tokenizer")
    small = tmp_path / "small.safetensors"
    quantized(files, small, type="Q4_0")
    losses = ht.language_sensitivity(
        files, text, tokenizer=tokenizer, choices=["Q4_0"], **FEW)
    (tmp_path / "Sensitivity").write_text(losses.to_json())
    page = ht.language_report(small, text, context=32, windows=2, sensitivities=losses,
                              progress=False)
    program("report", small, "--text", text, "--context", 32, "--windows", 2, "--sensitivity",
            tmp_path / "Sensitivity", "-o", tmp_path / "r.html")
    assert page.html == (tmp_path / "r.html").read_text(encoding="utf-8")
    facts = json.loads(page.to_json())
    assert facts["texts"][0]["windows"] == 2 and facts["facts"]["architecture"] == "llama"
    assert str(page).startswith("small.safetensors: ") and page.node_data == {}
    assert repr(page).startswith("<halftone.LanguageReport: small.safetensors")
    page.save(tmp_path / "copy.html")
    assert (tmp_path / "copy.html").read_bytes() == (tmp_path / "r.html").read_bytes()
    with pytest.raises(ValueError, match="expected a text to compare on"):
        ht.language_report(small, reference=small, progress=False)


def test_the_report(files: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.safetensors"
    report = quantized(files, small, type="4x8", rules={"*attn_v*": "Q8_0", "blk.1.*": "keep"})
    types = {matrix.name: matrix.type for matrix in report.matrices}
    assert types["blk.0.attn_v.weight"] == "Q8_0" and types["blk.0.attn_q.weight"] == "4x8"
    assert "blk.1.attn_q.weight" not in types
    assert report.output_bytes == small.stat().st_size
    assert report.input_bytes == files.stat().st_size
    assert (report.fit_tokens, report.held_out_tokens) == (8 * 32, 2 * 32)
    assert report.predicted_loss is None and report.seconds > 0
    few, many = (quantized(files, small, type=type, predict_loss=True).predicted_loss
                 for type in ("4x8", "2x6"))
    assert few is not None and many is not None and few > many > 0
    assert "does not know such a text" in report.warnings[0]  # the weights are random
    matrix = next(each for each in report.matrices if each.name == "blk.0.attn_q.weight")
    assert matrix.encoded_bytes * 8 == matrix.weight_bits * 64 * 64
    assert 0 < matrix.relative_error < 0.2
    assert repr(report).startswith(f"<halftone.LanguageQuantizeReport: {len(types)} matrices, ")
    assert "tokens to fit" in str(report)
    assert "<td>blk.0.attn_q.weight</td><td>4x8</td>" in report._repr_html_()


def test_synthetic_samples_and_a_state(files: Path, tmp_path: Path) -> None:
    whole, parts, state = (tmp_path / name for name in ("a.safetensors", "b.safetensors", "state"))

    def fit(output: Path, **options: Any) -> ht.LanguageQuantizeReport:
        return ht.quantize_language_model(files, None, output, type="2x6", synthetic=True,
                                          tokenizer=files.with_suffix(".tokenizer"),
                                          **FEW | options)

    report = fit(whole)
    assert report.fit_loss > 0 and report.held_out_loss is not None and report.held_out_loss > 0
    assert fit(parts, held_out=0).held_out_loss is None

    def stop(share: float, activity: str) -> None:
        if share > 0.6:
            raise LookupError("enough")

    with pytest.raises(LookupError):
        fit(parts, state=state, progress=stop)
    assert state.exists()
    fit(parts, state=state)
    assert parts.read_bytes() == whole.read_bytes()
    with pytest.raises(ValueError, match="either texts or synthetic samples"):
        quantized(files, parts, type="2x6", synthetic=True)


def test_types_for_a_size(files: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "types.toml"
    sized = tmp_path / "sized.safetensors"
    report = quantized(files, sized, size=70_000, recipe_output=recipe)
    assert report.output_bytes <= 70_000
    assert report.predicted_loss is not None and report.predicted_loss > 0
    assert isinstance(report.front[0], ht.NetworkCosts)
    assert [each.bytes for each in report.front] == sorted(each.bytes for each in report.front)
    for again in (recipe, str(recipe), recipe.read_text()):
        quantized(files, tmp_path / "again.safetensors", recipe=again)
        assert (tmp_path / "again.safetensors").read_bytes() == sized.read_bytes()
    more = quantized(files, tmp_path / "more.safetensors", bits_per_weight=4.5)
    assert 3 < more.weight_bits <= 4.5
    chosen = quantized(files, tmp_path / "chosen.safetensors", bits_per_weight=8.6,
                       choices=["Q8_0", "2x8"])
    assert {each.type for each in chosen.matrices} <= {"Q8_0", "2x8"}
    with pytest.raises(ValueError, match="choices: expected a size, bits per weight or a loss"):
        quantized(files, tmp_path / "x.safetensors", type="2x8", choices=["2x8"])
    text = '[default]\ntype = "2x6"'
    found = quantized(files, sized, recipe=text, table_type="keep").matrices
    assert {each.type for each in found if each.name.startswith("blk.")} == {"2x6"}
    assert "token_embd.weight" not in {each.name for each in found}


def test_progress_and_exceptions(files: Path, tmp_path: Path) -> None:
    shares: list[float] = []
    small = tmp_path / "small.safetensors"
    quantized(files, small, type="2x6", progress=lambda share, _: shares.append(share))
    assert shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1

    def fail(share: float, activity: str) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        quantized(files, tmp_path / "none.safetensors", type="2x6", progress=fail)
    assert not (tmp_path / "none.safetensors").exists()


def test_errors(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.safetensors"
    for options, text in (({}, "expected either types, a size, bits per weight or a loss, found none"),
                          ({"type": "2x6", "size": 100_000}, "found several of them"),
                          ({"type": "Q9"}, "expected one of "),
                          ({"type": "2x6", "rules": {"none": "keep"}}, "rules: pattern 'none'"),
                          ({"recipe": "type = 3"}, "recipe: line 1"),
                          ({"type": "2x6", "damping": float("nan")}, "damping: expected at least 0, found nan"),
                          ({"bits_per_weight": float("nan")}, "bits_per_weight: expected a number above 0, found nan"),
                          ({"type": "2x6", "sweeps": 101}, "sweeps"),
                          ({"type": "2x6", "sample_tokens": 9999}, "give a longer text"),
                          ({"type": "2x6", "threads": 0}, "threads: expected at least 1"),
                          ({"size": 0}, "budget bytes: expected a number above 0, found 0")):
        with pytest.raises(ValueError, match=text):
            quantized(files, output, **options)
    with pytest.raises(ValueError, match=r"expected NAME\.safetensors"):
        quantized(files, tmp_path / "x.gguf", type="Q4_0")
    with pytest.raises(TypeError):
        quantized(files, output, type="2x6", samples="many")
    missing = tmp_path / "none"
    for options in ({"recipe": missing}, {"tokenizer": missing}):
        with pytest.raises(FileNotFoundError, match="none"):
            ht.quantize_language_model(files, files.with_suffix(".txt"), output,
                                       **{"type": "2x6"} | options)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="none"):
        ht.quantize_language_model(files, [missing], output, type="2x6",
                                   tokenizer=files.with_suffix(".tokenizer"))
    assert not output.exists()


def test_conversion_is_that_of_the_program(
    files: Path, tmp_path: Path, program: Program
) -> None:
    model, adapter = tmp_path / "model.gguf", tmp_path / "adapter.gguf"
    write_tiny_gguf(model)
    random = np.random.default_rng(3)
    factors = {"a": (64, 2), "b": (2, 64)}
    write_gguf(adapter,
               [gguf_text("general.architecture", "llama"), gguf_text("general.type", "adapter"),
                gguf_text("adapter.type", "lora"), gguf_number("adapter.lora.alpha", 3)],
               {f"blk.1.ffn_up.weight.lora_{end}": random.normal(0, 0.3, shape)
                for end, shape in factors.items()})
    by_python, by_program = tmp_path / "python.gguf", tmp_path / "program.gguf"
    printed = json.loads(program("convert", model, by_program, "--lora", adapter, "--json"))
    report = ht.convert_language_model(model, by_python, lora=adapter)
    assert json.loads(report.to_json()) == printed
    assert report.changed_matrices == 1 and report.warnings == ()
    assert report.input_bytes == model.stat().st_size
    assert report.output_bytes == by_python.stat().st_size
    assert by_python.read_bytes() == by_program.read_bytes() != model.read_bytes()
    with pytest.raises(FileNotFoundError, match="none"):
        ht.convert_language_model(model, tmp_path / "x.gguf", lora=tmp_path / "none")
    with pytest.raises(ValueError, match="expected an adapter to merge"):
        ht.convert_language_model(model, tmp_path / "x.gguf")


def test_the_guide(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "guides" / "python.md").read_text()
    [block] = [each for each in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
               if "quantize_language_model" in each]
    write_tiny_gguf(tmp_path / "model.gguf")
    (tmp_path / "wiki.txt").write_text(files.with_suffix(".txt").read_text())
    monkeypatch.chdir(tmp_path)
    exec(block, {"ht": ht})
    assert re.search(r"^\d\.\d\d bits per weight, \d+ bytes$", capsys.readouterr().out, re.MULTILINE)
    assert (tmp_path / "small.gguf").read_bytes()[:4] == b"GGUF"


def test_control_c_ends_the_work(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.safetensors"
    script = textwrap.dedent(f"""
        import time
        import halftone as ht

        def report(share, activity):
            print("ready", flush=True)
            time.sleep(60)

        try:
            ht.quantize_language_model(
                {str(files)!r}, {str(files.with_suffix(".txt"))!r}, {str(output)!r}, type="2x6",
                tokenizer={str(files.with_suffix(".tokenizer"))!r}, sample_tokens=16,
                progress=report)
            print("finished")
        except KeyboardInterrupt:
            print("interrupted")
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "interrupted"
    assert not output.exists()
