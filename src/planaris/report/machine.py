"""What a result was computed on: machine and versions."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from planaris.machine import processors

PACKAGES = ("planaris", "numpy", "scipy", "networkx", "highspy", "joblib", "matplotlib")


def describe_machine() -> dict[str, str]:
    """Return the processor, memory, system and versions, by name.

    >>> sorted(describe_machine())[:3]
    ['cores', 'highspy', 'joblib']
    """
    facts = {
        "processor": _processor(),
        "cores": str(processors()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return facts


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    import psutil

    return f"{psutil.virtual_memory().total / 2**30:.0f} GiB"
