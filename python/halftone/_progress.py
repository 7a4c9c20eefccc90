# SPDX-License-Identifier: Apache-2.0
"""Progress bars for terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeAlias

#: Called with the share that is done, 0 to 1, and what is done at the moment.
ProgressCallback: TypeAlias = Callable[[float, str], object]


def _notebook() -> Any:
    """The module IPython.display in a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython import display  # type: ignore[import-not-found, unused-ignore]

    return display


class Progress:
    """A bar while a job runs: `with Progress(True) as callback: ...`.

    The callback is None if nothing is shown: progress=False, or no terminal and no notebook.
    """

    def __init__(self, wanted: bool | ProgressCallback):
        self._wanted = wanted
        self._start = time.monotonic()
        self._last = 0.0
        self._display: Any = None
        self._handle: Any = None
        self._is_drawn = False

    def __enter__(self) -> ProgressCallback | None:
        if callable(self._wanted):
            return self._wanted
        if not self._wanted:
            return None
        self._display = _notebook()
        if self._display is not None:
            self._handle = self._display.display(self._display.HTML(""), display_id=True)
            return self._show_html
        if sys.stderr is not None and sys.stderr.isatty():
            return self._show_text
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < 0.1:
            return False
        self._last = now
        return True

    def _left(self, fraction: float) -> str:
        if fraction <= 0.05:
            return ""
        elapsed = time.monotonic() - self._start
        return f", {elapsed / fraction * (1 - fraction):.0f} s left"

    def _show_text(self, fraction: float, activity: str) -> None:
        if not self._is_due():
            return
        self._is_drawn = True
        width = 30
        filled = int(fraction * width)
        bar = "#" * filled + "." * (width - filled)
        text = f"\r\033[K[{bar}] {100 * fraction:3.0f} %{self._left(fraction)} {activity}"
        sys.stderr.write(text)
        sys.stderr.flush()

    def _show_html(self, fraction: float, activity: str) -> None:
        if not self._is_due():
            return
        from html import escape

        text = f"{100 * fraction:.0f} %{self._left(fraction)} {activity}"
        bar = f"<progress value='{fraction:.3f}' max='1'></progress> {escape(text)}"
        self._handle.update(self._display.HTML(bar))
