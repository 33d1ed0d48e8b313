"""Progress on anything longer than two seconds: to stderr, and only on a terminal.

Kernels report a fraction done; :func:`watch` turns that into a bar that appears only if the
work is still going on after two seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ProgressCallback = Callable[[float], None]
"""Called with the fraction done in [0, 1], or a negative number when unknown."""

ProgressOption = bool | ProgressCallback | None
"""``None``: a bar on terminals; ``True`` / ``False``: force it on or off; or a callback."""

PATIENCE_SECONDS = 2.0


@contextmanager
def watch(title: str, option: ProgressOption = None) -> Iterator[ProgressCallback | None]:
    """Yield the callback to hand to a kernel, or None when nobody is watching.

    Parameters
    ----------
    title : str
        Shown left of the bar.
    option : bool or callable, optional
        See :data:`ProgressOption`.

    Examples
    --------
    >>> with watch("counting", lambda fraction: print(f"{fraction:.0%}")) as callback:
    ...     for k in range(3):
    ...         callback(k / 2)
    0%
    50%
    100%
    """
    if callable(option):
        yield option
        return
    if option is False or (option is None and not sys.stderr.isatty()):
        yield None
        return
    bar = _LateBar(title)
    try:
        yield bar
    finally:
        bar.close()


class _LateBar:
    """A rich progress bar that appears once the work has taken two seconds."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self.bar: object | None = None

    def __call__(self, fraction: float) -> None:
        if self.bar is None:
            if time.monotonic() - self.started < PATIENCE_SECONDS:
                return
            self._open()
        self.progress.update(self.task, completed=max(fraction, 0.0))

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), Remaining())
        self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self.progress.start()
        self.task = self.progress.add_task(self.title, total=1.0)
        self.bar = self.progress

    def close(self) -> None:
        if self.bar is not None:
            self.progress.stop()
