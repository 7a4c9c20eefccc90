# SPDX-License-Identifier: Apache-2.0
"""Which layers lose how much in few bits."""

from __future__ import annotations

from . import _halftone as native
from ._arguments import checked
from ._choices import Choices, Loss, Measuring, Path
from ._data import Data, DataOptions, samples_of
from ._fields import described
from ._jobs import check_threads, input_names
from ._metric import names_to_skip
from ._model import as_model
from ._progress import Progress, ProgressCallback
from ._recipes import Bits, Recipe, Skip, recipe_of
from ._sensitivity_reports import Sensitivity
from ._sources import Source


@checked
@described("sensitivity", "data")
def sensitivity(
    model: Source,
    data: Data,
    *,
    choices: Choices | None = None,
    recipe: Recipe | None = None,
    skip: Skip | None = None,
    bits: Bits | None = None,
    loss: Loss | None = None,
    test_data: Data = None,
    test_limit: int | None = None,
    reference: Source | None = None,
    time: bool = True,
    state: Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    scale: float = 1 / 255,
    split: str = "train",
    memory: int | None = None,
    threads: int | None = None,
    progress: bool | ProgressCallback = True,
    example: object = None,
) -> Sensitivity:
    """Measures what each layer costs in each number of bits: loss, error, bytes and time.

    The figures are those of `halftone sensitivity`. But for times, they depend on network, samples
    and options alone.

    model: a float network, as load() takes it. data: as in quantize(), to which layers are fitted.
    choices are a list such as [2, "4/8", "float"], or a text.
    FIELDS
    recipe: how layers are fitted, and which have no choice; the path of a TOML file, its text, or
    a dict. skip, bits: as in quantize(): layers without a choice.
    test_data: samples on which losses and errors are measured; None: those of the fit. test_limit:
    use only so many of them.
    reference: the float network that the model was made from; then the layers of the model are
    measured as they are, without choices.
    time: measure it on this machine. threads, progress: as in quantize().

    >>> import halftone as ht
    >>> recipe = '[[layer]]\\nname = "dense1"\\nskip = true'
    >>> found = ht.sensitivity("examples/mnist/mnist_mlp_700.onnx", "examples/mnist", limit=50,
    ...                        choices=[1, 4], recipe=recipe, time=False)
    >>> found.choices[0].units[1].loss > found.choices[1].units[1].loss
    True
    """
    measuring = Measuring(choices, loss, test_data, test_limit, state)
    if reference is not None and (choices, recipe, skip, bits, state) != (None,) * 5:
        raise ValueError(
            "reference: the layers of the model are measured as they are; expected no choices, "
            "recipe and state beside it"
        )
    workers = check_threads(threads)
    network = as_model(model, example, data)
    rules = recipe_of(recipe, None, names_to_skip(skip, network), bits)
    other = None if reference is None else as_model(reference)._network
    inputs = input_names(network)
    samples = samples_of(data, inputs, DataOptions(limit, scale, split))
    chosen = measuring.native(inputs, scale, time)
    with Progress(progress) as callback:
        how = native.QuantizeArguments(workers, callback, seed, memory, "")
        if other is None:
            texts = native.sensitivity(network._network, samples, rules, chosen, how)
        else:
            texts = native.sensitivity_of(network._network, other, samples, chosen, how)
    return Sensitivity(texts)
