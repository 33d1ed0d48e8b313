"""How much time and memory a verb may take, shared by everything it calls."""

from __future__ import annotations

from numbers import Real
from time import monotonic
from typing import Any

from planaris.errors import MethodError
from planaris.progress import ProgressOption

PATIENCE_SECONDS = 60.0
"""Spent on relaxations of parts that no exact method fits, when no time limit is given."""


class Limits:
    """A clock that starts now."""

    def __init__(
        self,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
        *,
        prove: bool = False,
    ) -> None:
        if time_limit is not None and not _is_positive(time_limit):
            msg = f"`time_limit` must be a positive number of seconds, got {time_limit!r}"
            raise MethodError(msg)
        if memory_limit is not None and not _is_positive(memory_limit):
            msg = f"`memory_limit` must be a positive number of bytes, got {memory_limit!r}"
            raise MethodError(msg)
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.progress = progress
        self.prove = prove
        self.started = monotonic()

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return monotonic() - self.started

    def remaining(self) -> float | None:
        """Return the seconds left, or None without a time limit."""
        return None if self.time_limit is None else max(self.time_limit - self.seconds(), 1e-3)

    def left(self) -> Any:
        """Return what is left of the limits as options of a call."""
        return {
            "time_limit": self.remaining(),
            "memory_limit": self.memory_limit,
            "progress": self.progress,
        }

    def patience(self, share: float = 1.0) -> float:
        """Return the seconds a relaxation may take."""
        left = self.remaining()
        return PATIENCE_SECONDS if left is None else left * share


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and float(value) > 0
