"""Clocks for the budgets of tests: the same on every machine, however busy it is."""

from __future__ import annotations

import signal


class StepClock:
    """Time stands still, but for a tick per look; at look ``n`` the world has ended.

    A budget with any time limit is over at exactly the ``n``-th look at the clock, in Python or
    in a kernel, so that every deadline can be tried in turn, the same on every machine. What
    follows a search (`Budget.to_finish`) then has time, but no more than ``late`` looks, if given.
    """

    stride = 1
    """Kernels look at every poll."""

    def __init__(self, n: int, late: int | None = None) -> None:
        self.n, self.late, self.looks = n, late, 0

    def __call__(self) -> float:
        self.looks += 1
        if self.looks <= self.n:
            return 1e-9 * self.looks
        return 1e12 if self.late is None or self.looks <= self.n + self.late else 2e12


class TickClock:
    """Every look at the clock, of Python or of a kernel, takes a tick.

    A time limit then allows for a number of looks, and methods stop where they would on any
    other machine.
    """

    def __init__(self, tick: float = 0.01, stride: int = 2**12) -> None:
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
            signal.raise_signal(signal.SIGINT)
        return 0.0

    @property
    def after(self) -> int:
        """Looks since the signal."""
        return self.looks - self.at
