# SPDX-License-Identifier: Apache-2.0
"""A page about a network or a language model: what its layers are, lose and take."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from . import _halftone as native
from ._arguments import checked
from ._choices import Path
from ._data import Data, DataOptions, samples_of
from ._descriptions import missing_files
from ._fields import described, set_fields
from ._jobs import check_threads, input_names
from ._language_quantize import paths_of
from ._model import FloatOrder, as_model, execution
from ._progress import Progress, ProgressCallback
from ._results import Result, key
from ._sources import Source

#: A result, or the path of a file with what the program has printed with --json.
Printed: TypeAlias = Result | Path


class Report(Result):
    """The page of a network; notebooks show it. str() is a line about it."""

    missing: tuple[str, ...] = key("missing", "What could not be shown, and why.")

    def __init__(self, page: native.ReportPage):
        super().__init__((page.html, page.json))
        self._page = page

    @property
    def html(self) -> str:
        """One file that needs no other and makes no request."""
        return self._page.html

    @property
    def node_data(self) -> dict[str, str]:
        """Files for Google's Model Explorer by measure: "bits", "bytes", "sqnr", "us", ..."""
        return dict(self._page.node_data)

    @checked
    def save(self, path: Path) -> None:
        """Writes the page, completely or not at all."""
        file = FilePath(path)
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as temporary:
                temporary.write(self.html)
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise

    def __str__(self) -> str:
        model: dict[str, Any] = self._facts["model"]
        return f"{model['name']}: {len(model['layers'])} layers, a page of {len(self.html)} bytes"

    def __repr__(self) -> str:
        return f"<halftone.Report: {self}>"

    def _repr_html_(self) -> str:
        style = "width:100%;height:40em;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}"></iframe>'


class LanguageReport(Report):
    """The page of a language model."""

    def __str__(self) -> str:
        facts: dict[str, Any] = self._facts
        return f"{facts['name']}: {len(facts['layers'])} matrices, a page of {len(self.html)} bytes"

    def __repr__(self) -> str:
        return f"<halftone.LanguageReport: {self}>"


def _printed(results: Printed | Sequence[Printed]) -> list[tuple[str, str]]:
    """Names and JSON."""
    found = []
    several = [results] if isinstance(results, (Result, str, os.PathLike)) else results
    for each in several:
        if isinstance(each, Result):
            found.append((type(each).__name__, each.to_json()))
        else:
            found.append((FilePath(each).name, _text_of(FilePath(each))))
    return found


def _text_of(file: FilePath) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file}: expected text in UTF-8") from None


def _several(networks: Source | Sequence[Source] | None) -> Sequence[Source]:
    if networks is None:
        return []
    return networks if isinstance(networks, (list, tuple)) else [networks]


def _class_names(classes: Path | Sequence[str]) -> list[str]:
    if isinstance(classes, (str, os.PathLike)):
        with missing_files([os.fsdecode(classes)]):
            return native.class_names(FilePath(classes))
    return list(classes)


@checked
@described("report", "evaluate", "data")
def report(
    model: Source,
    data: Data = None,
    labels: Any = None,
    *,
    reference: Source | None = None,
    beside: Source | Sequence[Source] | None = None,
    classes: Path | Sequence[str] = (),
    time: bool = False,
    live: bool = False,
    samples_per_run: int | None = None,
    worst: int = 8,
    sensitivity: Printed | Sequence[Printed] = (),
    search: Printed | Sequence[Printed] = (),
    training: Printed | Sequence[Printed] = (),
    batch: int = 64,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "test",
    float_activations: bool = False,
    float_order: FloatOrder = "fastest",
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Report:
    """Makes the page of `halftone report`, which notebooks show and save() writes.

    Apart from times it depends on networks, samples and options alone. Size and format of a network
    that comes from no file are those of a .circle file.

    data, labels: as in evaluate(): for accuracy, errors of layers, activations and samples.
    reference: the float network. beside: another network to compare with, or up to four.
    classes: names of the classes, from class 0, or a text file with a line for each.
    FIELDS
    sensitivity, search, training: what sensitivity(), quantize(budget=...) and
    distill_language_model() have returned as reports, or files with what the program has printed
    with --json; one, or several.
    threads, progress: as in evaluate().

    >>> import halftone as ht
    >>> page = ht.report("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", limit=100)
    >>> [layer["name"] for layer in page.to_dict()["model"]["layers"]]
    ['dense1', 'dense2']
    """
    order = execution(float_activations, float_order)
    workers = check_threads(threads)
    network = as_model(model, example, data)
    original = None if reference is None else as_model(reference)._network
    others = [as_model(each)._network for each in _several(beside)]
    samples = None
    if data is not None:
        options = DataOptions(limit, scale, split)
        samples = samples_of(data, input_names(network), options, labels)
    with Progress(progress) as callback:
        how = native.ReportArguments(workers, callback, order)
        set_fields(how, {"batch": batch, "worst": worst, "time": time, "live": live,
                         "samples_per_run": samples_per_run})  # fmt: skip
        how.classes = _class_names(classes)
        how.sensitivities = _printed(sensitivity)
        how.searches = _printed(search)
        how.trainings = _printed(training)
        return Report(native.report(network._network, original, others, samples, how))


@checked
def language_report(
    model: Path,
    texts: Path | Sequence[Path] | None = None,
    *,
    reference: Path | None = None,
    tokenizer: Path | None = None,
    time: bool = False,
    context: int = 512,
    windows: int = 0,
    sensitivities: Printed | Sequence[Printed] = (),
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
) -> LanguageReport:
    """Makes the page of `halftone report` of a language model.

    It has the matrices with their types, bits and bytes, and perplexity and divergence on texts.

    model: a GGUF file, a folder of Hugging Face, Halftone's own file, or a *.bin file of llama2.c
    with its tokenizer=.
    texts: a file in UTF-8 to measure the model on, or several.
    reference: a model to compare with on them.
    time: also measure how fast it writes on this machine, and by which parts.
    context, windows: tokens of a window of a text, and how many to use; 0 for all.
    sensitivities: results of language_sensitivity(), or files with what `halftone sensitivity
    --json` has printed of a language model.
    threads: None for all cores; changes no result.
    progress: False, or a function of the share that is done and of what is being done.
    """
    how = native.LanguageReportArguments()
    how.threads = check_threads(threads)
    how.context, how.windows, how.time = context, windows, time
    how.sensitivities = _printed(sensitivities)
    given = paths_of(texts)
    other, tokens = ("" if each is None else os.fsdecode(each) for each in (reference, tokenizer))
    read = [os.fsdecode(model), *given]
    with Progress(progress) as callback:
        how.progress = callback
        with missing_files([*read, *filter(None, (other, tokens))]):
            return LanguageReport(native.report_language(read[0], given, other, tokens, how))
