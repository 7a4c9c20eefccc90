# SPDX-License-Identifier: Apache-2.0
"""Quantized language models, tuned to their float models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias, TypedDict, Unpack

from ._arguments import checked
from ._descriptions import missing_files
from ._fields import check_options, documented, set_fields
from ._jobs import check_threads
from ._language_quantize import paths_of
from ._progress import Progress, ProgressCallback
from ._reports import LanguageDistillReport
from ._training import training_module

Path: TypeAlias = str | os.PathLike[str]


@documented("distill_language_model")
class LanguageDistillOptions(TypedDict, total=False):
    """Options of distill_language_model(): those of `halftone distill --text`."""

    second_text: Path | None
    steps: int
    batch: int
    learning_rate: float | None
    basis_rate_factor: float
    sample_tokens: int
    held_out: int
    minutes: float | None
    state: Path | None
    seed: int


@checked
def distill_language_model(
    teacher: Path,
    student: Path,
    texts: Path | Sequence[Path],
    output: Path,
    *,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    **options: Unpack[LanguageDistillOptions],
) -> LanguageDistillReport:
    """Tunes scales, gains and bases of a quantized language model to its float model.

    Codes stay as they are. The file has the bytes that `halftone distill --text` writes for the
    same options and texts. Needs a build with libtorch, else it raises NotImplementedError.

    teacher: the float model: a GGUF file, a folder of Hugging Face, or a *.bin file of llama2.c.
    student: NAME.gguf or NAME.safetensors, which quantize_language_model() made from the teacher.
    texts: a file in UTF-8, such as the model will read, or several.
    output: of the extension of the student.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.
    options: those of LanguageDistillOptions.
    """
    native = training_module("distill_language_model")
    check_options(options, LanguageDistillOptions)
    how = native.LanguageDistillArguments()
    set_fields(how, options)
    how.threads = check_threads(threads)
    read_texts = paths_of(texts)
    read = [os.fsdecode(teacher), os.fsdecode(student), *read_texts]
    read += paths_of(options.get("second_text"))
    with Progress(progress) as callback:
        how.progress = callback
        with missing_files(read):
            found = native.distill_language([*read[:2], os.fsdecode(output)], read_texts, how)
        return LanguageDistillReport(found)
