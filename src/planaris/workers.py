"""Worker processes that end with the process that gave them work, however that ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import cache, partial
from threading import Thread, current_thread, main_thread
from typing import Any

EVERY = 1.0
"""Seconds between two looks for the owner."""


def owned(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for workers of this process: they end when this process has ended.

    Workers of joblib go on with what they have and then wait for more, for ever, when the process
    that started them is killed. In this process itself the function is what it was.

    >>> owned(abs)(-2)
    2
    """
    return partial(_run, function, os.getpid())


def _run(function: Callable[..., Any], owner: int, *arguments: Any) -> Any:
    if os.getpid() != owner:
        _leave_interrupts_to_the_owner()
        _end_with(owner)
    return function(*arguments)


@cache
def _leave_interrupts_to_the_owner() -> None:
    """Ignore Ctrl-C, which a terminal sends to workers too; the owner ends them quietly."""
    if current_thread() is main_thread():  # no other may set handlers
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _end_with(owner: int) -> None:
    Thread(target=_wait_for_the_end, args=(owner,), daemon=True).start()


def _wait_for_the_end(owner: int) -> None:
    import psutil

    while os.getppid() == owner and psutil.pid_exists(owner):  # Windows keeps the number
        time.sleep(EVERY)
    os._exit(1)
