# SPDX-License-Identifier: Apache-2.0
"""Every argument of every public function is given values of wrong types, and says so in words."""

from __future__ import annotations

import inspect
import re
import sys
import typing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht
from conftest import ROOT, write_tiny_gguf
from halftone import spmd

NETWORK = "tiny.onnx"
X = np.random.default_rng(1).random((8, 3, 8, 8), dtype=np.float32)
LABELS = np.zeros(8, np.int64)
VALUES = [object(), None, True, -1, 1 << 40, 1 << 70, 0.5, float("nan"), "nowhere", "x\0y", "\ud800",
          b"\xff", [], [object()], [[3]], {3: 4}, {"a": object()}, {1}, range(2), iter([1]), 2j,
          (lambda *_: None), np.array([None]), np.zeros((2, 2)), np.float32("nan")]  # fmt: skip
#: Who asks for a long time gets it.
LEFT_OUT = {"bench": ["seconds"]}
#: What the compiled module, the C++ library or Python itself says of a call nobody has checked.
RAW = re.compile(
    r"incompatible function arguments|nanobind|std::|basic_string|bad_alloc|vector::|Invoked with"
    r"|object has no attribute|not subscriptable|not iterable|unhashable|not supported between"
    r"|unsupported operand|must be real number|to unpack|ambiguous|interpreted as an integer"
    r"|JSON serializable|codec can't|embedded null|arguments of other types|list index"
)
OPTIONS: dict[str, Any] = {"progress": False}
FAST: dict[str, Any] = {"model": NETWORK, "data": X, **OPTIONS}
TEXTS: dict[str, Any] = {"model": "tiny.gguf", "texts": "text.txt", **OPTIONS}
TRAINING: dict[str, Any] = {**FAST, "epochs": 1, "batch": 8}
MESSAGES = [{"role": "user", "content": "a"}]
SAMPLED: dict[str, Any] = {"samples": 1, "held_out": 0, "sample_tokens": 16}

#: Arguments with which a function works, or fails at the end.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "accelerator_text": {"name": "edge-2bit"},
    "accelerators": {},
    "bench": {"model": NETWORK, "seconds": 0, **OPTIONS},
    "convert": {"model": NETWORK, "output": "a.circle"},
    "convert_language_model": {"model": "tiny.gguf", "output": "other.gguf"},
    "crossbar": {**FAST, "labels": LABELS, "device": "ideal"},
    "decode": {"codes": np.zeros(X.shape, np.uint16), "encoding": ht.fit(X, "basis", 2)},
    "devices": {},
    "distill": {**TRAINING, "weight_bits": 2},
    "distill_language_model": {"teacher": "tiny.gguf", "student": "other.gguf", "texts": "text.txt",
                               "output": "tuned.gguf", **OPTIONS},
    "encode": {"values": X, "encoding": ht.fit(X, "basis", 2)},
    "estimate": {"model": NETWORK, "accelerator": "edge-2bit"},
    "evaluate": {**FAST, "labels": LABELS},
    "explore": {**FAST, "space": {"accelerator": "edge-2bit", "weight_bits": [2]}, "tries": 1},
    "export_c": {"model": NETWORK, "folder": "c", "vectors": 1},
    "export_wasm": {"model": NETWORK, "folder": "page"},
    "fit": {"values": X[:2], "bits": 2},
    "inspect": {"model": NETWORK},
    "language_estimate": {"model": "tiny.gguf", "accelerator": "h100"},
    "language_report": {**TEXTS, "context": 32},
    "language_sensitivity": {**TEXTS, "choices": ["Q4_0"], **SAMPLED},
    "levels": {"name": "int", "bits": 2},
    "litert_library": {},
    "load": {"source": NETWORK},
    "measure_hardware": {"device": "none", **OPTIONS},
    "number_systems": {},
    "onnxruntime_library": {},
    "quantize": {**FAST, "weight_bits": 1},
    "quantize_language_model": {**TEXTS, "output": "other.gguf", "type": "Q4_0", **SAMPLED},
    "report": {**FAST, "labels": LABELS},
    "sensitivity": {**FAST, "choices": [1], "time": False},
    "train": {**TRAINING, "labels": LABELS},
    "Encoding.fixed_point": {"exponent": -2, "bits": 8},
    "Encoding.minifloat": {"exponent_bits": 4, "mantissa_bits": 3},
    "Encoding.rule": {"values": X, "system": "int8"},
    "Encoding.uniform": {"scale": 0.5, "zero_point": 1, "bits": 4},
    "LanguageModel.open": {"path": "tiny.gguf"},
    "spmd.devices": {},
    **{f"spmd.{name}": {"fun": np.sin} for name in ("pmap", "spread", "vmap")},
}  # fmt: skip
#: The same of methods.
METHODS: dict[str, dict[str, Any]] = {
    "Encoding.decode": {"codes": np.zeros(X.shape, np.uint16)},
    "Encoding.encode": {"values": X},
    "Encoding.levels": {},
    "LanguageModel.answer": {"messages": MESSAGES, "template": "chatml", "max_tokens": 1},
    "LanguageModel.append": {"tokens": [3]},
    "LanguageModel.append_each": {"parts": {0: [3]}},
    "LanguageModel.bytes_per_token": {},
    "LanguageModel.chat": {"template": "chatml"},
    "LanguageModel.chat_prompt": {"messages": MESSAGES, "template": "chatml"},
    "LanguageModel.detokenize": {"tokens": [3]},
    "LanguageModel.embed": {"texts": ["a"], "dimensions": 3},
    "LanguageModel.evaluate_text": {"text": "the cat sat on the mat", "window": 8, **OPTIONS},
    "LanguageModel.generate": {"prompt": "a", "max_tokens": 1},
    "LanguageModel.is_end_token": {"token": 3},
    "LanguageModel.measure_speed": {"prompt": 2, "generate": 1, **OPTIONS},
    "LanguageModel.stream": {"prompt": "a", "max_tokens": 1},
    "LanguageModel.token_bytes": {"token": 3},
    "LanguageModel.tokenize": {"text": "a"},
    "LanguageModel.tokens": {},
    "LanguageModel.truncate": {"length": 0},
    "Chat.answer": {"message": "a"},
    "Chat.stream": {"message": "a"},
    "Model.inspect": {},
    "Model.run": {"inputs": {"image": X}},
    "Model.save": {"path": "a.circle"},
    "Model.session": {},
    "Model.to_bytes": {},
    "Report.save": {"path": "page.html"},
    "Session.addresses": {},
    "Session.reset": {},
}
#: Collectives, which a mapped function calls.
COLLECTIVES: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("all_gather", "axis_index", "axis_size", "pmax", "pmean", "pmin",
                             "psum", "psum_scatter")},
    "all_to_all": {"split_axis": 0, "concat_axis": 0},
    "ppermute": {"perm": [(0, 1)]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(
    in_the_repository: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values")
    write_tiny_gguf(path / "tiny.gguf")
    (path / "text.txt").write_text("the cat sat on the mat. " * 60)
    sys.path.insert(0, str(ROOT / "tests"))
    import many_layers

    (path / NETWORK).write_bytes(many_layers.network(4))
    return path


@pytest.fixture(scope="module")
def owners(folder: Path) -> dict[str, Any]:
    language = ht.LanguageModel.open(folder / "tiny.gguf")
    model = ht.load(folder / NETWORK)
    return {
        "Chat": language.chat(template="chatml", max_tokens=1),
        "Encoding": ht.fit(X, "basis", 2),
        "LanguageModel": language,
        "Model": model,
        "Report": ht.report(model, progress=False),
        "Session": model.session(),
    }


def parameters(function: Callable[..., Any]) -> list[str]:
    """Names of arguments, also of those in dictionaries of options."""
    hints = typing.get_type_hints(inspect.unwrap(function))
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found += list(typing.get_type_hints(typing.get_args(hints[name])[0]))
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            found.append(name)
    return found


def refusal(call: Callable[[], Any]) -> str:
    """What is wrong with how a call is refused, if it is; empty if nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
            if inspect.isgenerator(found):
                list(found)
        return ""
    except (TypeError, ValueError, OSError, NotImplementedError) as error:
        text = str(error).strip()
        return text if RAW.search(text) or "\n" in text or not text else ""
    except Exception as error:
        return repr(error)


def refused(function: Callable[..., Any], given: dict[str, Any]) -> list[str]:
    """Refusals of wrong values in Python's own words or those of the compiled module."""
    wrong = []
    for name in parameters(function):
        if name in LEFT_OUT.get(function.__name__, ()):
            continue
        for value in VALUES:
            found = refusal(lambda: function(**{**given, name: value}))  # noqa: B023
            if found:
                wrong.append(f"{name}={value!r:.40}: {found:.200}")
    return wrong


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_wrong_values_in_words(name: str) -> None:
    found: Any = ht
    for part in name.split("."):
        found = getattr(found, part)
    assert refused(found, FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_refuse_wrong_values_in_words(owners: dict[str, Any], name: str) -> None:
    owner, method = name.split(".")
    assert refused(getattr(owners[owner], method), METHODS[name]) == []


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_refuse_wrong_values_in_words(name: str) -> None:
    collective = getattr(spmd, name)
    given = {"axis_name": "i", **COLLECTIVES[name]}
    for argument in parameters(collective):
        for value in VALUES:

            def lane(x: Any) -> Any:
                first = {} if name.startswith("axis_") else {"x": x}
                return collective(**{**first, **given, argument: value})  # noqa: B023

            assert refusal(lambda: spmd.vmap(lane, axis_name="i")(np.ones((4, 4)))) == ""  # noqa: B023


def test_all_public_functions_are_called() -> None:
    functions = {name for name in ht.__all__ if inspect.isfunction(getattr(ht, name))}
    assert functions == {name for name in FUNCTIONS if "." not in name}
    maps = {name for name in spmd.__all__ if inspect.isfunction(getattr(spmd, name))}
    assert maps == {*COLLECTIVES, *(name[5:] for name in FUNCTIONS if name.startswith("spmd."))}
    for owner in ("Chat", "Encoding", "LanguageModel", "Model", "Session"):
        kind = getattr(ht, owner)
        methods = {f"{owner}.{name}" for name, value in vars(kind).items()
                   if name[0] != "_" and callable(getattr(kind, name))}  # fmt: skip
        assert methods == {each for each in {**FUNCTIONS, **METHODS} if each.startswith(owner + ".")}
