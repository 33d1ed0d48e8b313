"""The longest work between two looks at the clock, by the place that looks next."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from contextlib import suppress
from types import FrameType
from typing import Any

from planaris import infer
from planaris.budget import KERNEL_STRIDE, use_clock
from planaris.errors import PlanarisError


class GapClock:
    """The real clock; notes the longest processor time between two looks at it, by place.

    Examples
    --------
    >>> from planaris.budget import Budget
    >>> with use_clock(GapClock()) as clock:
    ...     _ = Budget(1.0).expired()
    >>> len(clock.longest)
    1
    """

    stride = KERNEL_STRIDE

    def __init__(self) -> None:
        self.longest: dict[str, float] = defaultdict(float)
        self.last = time.process_time()

    def __call__(self) -> float:
        """Return the time, and note what was worked since the last look."""
        gap = time.process_time() - self.last
        place = _place(sys._getframe(1))
        self.longest[place] = max(self.longest[place], gap)
        self.last = time.process_time()
        return time.monotonic()


def longest_stretches(
    model: Any, verb: str, method: str, *, time_limit: float = 1.0
) -> dict[str, float]:
    """Return the longest seconds of processor time between looks at the clock, by place.

    What follows the last look, until the verb returns, is called ``"the end"``.

    Examples
    --------
    >>> from planaris.selftest.interruptions.interrupts import cube
    >>> "the end" in longest_stretches(cube(3), "log_partition", "trw", time_limit=0.1)
    True
    """
    asked = (model, 2, 0, method) if verb == "sample" else (model, method)
    with use_clock(GapClock()) as clock:
        clock.last = time.process_time()
        with suppress(PlanarisError):
            getattr(infer, verb)(*asked, time_limit=time_limit)
        clock.longest["the end"] = time.process_time() - clock.last
    return dict(clock.longest)


def _place(frame: FrameType | None) -> str:
    """Return the innermost function of planaris outside of the budget."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("planaris.") and name != "planaris.budget":
            return f"{name.removeprefix('planaris.')}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "elsewhere"
