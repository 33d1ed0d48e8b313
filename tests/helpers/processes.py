"""Processes that tests start: waited for by what they write, never by the clock.

A process that hangs hangs the test; after ``faulthandler_timeout`` pytest says where.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
"""For processes that import these helpers."""


@contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process in a group of its own; whatever is left of the group is killed."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def wait_until(happened: Callable[[], bool], *processes: subprocess.Popen[Any]) -> None:
    """Look again and again, as long as it takes and as long as the processes run."""
    while not happened():
        for process in processes:
            assert process.poll() is None, f"ended with {process.returncode}"
        time.sleep(0.005)


def lines(path: Path) -> list[str]:
    """Return the whole lines of a file that another process appends to."""
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()
