"""The budget of a call: deadline, memory, threads, progress, and whether to prove.

A verb makes one :class:`Budget` and hands it to everything that it calls. Solvers look at the
time through it only, and so do the kernels, which poll it. Time is wall-clock time
(:func:`time.monotonic`; ``steady_clock`` in kernels): on a busy machine less is done in it. The
clock can be replaced (:func:`use_clock`), which makes deadlines deterministic in tests.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

from planaris.errors import MethodError, ModelError, PlanarisError, TimeLimitError, TooLargeError
from planaris.machine import available_bytes, processors, readable
from planaris.progress import LateBar

__all__ = [
    "UNLIMITED",
    "Budget",
    "ProgressCallback",
    "ProgressOption",
    "TimeLimit",
    "check_structure",
    "control",
    "structure_control",
    "structure_team",
    "structure_threads",
    "team",
    "use_clock",
    "use_threads",
    "watch",
]

Clock = Callable[[], float]
"""Returns seconds that never decrease, as :func:`time.monotonic` does."""

ProgressCallback = Callable[[float], None]
"""Called with the fraction done in [0, 1], or a negative number when unknown."""

ProgressOption = bool | ProgressCallback | None
"""``None``: a bar on terminals; ``True`` / ``False``: force it on or off; or a callback."""

AnyClock = TypeVar("AnyClock", bound=Clock)

KERNEL_STRIDE = 256
"""Polls of a kernel per look at the clock; clocks made for tests may ask for fewer."""

KERNEL_INTERVAL = 0.01
"""Seconds between two looks at the clock by kernels that leave it to their callback."""

GRACE = 0.4
"""Seconds after a deadline for what follows a search: limits are kept to half a second."""

GRACE_SHARE = 0.08
"""Share of the time limit for the same, where that is longer: limits are kept to a tenth."""

UNASKED = 2**24
"""Bytes that a call takes without asking the machine what it has."""

REAL = time.monotonic, time.thread_time
"""The real clocks: of calls, and of the work that follows a search (:meth:`Budget.to_finish`)."""

_clock: ContextVar[Clock] = ContextVar("clock", default=time.monotonic)

_structure: ContextVar[Budget | None] = ContextVar("structure", default=None)


@contextmanager
def use_clock(clock: AnyClock) -> Iterator[AnyClock]:
    """Let budgets that are made inside read another clock.

    Kernels then read this clock too, at every ``clock.stride``-th of their polls (default 256).
    They use one thread by default, because the number of times that several threads read the
    clock would differ from run to run.

    Parameters
    ----------
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> with use_clock(lambda: 7.0):
    ...     Budget(time_limit=1.0).remaining()
    1.0
    """
    token = _clock.set(clock)
    try:
        yield clock
    finally:
        _clock.reset(token)


_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Set the default number of threads of kernels inside.

    For processes that share the processors, such as the workers of many trials.

    >>> with use_threads(1):
    ...     Budget().workers(), Budget(threads=3).workers()
    (1, 3)
    """
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)


@dataclass(frozen=True, eq=False)
class Budget:
    """What a call may spend.

    Parameters
    ----------
    time_limit : float, optional
        Seconds of wall-clock time from now; default: no limit.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: as many as there are processors to use.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.
    prove : bool
        Leave a certificate wherever a method is able to.

    Attributes
    ----------
    deadline : float
        Value of the clock at which the time is over; infinity for none.

    Examples
    --------
    >>> with use_clock(lambda: 7.0):
    ...     budget = Budget(time_limit=60.0)
    >>> budget.deadline, budget.remaining(), budget.share(0.5).remaining(), budget.expired()
    (67.0, 60.0, 30.0, False)
    >>> Budget().remaining()
    inf
    """

    time_limit: float | None = None
    memory_limit: int | None = None
    threads: int | None = None
    progress: ProgressOption = None
    prove: bool = False
    deadline: float = math.nan
    started: float = math.nan
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        if self.started == self.started:  # made from another budget
            return
        _check(
            MethodError, "time_limit", self.time_limit, "a positive number of seconds", Real, 0.0
        )
        _check(MethodError, "memory_limit", self.memory_limit, "a number of bytes", Real, 1)
        _check(ModelError, "threads", self.threads, "an integer of at least 1", Integral, 1)
        clock = _clock.get()
        now = clock()
        limit = math.inf if self.time_limit is None else float(self.time_limit)
        for name, value in (("clock", clock), ("started", now), ("deadline", now + limit)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, time_limit: TimeLimit = None, **options: Any) -> Budget:
        """Return the budget of a call from its ``time_limit``, which may be a budget.

        A budget given keeps its deadline, so that nested calls share one, and its other limits;
        :meth:`seconds` starts anew. ``options`` are for a budget that begins here.

        >>> outer = Budget(10.0, threads=1)
        >>> inner = Budget.of(outer, threads=2)
        >>> inner.deadline == outer.deadline, inner.threads
        (True, 1)
        """
        if isinstance(time_limit, Budget):
            return time_limit._but(started=time_limit.clock())
        return cls(time_limit, **options)

    def _but(self, **changes: Any) -> Budget:
        """Return a copy with other values: `dataclasses.replace`, at a fifth of its time."""
        other = object.__new__(Budget)
        other.__dict__.update(self.__dict__, **changes)
        return other

    # -- time --------------------------------------------------------------------------------

    def seconds(self) -> float:
        """Return the seconds since the start of the call."""
        return self.clock() - self.started

    def remaining(self) -> float:
        """Return the seconds left: at least zero, infinity without a limit."""
        return math.inf if self.deadline == math.inf else max(self.deadline - self.clock(), 0.0)

    def expired(self) -> bool:
        """Return True once the deadline has passed."""
        return self.deadline != math.inf and self.clock() >= self.deadline

    def check(self) -> None:
        """Raise ``TimeoutError`` once the deadline has passed."""
        if self.expired():
            raise TimeoutError

    def poll(self, fraction: float = -1.0) -> None:
        """Report progress, then raise ``TimeoutError`` once the deadline has passed.

        Parameters
        ----------
        fraction : float
            Done so far, in [0, 1]; negative when unknown.
        """
        self.report(fraction)
        self.check()

    def report(self, fraction: float = -1.0) -> None:
        """Report progress without looking at the clock."""
        if callable(self.progress):
            self.progress(fraction)

    def share(self, fraction: float) -> Budget:
        """Return a budget with this fraction of the time left."""
        return self if self.deadline == math.inf else self.within(fraction * self.remaining())

    def within(self, seconds: float) -> Budget:
        """Return a budget that ends after ``seconds`` at the latest.

        >>> Budget(5.0).within(60.0).remaining() <= 5
        True
        """
        if seconds == math.inf:
            return self
        return self._but(deadline=min(self.deadline, self.clock() + max(seconds, 0.0)))

    def reserve(self, seconds: float) -> Budget:
        """Return a budget that ends ``seconds`` earlier."""
        return self._but(deadline=self.deadline - seconds)

    def to_finish(self) -> Budget:
        """Return a budget for what follows a search: the time left, or a little in any case.

        It counts the processor time of this thread. The wall clock would give up on a machine
        that is busy with other things, and lose what the search has found.

        >>> Budget(0.0).to_finish().expired()
        False
        """
        if self.deadline == math.inf:
            return self
        grace = max(GRACE, GRACE_SHARE * (self.time_limit or 0.0))
        if self.clock is not time.monotonic:
            return self._but(deadline=max(self.deadline, self.clock() + grace))
        now, clock = time.thread_time(), time.thread_time
        left, before = max(self.remaining(), grace), self.seconds()
        return self._but(clock=clock, started=now - before, deadline=now + left)

    def or_within(self, seconds: float) -> Budget:
        """Return this budget if it has a deadline, one of ``seconds`` otherwise."""
        return self if self.deadline != math.inf else self.within(seconds)

    def unlimited(self) -> Budget:
        """Return this budget without its deadline, for what must be finished."""
        return self._but(deadline=math.inf)

    def poller(self) -> ProgressCallback | None:
        """Return the callback for a kernel without a clock of its own; None if it is not needed."""
        watched = self.deadline != math.inf or callable(self.progress)
        return _Poll(self) if watched or self.clock not in REAL else None

    def quiet(self) -> Budget:
        """Return this budget without progress, for steps of a longer work that reports itself."""
        return self if self.progress is False else self._but(progress=False)

    @contextmanager
    def for_structure(self) -> Iterator[None]:
        """Let kernels that find the structure of a graph look at this budget's clock.

        Embeddings, faces, blocks and tables of pairs are asked for in many places and remembered;
        they take no budget of their own. Inside, they raise ``TimeoutError`` once the deadline has
        passed.

        >>> from planaris.embed import Embedding
        >>> with Budget(0.0).for_structure():
        ...     Embedding.from_graph([(k, k + 1) for k in range(99_999)], num_vertices=100_000)
        Traceback (most recent call last):
        TimeoutError: time limit reached
        """
        token = _structure.set(self.quiet())
        try:
            yield
        finally:
            _structure.reset(token)

    # -- progress and errors -----------------------------------------------------------------

    @contextmanager
    def watch(self, title: str) -> Iterator[Budget]:
        """Yield a budget that reports progress under a title.

        >>> with Budget(progress=print).watch("counting") as budget:
        ...     budget.poll(0.5)
        0.5
        """
        if self.progress is False:
            yield self
            return
        with watch(title, self.progress) as callback:
            yield self._but(progress=False if callback is None else callback)

    @contextmanager
    def required(self, what: str, **evidence: Any) -> Iterator[None]:
        """Turn ``TimeoutError`` into :class:`~planaris.errors.TimeLimitError`.

        >>> budget = Budget(0.0)
        >>> with budget.required("the minimum cut was not found"):
        ...     budget.check()
        Traceback (most recent call last):
        planaris.errors.TimeLimitError: the minimum cut was not found within `time_limit` = 0.0 ...
        """
        try:
            yield
        except TimeoutError as error:
            raise self.late(what, **evidence) from error

    def late(self, what: str, **evidence: Any) -> TimeLimitError:
        """Return the error for what was not done in time."""
        msg = (
            f"{what} within `time_limit` = {self.time_limit} s; allow more time or ask a "
            "method that gives bounds"
        )
        return TimeLimitError(msg, time_limit=self.time_limit, **evidence)

    # -- memory and threads ------------------------------------------------------------------

    def bytes(self) -> int:
        """Return the bytes that may be taken.

        >>> Budget(memory_limit=1000).bytes()
        1000
        """
        return available_bytes() if self.memory_limit is None else self.memory_limit

    def check_memory(self, needed: float, what: str, instead: str) -> None:
        """Raise :class:`~planaris.errors.TooLargeError` if ``needed`` bytes must not be taken.

        The message begins with ``what`` needs them and ends with ``instead``, what to do.

        >>> Budget(memory_limit=1000).check_memory(2e3, "the table", "use a smaller one")
        Traceback (most recent call last):
        planaris.errors.TooLargeError: the table needs 2000 bytes (2.0 KiB), `memory_limit` is ...
        """
        if needed <= (self.memory_limit or UNASKED):
            return
        limit = self.bytes()
        if needed <= limit:
            return
        count = int(min(needed, 2.0**62))
        msg = (
            f"{what} needs {count} bytes ({readable(count)}), `memory_limit` is {limit} bytes "
            f"({readable(limit)}); {instead}"
        )
        raise TooLargeError(msg, bytes_needed=count)

    def workers(self, parts: int | None = None, bytes_each: float = 0.0) -> int:
        """Return the number of threads that kernels may use, at least 1.

        Parameters
        ----------
        parts : int, optional
            Parts that the work has; there are no more threads than that.
        bytes_each : float
            Memory that every thread takes; there are no more threads than fit.

        Examples
        --------
        >>> Budget(threads=3).workers(), Budget(threads=3).workers(2)
        (3, 2)
        >>> Budget(threads=3, memory_limit=1000).workers(bytes_each=600.0)
        1
        """
        count = self.threads
        if count is None:
            count = _default_threads() if self.clock in REAL else 1  # see `use_clock`
        if parts is not None:
            count = max(1, min(count, parts))
        if count == 1 or count * bytes_each <= (self.memory_limit or UNASKED):
            return count
        return max(1, min(count, int(self.bytes() // bytes_each)))


def _check(
    error: type[PlanarisError], name: str, value: Any, what: str, kind: type, least: float
) -> None:
    if value is None:
        return
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if not fits or not float(value) >= least:
        msg = f"`{name}` must be {what}, got {value!r}"
        raise error(msg)


TimeLimit = float | Budget | None
"""Seconds, or the budget of the caller, or None for no limit."""

UNLIMITED = Budget()
"""No deadline, half of the memory, every processor, no progress."""


def control(budget: Budget | None) -> tuple[ProgressCallback | None, float]:
    """Return what a kernel takes: the callback that it polls, and its seconds.

    On the real clock a kernel looks at the time by itself, between callbacks.

    >>> control(None)
    (None, inf)
    """
    if budget is None:
        return None, math.inf
    if budget.clock is not time.monotonic:
        return budget.poller(), math.inf
    return budget.progress if callable(budget.progress) else None, budget.remaining()


def team(budget: Budget | None) -> tuple[int, ProgressCallback | None, float]:
    """Return what a kernel of several threads takes: their number, then as :func:`control`.

    >>> team(Budget(threads=2))
    (2, None, inf)
    """
    return (_default_threads() if budget is None else budget.workers(), *control(budget))


def _default_threads() -> int:
    return _threads.get() or processors()


def structure_control() -> tuple[ProgressCallback | None, float]:
    """Return what kernels of structure take, as :func:`control`: see `Budget.for_structure`.

    >>> with Budget(threads=1).for_structure():
    ...     structure_control()
    (None, inf)
    """
    return control(_structure.get())


def structure_team() -> tuple[int, ProgressCallback | None, float]:
    """Return what kernels of structure with several threads take, as :func:`team`.

    >>> with Budget(threads=2).for_structure():
    ...     structure_team()
    (2, None, inf)
    """
    return team(_structure.get())


def structure_threads() -> int:
    """Return the threads of quick kernels of structure, which look at no clock.

    >>> with use_threads(3):
    ...     structure_threads()
    3
    """
    return structure_team()[0]


def check_structure() -> None:
    """Raise ``TimeoutError`` if the time for structure is over: see `Budget.for_structure`.

    >>> with Budget(0.0).for_structure():
    ...     check_structure()
    Traceback (most recent call last):
    TimeoutError
    """
    budget = _structure.get()
    if budget is not None:
        budget.check()


class _Poll:
    """Polls a budget; kernels read ``stride`` (polls per call) and ``interval`` (seconds).

    They call ``extend`` once a search is over and its result has to be read: `Budget.to_finish`.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.stride: int = getattr(budget.clock, "stride", KERNEL_STRIDE)
        self.interval = KERNEL_INTERVAL if budget.clock in REAL else 0.0

    def __call__(self, fraction: float) -> None:
        self.budget.poll(fraction)

    def extend(self) -> None:
        self.budget = self.budget.to_finish()


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
    bar = LateBar(title)
    try:
        yield bar
    finally:
        bar.close()
