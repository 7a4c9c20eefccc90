# SPDX-License-Identifier: Apache-2.0
"""The compiled module, Python, its reference and the program have the same options of jobs."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import halftone as ht
from conftest import ROOT, Program
from halftone._fields import check_options, fields_of, set_fields

#: The dictionary of options of a job, and the verbs of the program that have them.
JOBS = {
    "train": (ht.TrainOptions, ("train", "distill")),
    "distill": (ht.DistillOptions, ("distill",)),
    "distill_language_model": (ht.LanguageDistillOptions, ("distill",)),
    "quantize_language_model": (ht.LanguageQuantizeOptions, ("quantize",)),
    "language_sensitivity": (ht.LanguageFitOptions, ("quantize", "sensitivity")),
    "generate": (ht.GenerateOptions, ("generate",)),
    "open": (ht.LanguageModelOptions, ("generate", "chat")),
}
#: Functions with fields of jobs as parameters, and the verb of the program that has them.
FUNCTIONS = {
    "quantize": (("settings", "sensitivity", "budget", "data"), "quantize"),
    "sensitivity": (("sensitivity", "data"), "sensitivity"),
    "evaluate": (("evaluate", "data"), "eval"),
    "bench": (("bench",), "bench"),
    "estimate": (("estimate",), "estimate"),
    "language_estimate": (("language_estimate",), "estimate"),
    "explore": (("explore", "data"), "explore"),
    "crossbar": (("crossbar", "data"), "crossbar"),
    "report": (("report", "evaluate", "data"), "report"),
    "LanguageModel.measure_speed": (("measure_speed",), "bench"),
    "LanguageModel.evaluate_text": (("evaluate_text",), "eval"),
}
#: Options that are no fields: lists of texts.
LISTS = {"stages", "features", "stop", "logit_bias"}
#: Fields whose option of the program is that of something else, or says more.
ELSEWHERE = {
    "batch", "seed", "type", "max_loss", "synthetic", "sequence", "sequences", "choices"
}  # fmt: skip
KINDS = {"bool": {bool}, "int": {int}, "float": {float}, "str": {str}, "path": {str}}


def members(hint: Any) -> set[Any]:
    """The types of a hint; a word is a text."""
    if get_origin(hint) is None:
        return {hint}
    if isinstance(get_args(hint)[0], str):
        return {str}
    return {each for member in get_args(hint) for each in members(member)}


@pytest.mark.parametrize("job", JOBS)
def test_hints_have_the_fields(job: str) -> None:
    options, _ = JOBS[job]
    hints = get_type_hints(options)
    fields = fields_of(job)
    assert set(fields) <= set(hints)
    listed = {name for each in JOBS for name in fields_of(each)}
    assert set(hints) <= listed | LISTS
    for field in fields.values():
        hint = hints[field.name]
        if field.kind in ("floats", "texts"):
            assert members(hint) - {type(None)} == {float if field.kind == "floats" else str}
            continue
        assert KINDS[field.kind] <= members(hint), field.name
        assert (type(None) in members(hint)) == (field.default is None), field.name
        if get_origin(hint) is not None and isinstance(get_args(hint)[0], str):
            words = field.range.replace(" or ", ", ").split(", ")
            assert set(get_args(hint)) == set(words), field.name


@pytest.mark.parametrize("job", JOBS)
def test_the_reference_has_the_fields(job: str) -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    for field in fields_of(job).values():
        assert field.line in page, field.name


@pytest.mark.parametrize("job", JOBS)
def test_the_program_has_the_fields(job: str, program: Program) -> None:
    for verb in JOBS[job][1]:
        page = program(verb, "--help")
        words = " ".join(page.split())
        for field in fields_of(job).values():
            is_shared = (job, field.name) == ("distill_language_model", "learning_rate")
            if field.name in ELSEWHERE or is_shared or (field.name, verb) == ("state", "sensitivity"):
                continue
            found = re.search(rf"^  {re.escape(field.option)}( .*)?$", page, re.MULTILINE)
            assert found, f"{verb} {field.option}"
            if field.kind in ("int", "float") and field.default is not None:
                assert f"={field.default:g} " in found[0] + " ", field.name
            if not field.option.startswith("--no-"):  # which say what they clear
                assert field.text in words, field.name


def function_of(name: str) -> Any:
    return functools.reduce(getattr, name.split("."), ht)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_the_fields(name: str) -> None:
    function = function_of(name)
    parameters = inspect.signature(function).parameters
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    for job in FUNCTIONS[name][0]:
        for field in fields_of(job).values():
            if field.name not in parameters:
                assert job == "settings", field.name  # of which recipes have more
                continue
            default = parameters[field.name].default
            if job != "data":  # whose split each function says
                default = list(default) if isinstance(default, tuple) else default
                assert default is None or default == field.default, field.name
            assert (default is None) >= (field.default is None), field.name
            assert field.line in inspect.getdoc(function), field.name
            # of methods, the page has the first paragraph
            assert field.line in page or "." in name, field.name
    assert "FIELDS" not in function.__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_program_has_the_parameters(name: str, program: Program) -> None:
    jobs, verb = FUNCTIONS[name]
    page = program(verb, "--help")
    parameters = inspect.signature(function_of(name)).parameters
    for field in [each for job in jobs for each in fields_of(job).values()]:
        if field.name not in parameters or field.name in ("seed", "skip"):
            continue  # skip: patterns in Python
        assert re.search(rf"^  {re.escape(field.option)}( .*)?$", page, re.MULTILINE), field.option
        is_elsewhere = name == "language_estimate" and field.name in ("batch", "weight_bits",
                                                                      "activation_bits")
        assert is_elsewhere or field.text in " ".join(page.split()), field.name


def test_defaults_are_those_of_new_structs() -> None:
    assert fields_of("generate")["top_p"].default == 0.95
    assert fields_of("train")["milestones"].default == [0.5, 0.75]
    assert fields_of("train")["checkpoint"].default is None
    assert fields_of("train")["batch_norm"].default is True
    assert fields_of("distill_language_model")["learning_rate"].default is None
    assert fields_of("quantize_language_model")["samples"].default == 64
    with pytest.raises(ValueError, match="job: found 'none'"):
        fields_of("none")


def test_values_out_of_range_are_refused() -> None:
    how = ht._language.native.GenerateArguments()  # type: ignore[attr-defined]
    set_fields(how, {"top_k": 3, "control": True, "min_p": 0})
    for name, value, message in (
        ("top_k", -1, r"top_k: expected 0 to 2\^63 - 1, found -1"),
        ("top_k", 1 << 70, "top_k: expected 0 to"),
        ("min_p", 2.0, "min_p: expected 0 to 1, found 2"),
        ("repeat_penalty", 0.0, "repeat_penalty: expected a number above 0, found 0"),
        ("heat", 1, "unexpected option 'heat'"),
    ):
        with pytest.raises(ValueError, match=message):
            set_fields(how, {name: value})
    with pytest.raises(TypeError, match="unexpected option 'heat'"):
        check_options({"heat": 1}, ht.GenerateOptions)
