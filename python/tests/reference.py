# SPDX-License-Identifier: Apache-2.0
"""The pages docs/reference/python.md and torch.md, made of the signatures and docstrings of the
package, and docs/reference/json.md, made of what the program says of its results."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from typing import Any, is_typeddict

import halftone as ht
from halftone import _halftone as native
from halftone._fields import Field, fields_of
from halftone._results import Result

HEAD = """# The Python package

Made from its docstrings by a test. [The guide](../guides/python.md) shows how to use it.
"""


TORCH_HEAD = """# halftone.torch

Made from its docstrings by a test. [The guide](../guides/pytorch.md) shows how to use it.
"""


JSON_HEAD = """# The keys of results

Made by a test from the lists that the program, the Python package and this page share. Keys are in
the order of the JSON; [the command line](../cli.md#json-keys) says which verb prints which result.
"""


def members(cls: type) -> list[tuple[str, Any]]:
    """Methods and properties that a class defines, in its order, then those of reports alike."""
    bases = (base for base in cls.__mro__[1:] if issubclass(base, Result) and base is not Result)
    shared = {name: value for base in bases for name, value in vars(base).items()}
    return [
        (name, getattr(cls, name))
        for name, value in (*vars(cls).items(), *shared.items())
        if not name.startswith("_")
        and (callable(value) or isinstance(value, (property, classmethod)))
    ]


def signature(name: str, value: Any) -> str:
    """As in the source, without self, for a function, class or property."""
    if isinstance(value, property):
        returns = inspect.signature(value.fget).return_annotation if value.fget else ""
        return f"{name}: {returns}"
    if is_typeddict(value):
        return f"{name}({', '.join(f'{key}: {kind}' for key, kind in options(value))})"
    text = re.sub(r"ForwardRef\(([^()]*)\)", r"\1", str(inspect.signature(value)))
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return name + re.sub(r"\(self(, )?", "(", text)


def options(cls: type) -> list[tuple[str, str]]:
    """The keys of a dictionary of options, and their types."""
    return [(key, kind.__forward_arg__) for key, kind in cls.__annotations__.items()]


def first_paragraph(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def entry(name: str) -> str:
    value: Any = functools.reduce(getattr, name.split("."), ht)
    if inspect.ismodule(value):
        parts = [entry(f"{name}.{each}") for each in value.__all__]
        return "\n".join([f"## {name}\n\n```\n{inspect.getdoc(value)}\n```\n", *parts])
    text = f"## {name}\n\n```python\n{signature(name, value)}\n```\n\n"
    text += f"```\n{inspect.getdoc(value)}\n```\n"
    if isinstance(value, type) and not is_typeddict(value) and (listed := members(value)):
        for each, one in listed:
            meaning = first_paragraph(one)
            text += f"\n- `{signature(each, one)}`" + (f": {meaning}" if meaning else "")
        text += "\n"
    return text


def json_page() -> str:
    """A heading for each result, and a line for each of its keys."""
    text = JSON_HEAD
    for name, keys in native.result_classes().items():
        text += f"\n## {name}\n\n"
        for key, meaning in keys:
            text += textwrap.fill(
                f"- `{key}`" + (f": {meaning}." if meaning else ""), 100, subsequent_indent="  "
            )
            text += "\n"
    return text


def page() -> str:
    return "\n".join([HEAD, *map(entry, ht.__all__)])


RECIPES = """# Keys of recipes

Made from the program by a test. [Recipes](../recipes.md) shows how to use them. Of a layer with
`skip = true` or `scheme = "float"` no other key has an effect; some keys need more, which the table
names.
"""


def key_row(field: Field) -> str:
    """A row of a table of keys."""
    words = field.range or {"bool": "true or false", "str": "a name"}[field.kind]
    needs = "".join(f"; needs `{each}`" for each in native.recipe_needs(field.name))
    return f"| `{field.name}` | {words} | {field.usual} | {field.text}{needs} |"


def recipe_page() -> str:
    """The page docs/reference/recipes.md."""
    parts = [RECIPES]
    for heading, job in (("[default], [ends] and [[layer]]", "recipe_layer"), ("[fit]", "recipe_fit")):
        rows = "\n".join(map(key_row, fields_of(job).values()))
        parts.append(f"## {heading}\n\n| key | value | default | meaning |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def torch_page() -> str:
    """The page of halftone.torch, which needs PyTorch and transformers."""
    import halftone.torch

    names = [f"torch.{name}" for name in halftone.torch.__all__]
    return "\n".join([TORCH_HEAD, *map(entry, names)])
