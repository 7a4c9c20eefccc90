# SPDX-License-Identifier: Apache-2.0
"""Language models in few bits, what these lose, or in another form."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from . import _halftone as native
from ._arguments import checked
from ._jobs import check_threads
from ._progress import Progress, ProgressCallback
from ._recipes import is_recipe_text
from ._reports import LanguageConvertReport, LanguageQuantizeReport
from ._sensitivity_reports import LanguageSensitivity

Path: TypeAlias = str | os.PathLike[str]


def paths_of(paths: Path | Sequence[Path] | None) -> list[str]:
    """One path, several or none as texts."""
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)):
        return [os.fsdecode(paths)]
    return [os.fsdecode(path) for path in paths]


@contextmanager
def missing_files(paths: Sequence[str]) -> Iterator[None]:
    """Errors of reading or writing are about a missing file if one of these is missing."""
    try:
        yield
    except OSError as error:
        if all(os.path.exists(path) for path in paths):
            raise
        raise FileNotFoundError(str(error)) from None


@checked
def quantize_language_model(
    model: Path,
    texts: Path | Sequence[Path] | None,
    output: Path,
    *,
    type: str | None = None,
    table_type: str | None = None,
    rules: Mapping[str, str] | None = None,
    recipe: Path | None = None,
    size: int | None = None,
    bits_per_weight: float | None = None,
    max_loss: float | None = None,
    predict_loss: bool = False,
    recipe_output: Path | None = None,
    tokenizer: Path | None = None,
    synthetic: bool = False,
    state: Path | None = None,
    samples: int = 64,
    held_out: int = 16,
    sample_tokens: int = 512,
    candidates: int = 8,
    sweeps: int = 2,
    damping: float = 0.05,
    rotation: bool = True,
    decoded: bool = False,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
) -> LanguageQuantizeReport:
    """Writes a language model in few bits, fitted to texts; LanguageModel.open() reads it.

    The file has the bytes that `halftone quantize --text` writes for the same options and texts.
    Give either types, a size, bits_per_weight or max_loss.

    model: a GGUF file, a folder of Hugging Face, or a *.bin file of llama2.c with its tokenizer=.
    texts: a file in UTF-8, such as the model will read, or several; None if synthetic.
    output: NAME.safetensors, or NAME.gguf but for a model of llama2.c; decoded weights of a folder
    of Hugging Face may go to a new folder.
    type: of the matrices in blocks: of GGUF such as "Q3_K", a vector basis such as "4x8", or
    a number system such as "nvfp4" or "int3/64".
    table_type: of embeddings and head; None: the same, or one of 4 bits.
    rules: types of the matrices whose name matches a pattern, such as {"blk.*.attn_v.weight":
    "2x8"}; a later one wins. "keep" leaves matrices as they are.
    recipe: the path of a TOML file of types, or its text; type, table_type and rules override it.
    size: bytes of the file, for which the types of the least predicted loss are chosen.
    bits_per_weight: the same for so many bits per weight of all matrices.
    max_loss: the types of the fewest bytes whose predicted divergence is at most so much, in nats
    per token.
    recipe_output: a file to write the types to.
    predict_loss: the predicted divergence of given types as well, which takes longer.
    synthetic: fit to samples that the model writes itself.
    state: a file that keeps what was fitted, so that the same call continues after an interruption
    and writes the same bytes.
    samples, held_out, sample_tokens: samples of the texts to fit to at most, samples to judge by,
    and the tokens of each.
    candidates, sweeps: scales to try for each group of weights, 1 to 64, and passes that choose
    scales and codes anew by the outputs, 0 to 100.
    damping: share of each input's second moment that is added to it: more trusts the texts less.
    rotation: rotations spread outliers over the channels, in Halftone's own files.
    decoded: what codes represent is written as float32, for programs without codes.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.
    """
    how = native.LanguageQuantizeArguments()
    how.type = type or ""
    how.table_type = table_type or ""
    how.set_rules(list((rules or {}).items()))
    how.set_budget(size, bits_per_weight, max_loss)
    how.samples, how.held_out, how.sample_tokens = samples, held_out, sample_tokens
    how.candidates, how.sweeps, how.damping = candidates, sweeps, damping
    how.predict_loss = predict_loss
    how.synthetic = synthetic
    if state is not None:
        how.state = os.fsdecode(state)
    how.rotation, how.decoded, how.seed = rotation, decoded, seed
    how.threads = check_threads(threads)
    texts = paths_of(texts)
    read = [os.fsdecode(model), *texts]
    if recipe is not None and is_recipe_text(recipe):
        how.recipe_text = os.fspath(recipe)
    elif recipe is not None:
        read.append(os.fsdecode(recipe))
        how.recipe = read[-1]
    if tokenizer is not None:
        read.append(os.fsdecode(tokenizer))
        how.tokenizer = read[-1]
    if recipe_output is not None:
        how.recipe_output = os.fsdecode(recipe_output)
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
    choices: Sequence[str] | None = None,
    tokenizer: Path | None = None,
    synthetic: bool = False,
    state: Path | None = None,
    samples: int = 64,
    held_out: int = 16,
    sample_tokens: int = 512,
    damping: float = 0.05,
    rotation: bool = True,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
) -> LanguageSensitivity:
    """Predicts what each matrix of a language model loses in each type by itself.

    The losses are divergences from the model in nats per token, and those of
    `halftone sensitivity --text` for the same options and texts.

    model, texts: as for quantize_language_model().
    choices: types such as "Q4_K" or "2x6"; None: those that quantize_language_model() chooses from
    for a size, of GGUF for a GGUF file and Halftone's own for others.
    rotation: of weights that get vector bases; types of GGUF alone have no rotations.
    The other options are those of quantize_language_model().
    """
    how = native.LanguageQuantizeArguments()
    how.samples, how.held_out, how.sample_tokens = samples, held_out, sample_tokens
    how.damping, how.synthetic, how.rotation, how.seed = damping, synthetic, rotation, seed
    how.threads = check_threads(threads)
    if state is not None:
        how.state = os.fsdecode(state)
    texts = paths_of(texts)
    read = [os.fsdecode(model), *texts]
    if tokenizer is not None:
        read.append(os.fsdecode(tokenizer))
        how.tokenizer = read[-1]
    with Progress(progress) as callback:
        how.progress = callback
        with missing_files(read):
            found = native.language_sensitivity(read[0], texts, list(choices or []), how)
        return LanguageSensitivity(found)


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
