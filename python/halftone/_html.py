# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def _cells(row: Iterable[object], tag: str) -> str:
    return "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in row)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{_cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def heading(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"
