"""Memory and processors of the machine, and what limits of the system leave of them."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")

SHARE = 0.5
"""Share of the machine's memory that one call may take by default."""


@cache
def total_bytes() -> float:
    """Return the memory of the machine, or of the container if that is less."""
    import psutil

    return min(float(psutil.virtual_memory().total), memory_cap())


def available_bytes() -> int:
    """Return the bytes a call may take: half of the memory, or what ``RLIMIT_AS`` leaves.

    >>> available_bytes() > 0
    True
    """
    return int(min(SHARE * total_bytes(), _address_space_left()))


def _address_space_left() -> float:
    """Return what ``ulimit -v`` leaves to this process, or infinity."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return math.inf
    except (ImportError, OSError, ValueError):
        return math.inf
    import psutil

    return max(float(limit - psutil.Process().memory_info().vms), 0.0)


def readable(count: float) -> str:
    """Return a number of bytes in the unit that fits.

    >>> readable(3 * 2**20)
    '3.0 MiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.3g} PiB"


@cache
def processors() -> int:
    """Return the processors that affinity and the quota of the control group leave, at least 1.

    They are counted once per process, as libraries of threads do.

    >>> processors() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(min(count, math.ceil(processor_quota())), 1)


def processor_quota(root: Path = CGROUP, own: Path = OWN_GROUPS) -> float:
    """Return the least quota, in processors, of the control groups around this process."""
    least = float(os.cpu_count() or 1)
    for folder in _groups("cpu", root, own):
        least = min(least, _version_2(folder), _version_1(folder))
    return least


def memory_cap(root: Path = CGROUP, own: Path = OWN_GROUPS) -> float:
    """Return the least limit, in bytes, of the control groups around this process, or infinity."""
    names = "memory.max", "memory.limit_in_bytes"
    folders = _groups("memory", root, own)
    return min(_number(folder / name) for folder in folders for name in names)


def _groups(controller: str, root: Path, own: Path) -> list[Path]:
    """Return the folders of the control group of this process and of those around it.

    Version 2 has one tree for all controllers (a line that names none), version 1 a tree for each.
    """
    found = [root, root / controller]
    try:
        lines = own.read_text().splitlines()
    except (OSError, ValueError):
        return found
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        inner = base / path.lstrip("/")
        found += [p for p in (inner, *inner.parents) if p.is_relative_to(base)]
    return found


def _version_2(folder: Path) -> float:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return math.inf if quota == "max" else float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def _version_1(folder: Path) -> float:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota > 0 and 0 < period < math.inf else math.inf


def _number(file: Path) -> float:
    """Return the number in a file; infinity where there is none, as where it says "max"."""
    try:
        return float(file.read_text())
    except (OSError, ValueError):
        return math.inf
