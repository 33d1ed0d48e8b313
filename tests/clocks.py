"""Clocks for tests: time that passes by looks at it, and the longest work between two looks."""

from __future__ import annotations

import sys
import time
from collections import defaultdict


class StepClock:
    """Time stands still, but for a tick per look; at look ``n`` the world has ended.

    A budget with any time limit is over at exactly the ``n``-th look at the clock, in Python or
    in a kernel, so that every deadline can be tried in turn, the same on every machine.
    """

    stride = 1
    """Kernels look at every poll."""

    def __init__(self, n: int) -> None:
        self.n, self.looks = n, 0

    def __call__(self) -> float:
        self.looks += 1
        return 1e-9 * self.looks if self.looks <= self.n else 1e12


class GapClock:
    """The real clock, which notes the longest processor time between two looks, by place."""

    stride = 256

    def __init__(self) -> None:
        self.last = time.process_time()
        self.longest: dict[str, float] = defaultdict(float)

    def __call__(self) -> float:
        gap = time.process_time() - self.last
        place = _place()
        self.longest[place] = max(self.longest[place], gap)
        self.last = time.process_time()
        return time.monotonic()


def _place() -> str:
    """Return the innermost function of planaris outside of the budget."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("planaris.") and name != "planaris.budget":
            return f"{name}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "elsewhere"
