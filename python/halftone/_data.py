# SPDX-License-Identifier: Apache-2.0
"""Samples from what programs in Python have: arrays, iterables of arrays, paths."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from . import _halftone as native
from ._arguments import check
from ._arrays import Array, as_array

#: See samples_of().
Data: TypeAlias = Any


class DataOptions(NamedTuple):
    limit: int | None = None  #: only so many samples, from the front
    scale: float = 1 / 255  #: factor on pixels of uint8
    split: str = "train"  #: of a folder with IDX files


class _Batch(NamedTuple):
    """Arrays by input, "" for those in order, and labels."""

    inputs: dict[str, Array]
    labels: Array | None


def _checked(value: object, what: str) -> Array:
    array = as_array(value, what)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(f"{what}: expected numbers or booleans, found dtype {array.dtype}")
    if array.ndim == 0:
        raise ValueError(f"{what}: expected samples [N, ...], found a single number")
    return array


def _batch_of(item: object, num_inputs: int, what: str) -> _Batch:
    if isinstance(item, Mapping):
        return _Batch({str(k): _checked(v, f"{what}['{k}']") for k, v in item.items()}, None)
    if not isinstance(item, (tuple, list)):
        return _Batch({"#0": _checked(item, what)}, None)
    if len(item) not in (num_inputs, num_inputs + 1):
        raise ValueError(
            f"{what}: expected {num_inputs} arrays, one for each input, or one more for labels, "
            f"found {len(item)}"
        )
    arrays = [_checked(value, f"{what}[{i}]") for i, value in enumerate(item)]
    labels = arrays.pop() if len(arrays) > num_inputs else None
    return _Batch({f"#{i}": array for i, array in enumerate(arrays)}, labels)


def _joined(parts: list[Array], what: str) -> Array:
    first = parts[0]
    for index, part in enumerate(parts):
        if part.shape[1:] != first.shape[1:] or part.dtype != first.dtype:
            raise ValueError(
                f"{what}: batch {index} has {part.dtype.name}{list(part.shape)}, but the first "
                f"has {first.dtype.name}{list(first.shape)}; only the first extent may differ"
            )
    return first if len(parts) == 1 else np.concatenate(parts)


def _collected(batches: Iterable[object], num_inputs: int, limit: int | None) -> list[_Batch]:
    """The batches of an iterable, or those of the first so many samples."""
    found: list[_Batch] = []
    count = 0
    for item in batches:
        batch = _batch_of(item, num_inputs, f"data: batch {len(found)}")
        if found and batch.inputs.keys() != found[0].inputs.keys():
            raise ValueError(f"data: batch {len(found)} has other inputs than the first")
        if found and (batch.labels is None) != (found[0].labels is None):
            raise ValueError(f"data: only some batches have labels, see batch {len(found)}")
        found.append(batch)
        count += next(iter(batch.inputs.values())).shape[0] if batch.inputs else 0
        if limit is not None and count >= limit:
            break
    if count == 0:
        raise ValueError("data: the iterable has no samples; was an iterator used up before?")
    return found


def _have_several_sizes(batches: Sequence[_Batch]) -> bool:
    """Whether samples of batches differ in sizes, and in nothing else."""
    inputs = [list(batch.inputs.items()) for batch in batches]
    kinds = {tuple((name, x.ndim, x.dtype.str) for name, x in each) for each in inputs}
    sizes = {tuple(x.shape[1:] for _, x in each) for each in inputs}
    return len(kinds) == 1 and len(sizes) > 1


def _merged(found: Sequence[_Batch]) -> _Batch:
    """All samples of batches of one size."""
    inputs = {k: _joined([b.inputs[k] for b in found], "data") for k in found[0].inputs}
    labels = [b.labels for b in found if b.labels is not None]
    return _Batch(inputs, _joined(labels, "labels") if labels else None)


def _dense(array: Array) -> Array:
    """In C order and the byte order of this processor; the array itself where it is so."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _is_torch_dataset(data: object) -> bool:
    """Whether items are single samples; those of a DataLoader are batches."""
    torch = sys.modules.get("torch.utils.data")
    return torch is not None and isinstance(data, torch.Dataset)


def _stacked(items: Sequence[object]) -> object:
    """A batch of samples, each an array, or a tuple of arrays and a label."""
    if isinstance(items[0], (tuple, list)):
        return tuple(_stacked(column) for column in zip(*cast(Any, items), strict=True))
    if isinstance(items[0], Mapping):
        return {key: _stacked([cast(Any, x)[key] for x in items]) for key in items[0]}
    if isinstance(items[0], (int, float, np.generic)):
        return np.asarray(items)
    return np.stack([as_array(item, "data") for item in items])


def _shapes(item: object) -> object:
    """The shapes of a sample, which are those of its batch."""
    if isinstance(item, Mapping):
        return [(key, _shapes(value)) for key, value in item.items()]
    if isinstance(item, (tuple, list)):
        return [_shapes(value) for value in item]
    return np.shape(cast(Any, item))


def batches_of(data: Any) -> Iterator[object]:
    """The batches of an iterable; of a torch Dataset, samples of one size stacked to at most 64."""
    if not _is_torch_dataset(data):
        yield from data
        return
    items = iter(data) if hasattr(data, "__iter__") else (data[i] for i in range(len(data)))
    while batch := list(itertools.islice(items, 64)):
        for _, run in itertools.groupby(batch, _shapes):
            yield _stacked(list(run))


def _is_batch(data: object) -> bool:
    """Whether data are the samples themselves, and no iterable of batches."""
    return isinstance(data, (np.ndarray, Mapping, tuple)) or hasattr(data, "__dlpack__")


def _batches_in(data: Data, num_inputs: int, limit: int | None) -> list[_Batch]:
    """What is in memory, as batches of one size each; one batch if all have the same size."""
    if _is_batch(data):
        return [_batch_of(data, num_inputs, "data")]
    if isinstance(data, Iterable) or _is_torch_dataset(data):
        found = _collected(batches_of(data), num_inputs, limit)
        return found if _have_several_sizes(found) else [_merged(found)]
    raise TypeError(
        f"data: expected an array, an iterable of arrays or a path, found {type(data).__name__}"
    )


def _batch_in(data: Data, num_inputs: int, limit: int | None) -> _Batch:
    """All samples of what is in memory, or the first so many; of one size."""
    return _merged(_batches_in(data, num_inputs, limit))


def arrays_of(
    data: Data, names: Sequence[str], limit: int | None
) -> tuple[list[Array], Array | None]:
    """Samples in memory as the inputs of these names, and labels."""
    if _is_path(data) or (isinstance(data, (tuple, list)) and data and all(map(_is_path, data))):
        raise ValueError(
            "metric(outputs, labels) needs samples in memory as data or test_data=; with paths use "
            "metric(model)"
        )
    batch = _batch_in(data, len(names), limit)
    found = [batch.inputs.get(name, batch.inputs.get(f"#{i}")) for i, name in enumerate(names)]
    inputs = [x for x in found if x is not None]
    if len(inputs) < len(names):
        raise ValueError(f"data: expected the inputs {list(names)}, found {list(batch.inputs)}")
    return [x[:limit] for x in inputs], None if batch.labels is None else batch.labels[:limit]


def first_inputs(data: Data, num_inputs: int) -> tuple[Array, ...] | None:
    """A sample for each input, from data that can be read again; None from others."""
    if data is None or _is_path(data) or iter_is_used_up(data):
        return None
    if _is_batch(data):
        batch = _batch_of(data, num_inputs, "data")
    else:
        item = next(batches_of(data), None)
        if item is None or _is_path(item):
            return None
        batch = _batch_of(item, num_inputs, "data")
    return tuple(x[:1] for x in batch.inputs.values())


def iter_is_used_up(data: object) -> bool:
    """Whether reading an object once is reading it for ever, as of generators."""
    return isinstance(data, Iterator)


def _labels(labels: object) -> Array:
    array = as_array(labels, "labels")
    if array.dtype.kind not in "iub":
        raise TypeError(f"labels: expected integers, found dtype {array.dtype}")
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise ValueError(f"labels: expected shape [N] or [N, 1], found {list(array.shape)}")
    return np.ascontiguousarray(array, np.int64).reshape(-1)


def _is_path(data: object) -> bool:
    return isinstance(data, (str, os.PathLike))


def _opened(paths: list[Any], options: DataOptions) -> native.Samples:
    check("data", paths, Sequence[str | os.PathLike[str]])
    try:
        return native.Samples.open(
            [os.fsdecode(path) for path in paths], options.split, options.limit, options.scale
        )
    except OSError as error:
        if all(os.path.exists(path) for path in paths):
            raise
        raise FileNotFoundError(str(error)) from None


def samples_of(
    data: Data, names: Sequence[str], options: DataOptions, labels: object = None
) -> native.Samples:
    """The samples of a network with inputs of these names:

    - a path, or a list of paths, one for each input, as --data of the program takes them;
    - an array [N, ...], or {input name: array}, or a tuple of arrays: the inputs in order, and
      labels where there is one more;
    - any other iterable, such as a list or a DataLoader: batches, each one of the above, whose
      samples may have another size in each batch if the network leaves extents open;
    - a Dataset of torch: samples, each as a batch without its first extent.
    """
    if options.limit is not None and options.limit < 1:
        raise ValueError(f"limit: expected at least 1, found {options.limit}")
    is_paths = isinstance(data, (tuple, list)) and len(data) > 0 and all(map(_is_path, data))
    if _is_path(data) or is_paths:
        if labels is not None:
            raise ValueError("labels=: a path brings its own labels, as in 'x.npy,y.npy'")
        return _opened(list(data) if is_paths else [data], options)
    batches = _batches_in(data, len(names), options.limit)
    if len(batches) > 1:
        return _several_sizes(batches, names, options, labels)
    return _in_memory(batches[0], names, options, labels)


def _several_sizes(
    batches: Sequence[_Batch], names: Sequence[str], options: DataOptions, labels: object
) -> native.Samples:
    """Samples of batches of several sizes, in the order of the batches."""
    counts = [len(next(iter(batch.inputs.values()))) for batch in batches]
    ends = list(itertools.accumulate(counts))
    classes: list[Any] = [None] * len(batches)
    if labels is not None:
        # An iterable ends within a batch; labels given apart may be of all samples.
        all_labels = _labels(labels)[: None if options.limit is None else ends[-1]]
        classes = np.split(all_labels, ends[:-1])
    all_of = options._replace(limit=None)
    pieces = [_in_memory(x, names, all_of, y) for x, y in zip(batches, classes, strict=True)]
    return native.Samples.joined("data", pieces, options.limit)


def _in_memory(
    batch: _Batch, names: Sequence[str], options: DataOptions, labels: object
) -> native.Samples:
    unknown = [k for k in batch.inputs if not k.startswith("#") and k not in names]
    if unknown:
        raise ValueError(f"data: expected the inputs {list(names)}, found {unknown}")
    if labels is None:
        labels = batch.labels
    arrays = [("" if k.startswith("#") else k, _dense(v)) for k, v in batch.inputs.items()]
    classes = None if labels is None else _labels(labels)
    if classes is not None and options.limit is not None:
        # An iterable ends within a batch; labels given apart may be of all samples.
        classes = classes if len(classes) == len(arrays[0][1]) else classes[: len(arrays[0][1])]
    return native.Samples.in_memory("data", arrays, classes, options.limit, options.scale)
