# SPDX-License-Identifier: Apache-2.0
"""Networks that are ready to run."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

from . import _halftone as native
from . import _html, _sources
from ._arguments import check, checked
from ._arrays import Array, ArrayLike, Shape, Spec, as_array, type_text
from ._reports import Inspection, Layer, layer_table

FloatOrder: TypeAlias = Literal["fastest", "fixed"]
Format: TypeAlias = Literal["onnx", "tflite", "circle"]
_Out = TypeVar("_Out")

MAX_THREADS = 1024
#: Idle sessions that a model keeps, each of which holds the memory of a run.
_MAX_IDLE = 4


class Port(NamedTuple):
    """An input or output of a network."""

    name: str
    dtype: np.dtype[Any]
    shape: Shape  #: extents; "N" is the batch, "8N" eight times it, other texts are open extents

    def __str__(self) -> str:
        return f"{self.name}: {type_text(self.dtype, self.shape)}"


def _extent(dim: int) -> int | str:
    return dim if dim >= 0 else native.extent_text(dim)


_NativePorts: TypeAlias = Sequence[tuple[str, str, Sequence[int]]]


def _ports(found: _NativePorts) -> tuple[Port, ...]:
    return tuple(
        Port(name, np.dtype(dtype), tuple(map(_extent, dims))) for name, dtype, dims in found
    )


class RunOptions(NamedTuple):
    """How a model is computed."""

    threads: int = 1  #: of a run; with one, results do not depend on their number
    float_activations: bool = False  #: no activations are rounded to 8 bits
    float_order: FloatOrder = "fastest"  #: "fixed": the same bits on every processor
    device: str = "cpu"  #: or a graphics card as devices() names it, with the same bits

    def plan(self, network: native.Network, batch: int) -> native.Plan:
        how = execution(self.float_activations, self.float_order, self.device)
        return native.Plan.make(network, batch, self.threads, how)

    def session(self, network: native.Network, plan: native.Plan | None) -> native.Session:
        how = execution(self.float_activations, self.float_order, self.device)
        return native.Session(network, plan, self.threads, how)


def execution(float_activations: bool, float_order: str, device: str = "cpu") -> native.Execution:
    if float_order not in ("fastest", "fixed"):
        raise ValueError(f"float_order: expected 'fastest' or 'fixed', found {float_order!r}")
    return native.Execution(not float_activations, float_order == "fixed", device)


class Session:
    """A model with memory of its own. One thread at a time may call it.

    It is planned once for each size of the inputs; sizes seen before are kept, in a cache of 512
    MiB beside the size in use.
    What the network remembers, such as the variables of a TFLite file, goes on from call to call.

    >>> import halftone as ht, numpy as np
    >>> session = ht.load("examples/mnist/mnist_mlp_700.onnx").session(batch=2)
    >>> session(np.zeros((2, 784), np.float32)).shape
    (2, 10)
    """

    def __init__(
        self,
        session: native.Session,
        plan: native.Plan | None,
        ports: tuple[tuple[Port, ...], tuple[Port, ...]],
    ):
        self._session = session
        self._ports = ports
        self._inputs: tuple[Spec, ...] = ()
        self._outputs: tuple[Spec, ...] = ()
        self._computed: set[int] = set()
        if plan is not None:
            self._take(plan.inputs, plan.outputs)

    @overload
    def __call__(self, *inputs: ArrayLike, out: None = None) -> Array: ...
    @overload
    def __call__(self, *inputs: ArrayLike, out: _Out) -> _Out: ...
    def __call__(self, *inputs: ArrayLike, out: Any = None) -> Any:
        """Runs once; see Model."""
        if len(inputs) != len(self._ports[0]):
            raise TypeError(f"expected {len(self._ports[0])} inputs, found {len(inputs)}")
        self._resize(inputs)
        arrays = tuple([spec.input(x) for spec, x in zip(self._inputs, inputs)])
        if out is None:
            outputs = tuple([spec.empty() for spec in self._outputs])
            self._session.run(arrays, outputs)
            if self._computed:
                outputs = tuple([self._found(i, outputs[i]) for i in range(len(outputs))])
            return outputs[0] if len(outputs) == 1 else outputs
        self._session.run(arrays, self._checked_outputs(out))
        return out

    def _resize(self, inputs: tuple[ArrayLike, ...]) -> None:
        """Plans for inputs of another size, if the network takes such."""
        shapes = [_shape_of(x) for x in inputs]
        if self._inputs and all(spec.shape == found for spec, found in zip(self._inputs, shapes)):
            return
        fits = all(map(_may_be, shapes, [port.shape for port in self._ports[0]]))
        if fits or not self._inputs:
            self._take(*self._session.resize([list(shape) for shape in shapes]))

    def _take(self, inputs: _NativePorts, outputs: _NativePorts) -> None:
        self._inputs = _specs(inputs, self._ports[0])
        self._outputs = _specs(outputs, self._ports[1] or _ports(outputs))
        self._computed = {i for i, spec in enumerate(self._outputs) if spec.is_computed}

    def _found(self, index: int, output: Array) -> Array:
        """An output of the last run; those whose sizes depend on data are copied."""
        if index not in self._computed:
            return output
        found = np.empty(self._session.output_shape(index), output.dtype)
        self._session.read_output(index, found)
        return found

    def reset(self) -> None:
        """Makes the session forget: the next call begins as the first one did."""
        self._session.reset()

    def addresses(self) -> tuple[list[int], list[int]]:
        """Where the last run has read its inputs and written its outputs."""
        return self._session.addresses()

    def _checked_outputs(self, out: Any) -> tuple[Array, ...]:
        outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(outs) != len(self._outputs):
            raise ValueError(f"out=: expected {len(self._outputs)} arrays, found {len(outs)}")
        return tuple([spec.output(array) for spec, array in zip(self._outputs, outs)])


def _shape_of(array: ArrayLike) -> tuple[int, ...]:
    shape = getattr(array, "shape", None)
    return tuple(np.shape(array) if shape is None else shape)  # type: ignore[arg-type]


def _may_be(found: tuple[int, ...], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(
        isinstance(extent, str) or extent == size for size, extent in zip(found, wanted)
    )


def _specs(found: _NativePorts, ports: tuple[Port, ...]) -> tuple[Spec, ...]:
    return tuple(
        Spec(name, np.dtype(dtype), tuple(dims), type_text(port.dtype, port.shape))
        for (name, dtype, dims), port in zip(found, ports)
    )


class Model:
    """A network, ready to run on any batch and from any number of threads.

    >>> import halftone as ht, numpy as np
    >>> model = ht.load("examples/mnist/mnist_mlp_700.onnx")
    >>> scores = model(np.zeros((3, 784), np.float32))
    >>> scores.shape, scores.dtype
    ((3, 10), dtype('float32'))
    """

    def __init__(
        self, network: native.Network, format: str, options: RunOptions | None = None
    ):
        self._network = network
        self._format = format
        self._options = options or RunOptions()
        self._plans: dict[int, native.Plan] = {}
        self._idle: dict[int, list[Session]] = {}
        self._lock = threading.Lock()  # of the plans
        self._batch_axes = [
            (i, axis)
            for i, port in enumerate(self.inputs)
            for axis, extent in enumerate(port.shape)
            if extent == "N"
        ][:1]

    @property
    def name(self) -> str:
        """In messages: the path of the file."""
        return self._network.name

    @property
    def format(self) -> str:
        """Of the file: "onnx", "tflite" or "circle"; "memory" for what was quantized."""
        return self._format

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """
        >>> import halftone as ht
        >>> print(ht.load("examples/mnist/mnist_mlp_700.onnx").inputs[0])
        pixels: float32[N, 784]
        """
        return _ports(self._network.inputs)

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        return _ports(self._network.outputs)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers with weights, in the order of computation."""
        return self.inspect().layers

    @checked
    def inspect(
        self, *, simplified: bool = False, work: bool = False, batch: int | None = None
    ) -> Inspection:
        """Inputs, outputs, operators and layers; see halftone.inspect()."""
        if batch is not None and batch < 1:
            raise ValueError(f"batch: expected at least 1, found {batch}")
        return Inspection(self._network.inspect(self._format, simplified, work, batch))

    @checked
    def session(self, batch: int = 1) -> Session:
        """A session of its own, for one thread: it remembers from call to call.

        batch: what it is planned for at once; a model with open extents is planned when called.
        """
        plan = None if native.is_open(self._network) else self._plan(batch)
        session = self._options.session(self._network, plan)
        return Session(session, plan, (self.inputs, self.outputs))

    @overload
    def __call__(self, *inputs: ArrayLike, out: None = None) -> Array: ...
    @overload
    def __call__(self, *inputs: ArrayLike, out: _Out) -> _Out: ...
    def __call__(self, *inputs: ArrayLike, out: Any = None) -> Any:
        """Runs the network once, from the beginning; a session remembers from call to call.

        Inputs are arrays of NumPy or objects with __dlpack__, of the types in `inputs`, in order.
        Arrays in C order are read where they are, others are copied. Results are an array, or a
        tuple of them where there are several outputs, which type checkers may unpack as an array.

        out= is an array, or a tuple of them, that the results are written to; it is returned.

        >>> import halftone as ht, numpy as np
        >>> model = ht.load("examples/mnist/mnist_mlp_700.onnx")
        >>> out = np.empty((1, 10), np.float32)
        >>> model(np.zeros((1, 784), np.float32), out=out) is out
        True
        """
        batch = 1 if native.is_open(self._network) else self._batch(inputs)
        try:
            session = self._idle[batch].pop()
        except (KeyError, IndexError):
            session = self.session(batch)
        try:
            return session(*inputs, out=out)
        finally:
            self._keep(batch, session)

    @overload
    def run(
        self, inputs: Mapping[str, ArrayLike], *, out: Mapping[str, ArrayLike] | None = None
    ) -> dict[str, Any]: ...
    @overload
    def run(
        self, outputs: Sequence[str] | None, inputs: Mapping[str, ArrayLike], /
    ) -> list[Any]: ...
    def run(
        self,
        inputs: Any,
        feed: Mapping[str, ArrayLike] | None = None,
        *,
        out: Mapping[str, ArrayLike] | None = None,
    ) -> dict[str, Any] | list[Any]:
        """Runs once on inputs by their names, and returns the outputs by theirs.

        run(outputs, inputs) returns a list of the outputs of these names, None for all, as a
        session of ONNX Runtime does.

        >>> import halftone as ht, numpy as np
        >>> model = ht.load("examples/mnist/mnist_mlp_700.onnx")
        >>> list(model.run({"pixels": np.zeros((1, 784), np.float32)}))
        ['probabilities']
        >>> [scores] = model.run(None, {"pixels": np.zeros((1, 784), np.float32)})
        >>> scores.shape
        (1, 10)
        """
        if feed is not None:
            return self._run_named(inputs, feed)
        names = [port.name for port in self.outputs]
        arrays = _by_name(inputs, [port.name for port in self.inputs], "inputs")
        outs = None if out is None else tuple(_by_name(out, names, "out="))
        results = self(*arrays, out=outs)
        return dict(zip(names, results if isinstance(results, tuple) else (results,)))

    @checked
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        standard: bool = False,
        matmul_nbits: bool = False,
        one_operator: bool = False,
    ) -> None:
        """Writes .circle, .tflite or .onnx, completely or not at all.

        standard: ONNX's own operators, which other runtimes read. matmul_nbits: the same, with
        MatMulNBits of ONNX Runtime. one_operator: for ONNX Runtime with onnxruntime_library(), for
        LiteRT with litert_library().
        """
        self._network.save(os.fsdecode(path), native.Form(standard, matmul_nbits, one_operator))

    @checked
    def to_bytes(
        self,
        format: Format = "circle",
        *,
        standard: bool = False,
        matmul_nbits: bool = False,
        one_operator: bool = False,
    ) -> bytes:
        """The bytes that save() writes.

        >>> import halftone as ht
        >>> model = ht.load("examples/mnist/mnist_mlp_700.onnx")
        >>> ht.load(model.to_bytes("onnx")).outputs == model.outputs
        True
        """
        return self._network.to_bytes(format, native.Form(standard, matmul_nbits, one_operator))

    def _run_named(
        self, wanted: Sequence[str] | None, inputs: Mapping[str, ArrayLike]
    ) -> list[Any]:
        if not isinstance(wanted, (str, list, tuple, type(None))):
            raise TypeError(f"outputs: expected names or None, found {type(wanted).__name__}")
        found = self.run(inputs)
        if wanted is None:
            return list(found.values())
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        check("outputs", names, Sequence[str])
        unknown = [name for name in names if name not in found]
        if unknown:
            raise ValueError(f"outputs: expected names of {list(found)}, found {unknown}")
        return [found[name] for name in names]

    def __reduce__(self) -> tuple[Any, ...]:
        """A model is copied and pickled as the bytes of a file."""
        try:
            file = self.to_bytes("circle")
        except NotImplementedError:
            file = self.to_bytes("onnx")
        return _restored, (file, self.name, self._format, self._options)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"<halftone.Model '{self.name}': ({inputs}) -> ({outputs})>"

    def _repr_html_(self) -> str:
        ports = [("input", *self._row(p)) for p in self.inputs]
        ports += [("output", *self._row(p)) for p in self.outputs]
        return (
            _html.heading(self.name)
            + _html.table(("", "name", "type"), ports)
            + layer_table(self.layers)
        )

    @staticmethod
    def _row(port: Port) -> tuple[str, str]:
        return port.name, type_text(port.dtype, port.shape)

    def _batch(self, inputs: tuple[ArrayLike, ...]) -> int:
        """The samples of a call; 1 where the arrays do not say, and the session complains."""
        for index, axis in self._batch_axes:
            if index >= len(inputs):
                break
            array = inputs[index]
            if not hasattr(array, "shape"):
                array = as_array(array, f"input '{self.inputs[index].name}'")
            if axis < len(array.shape):
                return int(array.shape[axis])
        return 1

    def _plan(self, batch: int) -> native.Plan:
        with self._lock:
            plan = self._plans.get(batch)
            if plan is None:
                plan = self._options.plan(self._network, batch)
                while len(self._plans) >= _MAX_IDLE:
                    self._forget(next(iter(self._plans)))
                self._plans[batch] = plan
            return plan

    def _forget(self, batch: int) -> None:
        self._plans.pop(batch, None)
        self._idle.pop(batch, None)

    def _keep(self, batch: int, session: Session) -> None:
        idle = self._idle.setdefault(batch, [])
        if (native.is_open(self._network) or batch in self._plans) and len(idle) < _MAX_IDLE:
            session.reset()
            idle.append(session)


def _restored(file: bytes, name: str, format: str, options: RunOptions) -> Model:
    return Model(native.Network.from_bytes(file, name, [], []), format, options)


def _by_name(arrays: Mapping[str, ArrayLike], names: list[str], what: str) -> list[ArrayLike]:
    if not isinstance(arrays, Mapping):
        raise TypeError(f"{what}: expected arrays by name, found {type(arrays).__name__}")
    if set(arrays) != set(names):
        raise ValueError(f"{what}: expected the names {names}, found {list(arrays)}")
    return [arrays[name] for name in names]


@checked
def load(
    source: _sources.Source,
    *,
    example: object = None,
    name: str | None = None,
    shapes: _sources.Shapes | None = None,
    constants: _sources.Constants | None = None,
    max_iterations: int = 1_000_000,
    threads: int = 1,
    float_activations: bool = False,
    float_order: FloatOrder = "fastest",
    device: str = "cpu",
) -> Model:
    """Reads a network.

    source: a path to an ONNX, TFLite or circle file, the bytes of one, an onnx.ModelProto, or a
    torch.nn.Module with example=, an input or a tuple of them, with which it is exported to ONNX.
    shapes, constants: of inputs, by name; "N" is the batch.
    max_iterations: until a loop of the network counts as one without an end.
    threads: of one run. With one, results do not depend on the number of threads.
    float_activations: no activations are rounded to 8 bits.
    float_order: "fixed" computes float32 layers to the same bits on every processor.
    device: "cpu", or a graphics card as devices() names it, which runs the layers that it has
    kernels for, with the same bits.

    >>> import halftone as ht
    >>> ht.load("examples/mnist/mnist_mlp_700.onnx").format
    'onnx'
    """
    # Refuses other words before a large file is read.
    execution(float_activations, float_order, device)
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads: expected 1 to {MAX_THREADS}, found {threads}")
    if max_iterations < 1:
        raise ValueError(f"max_iterations: expected at least 1, found {max_iterations}")
    network, format = _sources.read(
        source,
        example=example,
        name=name,
        shapes=shapes,
        constants=constants,
        max_iterations=max_iterations,
    )
    return Model(network, format, RunOptions(threads, float_activations, float_order, device))


def as_model(source: _sources.Source, example: object = None, data: Any = None) -> Model:
    """The model of what a job is given; data are its samples, of which one may be the example."""
    if isinstance(source, Model):
        return source
    return load(source, example=_sources.example_of(source, example, data))
