"""What the machine has, read once: its memory, and the processors of the control group."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


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
