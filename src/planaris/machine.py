"""Memory and processors of the machine, and what limits of the system leave of them."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")

SHARE = 0.5
"""Share of the machine's memory that one call may take by default."""


@cache
def total_bytes() -> float:
    """Return the memory of the machine, or of the container."""
    import psutil

    physical = float(psutil.virtual_memory().total)
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return min(physical, float((CGROUP / name).read_text()))
        except (OSError, ValueError):
            continue
    return physical


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


@cache
def processor_quota(root: Path = CGROUP, own: Path = Path("/proc/self/cgroup")) -> float:
    """Return the least quota, in processors, of the control groups around this process."""
    least = float(os.cpu_count() or 1)
    for folder in _groups(root, own):
        least = min(least, _version_2(folder), _version_1(folder))
    return least


def _groups(root: Path, own: Path) -> list[Path]:
    """Return the folders of the control group of this process and of those around it."""
    found = [root, root / "cpu"]
    try:
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            base = root / "cpu" if "cpu" in controllers.split(",") else root
            inner = base / path.lstrip("/")
            found += [p for p in (inner, *inner.parents) if p.is_relative_to(base)]
    except (OSError, ValueError):
        pass
    return found


def _version_2(folder: Path) -> float:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return math.inf if quota == "max" else float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def _version_1(folder: Path) -> float:
    try:
        quota = float((folder / "cpu.cfs_quota_us").read_text())
        period = float((folder / "cpu.cfs_period_us").read_text())
        return math.inf if quota <= 0 else quota / period
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf
