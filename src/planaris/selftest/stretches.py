"""The longest work between two looks at the clock, by the places that look."""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from planaris import infer
from planaris.budget import KERNEL_STRIDE, use_clock
from planaris.errors import PlanarisError


class GapClock:
    """Processor time of a thread; notes the longest between two looks at it, by both places.

    A limit is so much processor time, so that other work on the machine changes nothing. Time in
    Python's garbage collection is not counted.

    Examples
    --------
    >>> from planaris.budget import Budget
    >>> with use_clock(GapClock()) as clock:
    ...     _ = Budget(1.0).expired()
    >>> len(clock.longest)  # from the start to the first look, and between both
    2
    """

    stride = KERNEL_STRIDE

    def __init__(self) -> None:
        self.longest: dict[str, float] = defaultdict(float)
        self.place, self.last, self.collected = "the start", time.thread_time(), 0.0

    def __call__(self) -> float:
        """Return the time, and note what was worked since the last look."""
        place = _place(sys._getframe(1))
        self.note(place)
        self.place, self.last = place, time.thread_time()
        return self.last

    def on_collection(self, phase: str, _: dict[str, int]) -> None:
        """Take note of a garbage collection: for :data:`gc.callbacks`."""
        now = time.thread_time()
        if phase == "start":
            self.collected = now
        else:
            self.last += now - self.collected

    def note(self, place: str) -> None:
        """Keep the longest stretch between two places, the second one being here."""
        gap = time.thread_time() - self.last
        stretch = f"{self.place} → {place}"
        self.longest[stretch] = max(self.longest[stretch], gap)


def longest_stretches(
    model: Any, verb: str, method: str, *, time_limit: float = 1.0, threads: int | None = None
) -> dict[str, float]:
    """Return the longest stretches of a verb: see :func:`stretches_of`.

    Examples
    --------
    >>> from planaris.selftest.interruptions.interrupts import cube
    >>> found = longest_stretches(cube(3), "log_partition", "trw", time_limit=0.1)
    >>> sum(name.endswith("→ the end") for name in found)
    1
    """
    asked = (model, 2, 0, method) if verb == "sample" else (model, method)
    ask = getattr(infer, verb)
    return stretches_of(lambda: ask(*asked, time_limit=time_limit, threads=threads))


def stretches_of(call: Callable[[], Any]) -> dict[str, float]:
    """Return the longest seconds of processor time between looks at the clock.

    They are named after both places, ``"first → second"``; the return of the call is
    ``"the end"``.

    Examples
    --------
    >>> from planaris.budget import Budget
    >>> list(stretches_of(lambda: Budget(1.0)))
    ['the start → selftest.stretches.<lambda>', 'selftest.stretches.<lambda> → the end']
    """
    with use_clock(GapClock()) as clock:
        gc.callbacks.append(clock.on_collection)
        try:
            clock.last = time.thread_time()
            with suppress(PlanarisError):
                call()
            clock.note("the end")
        finally:
            gc.callbacks.remove(clock.on_collection)
    return dict(clock.longest)


def _place(frame: FrameType | None) -> str:
    """Return the innermost function of planaris outside of the budget."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("planaris.") and name != "planaris.budget":
            return f"{name.removeprefix('planaris.')}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "elsewhere"
