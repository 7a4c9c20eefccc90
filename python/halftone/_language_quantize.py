# SPDX-License-Identifier: Apache-2.0
"""Language models in few bits, what these lose, or in another form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict, Unpack

from . import _halftone as native
from ._arguments import checked
from ._descriptions import missing_files
from ._fields import check_options, documented, set_fields
from ._jobs import check_threads
from ._progress import Progress, ProgressCallback
from ._recipes import is_recipe_text
from ._reports import LanguageConvertReport, LanguageQuantizeReport
from ._sensitivity_reports import Sensitivity

Path: TypeAlias = str | os.PathLike[str]


def paths_of(paths: Path | Sequence[Path] | None) -> list[str]:
    """One path, several or none as texts."""
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)):
        return [os.fsdecode(paths)]
    return [os.fsdecode(path) for path in paths]


@documented("language_sensitivity")
class LanguageFitOptions(TypedDict, total=False):
    """Options of quantize_language_model() and language_sensitivity().

    Files written for the same options and texts have the same bytes.
    """

    tokenizer: Path | None
    synthetic: bool
    state: Path | None
    samples: int
    held_out: int
    sample_tokens: int
    damping: float
    rotation: bool
    choices: Sequence[str] | None
    seed: int


@documented("quantize_language_model", "language_sensitivity")
class LanguageQuantizeOptions(LanguageFitOptions, total=False):
    """Options of quantize_language_model() alone, beside those of LanguageFitOptions.

    Give either types or nested, a size, bits_per_weight or max_loss.
    """

    type: str | None
    table_type: str | None
    nested: str | None
    size: int | None
    bits_per_weight: float | None
    max_loss: float | None
    predict_loss: bool
    recipe_output: Path | None
    candidates: int
    sweeps: int
    decoded: bool


def _files_read(model: Path, texts: Sequence[str], options: LanguageFitOptions) -> list[str]:
    return [os.fsdecode(model), *texts, *paths_of(options.get("tokenizer"))]


@checked
def quantize_language_model(
    model: Path,
    texts: Path | Sequence[Path] | None,
    output: Path,
    *,
    rules: Mapping[str, str] | None = None,
    recipe: Path | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    **options: Unpack[LanguageQuantizeOptions],
) -> LanguageQuantizeReport:
    """Writes a language model in few bits, fitted to texts; LanguageModel.open() reads it.

    The file has the bytes that `halftone quantize --text` writes for the same options and texts.

    model: a GGUF file, a folder of Hugging Face, or a *.bin file of llama2.c with its tokenizer=.
    texts: a file in UTF-8, such as the model will read, or several; None if synthetic.
    output: NAME.safetensors, or NAME.gguf but for a model of llama2.c; decoded weights of a folder
    of Hugging Face may go to a new folder.
    rules: types of the matrices whose name matches a pattern, such as {"blk.*.attn_v.weight":
    "2x8"}; a later one wins. "keep" leaves matrices as they are.
    recipe: the path of a TOML file of types, or its text; type, table_type and rules override it.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.
    options: those of LanguageQuantizeOptions and LanguageFitOptions.
    """
    check_options(options, LanguageQuantizeOptions)
    how = native.LanguageQuantizeArguments()
    set_fields(how, options)
    how.set_rules(list((rules or {}).items()))
    how.threads = check_threads(threads)
    texts = paths_of(texts)
    read = _files_read(model, texts, options)
    if recipe is not None and is_recipe_text(recipe):
        how.recipe_text = os.fspath(recipe)
    elif recipe is not None:
        read.append(os.fsdecode(recipe))
        how.recipe = read[-1]
    with Progress(progress) as callback:
        how.progress = callback
        with missing_files(read):
            found = native.quantize_language(read[0], texts, os.fsdecode(output), how)
        return LanguageQuantizeReport(found)


@checked
def language_sensitivity(
    model: Path,
    texts: Path | Sequence[Path] | None,
    *,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    **options: Unpack[LanguageFitOptions],
) -> Sensitivity:
    """Predicts what each matrix of a language model loses in each type by itself.

    The losses are divergences from the model in nats per token, and those of
    `halftone sensitivity --text` for the same options and texts.

    model, texts, threads, progress: as for quantize_language_model().
    options: those of LanguageFitOptions; rotation is of weights that get vector bases.
    """
    check_options(options, LanguageFitOptions)
    how = native.LanguageSensitivityArguments()
    set_fields(how, options)
    how.threads = check_threads(threads)
    texts = paths_of(texts)
    read = _files_read(model, texts, options)
    with Progress(progress) as callback:
        how.progress = callback
        with missing_files(read):
            found = native.language_sensitivity(read[0], texts, how)
        return Sensitivity(found)


@checked
def convert_language_model(
    model: Path, output: Path, *, lora: Path | None = None
) -> LanguageConvertReport:
    """Writes a language model in another form, without a fit.

    A folder of Hugging Face becomes a GGUF file with the numbers that it has. With an adapter,
    matrices W become W + alpha/r B A, rounded to the type of W, or to F16 if W has codes.

    model: a GGUF file or a folder of Hugging Face.
    output: NAME.gguf; with an adapter also a new folder, if the model is one.
    lora: a folder of the package peft or a GGUF file.

    >>> import halftone as ht
    >>> ht.convert_language_model("model.gguf", "same.gguf")
    Traceback (most recent call last):
    ...
    FileNotFoundError: model.gguf: cannot open: No such file or directory
    """
    read = [os.fsdecode(model), *paths_of(lora)]
    with missing_files(read):
        found = native.convert_language(read[0], os.fsdecode(output), read[1] if lora else "")
    return LanguageConvertReport(found)
