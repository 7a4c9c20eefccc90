# SPDX-License-Identifier: Apache-2.0
"""Quantized language models, tuned to their float models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

from ._arguments import checked
from ._jobs import check_threads
from ._language_quantize import paths_of
from ._progress import Progress, ProgressCallback
from ._reports import LanguageDistillReport
from ._training import training_module

Path: TypeAlias = str | os.PathLike[str]


@checked
def distill_language_model(
    teacher: Path,
    student: Path,
    texts: Path | Sequence[Path],
    output: Path,
    *,
    second_text: Path | None = None,
    steps: int = 200,
    batch: int = 4,
    learning_rate: float | None = None,
    basis_rate_factor: float = 1.0,
    sample_tokens: int = 512,
    held_out: int = 8,
    minutes: float | None = None,
    state: Path | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
) -> LanguageDistillReport:
    """Tunes scales, gains and bases of a quantized language model to its float model.

    Codes stay as they are. The file has the bytes that `halftone distill --text` writes for the
    same options and texts. Needs a build with libtorch, else it raises NotImplementedError.

    teacher: the float model: a GGUF file, a folder of Hugging Face, or a *.bin file of llama2.c.
    student: NAME.gguf or NAME.safetensors, which quantize_language_model() made from the teacher.
    texts: a file in UTF-8, such as the model will read, or several.
    output: of the extension of the student.
    second_text: a file of another domain, which is measured before and after.
    steps, batch: steps of tuning, and samples of each.
    learning_rate: before the schedule; None: 0.003 times the square root of the divergence before
    the first step, in nats per token, at most 0.003.
    basis_rate_factor: the learning rate of vector bases is learning_rate times this.
    sample_tokens, held_out: tokens of a sample, and samples of the texts to judge by.
    minutes: the run ends after this time, with its best state so far.
    state: a file that keeps the run, so that the same call continues after an interruption and
    writes the same bytes.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.
    """
    native = training_module("distill_language_model")
    how = native.LanguageDistillArguments()
    how.steps, how.batch, how.seed = steps, batch, seed
    how.set_limits(learning_rate, basis_rate_factor, minutes)
    how.sample_tokens, how.held_out = sample_tokens, held_out
    how.threads = check_threads(threads)
    read_texts = paths_of(texts)
    read = [os.fsdecode(teacher), os.fsdecode(student), *read_texts]
    if second_text is not None:
        read.append(os.fsdecode(second_text))
        how.second_text = read[-1]
    if state is not None:
        how.state = os.fsdecode(state)
    with Progress(progress) as callback:
        how.progress = callback
        try:
            found = native.distill_language([*read[:2], os.fsdecode(output)], read_texts, how)
        except OSError as error:
            if all(os.path.exists(path) for path in read):
                raise
            raise FileNotFoundError(str(error)) from None
        return LanguageDistillReport(found)
