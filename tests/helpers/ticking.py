"""Clocks that tests put into budgets: the same on every machine, however busy it is."""

from __future__ import annotations

import os
import signal


class TickClock:
    """Every look at the clock, of Python or of a kernel, takes a tick.

    A time limit then allows for a number of looks, and methods stop where they would on any
    other machine.
    """

    def __init__(self, tick: float = 1e-3, stride: int = 16) -> None:
        self.tick, self.now = tick, 0.0
        self.stride = stride  # polls of a kernel per look

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


class InterruptingClock:
    """Sends this process the signal of Ctrl-C at a look at the clock; then counts the looks."""

    stride = 1

    def __init__(self, at: int) -> None:
        self.at, self.looks = at, 0

    def __call__(self) -> float:
        self.looks += 1
        if self.looks == self.at:
            os.kill(os.getpid(), signal.SIGINT)
        return 0.0

    @property
    def after(self) -> int:
        """Looks since the signal."""
        return self.looks - self.at
