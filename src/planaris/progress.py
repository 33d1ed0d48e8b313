"""The bar that shows progress on terminals: to stderr, and only after two seconds."""

from __future__ import annotations

import time

PATIENCE_SECONDS = 2.0


class LateBar:
    """A rich progress bar that appears once the work has taken two seconds."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self.bar: object | None = None

    def __call__(self, fraction: float) -> None:
        """Show the fraction done, once the work has taken long enough."""
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
        """Remove the bar."""
        if self.bar is not None:
            self.progress.stop()
