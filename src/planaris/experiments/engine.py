"""Which code computes a trial: part of the hash of its result."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import planaris

ABOVE = ("cli", "play", "report", "experiments", "interop")
"""Packages that show results and do not make them."""


@cache
def engine() -> str:
    """Return the version of planaris and two digests of the code behind its numbers.

    The first is of the Python sources below the reports, the second of the compiled core and the
    versions of the numeric libraries: a result of other code is not taken for one of this code.

    >>> engine().startswith(version("planaris") + "+")
    True
    """
    root = Path(planaris.__file__).parent
    sources, binaries = hashlib.sha256(), hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in ABOVE:
            sources.update(path.name.encode() + b"\0" + path.read_bytes())
    for path in _compiled():
        binaries.update(path.read_bytes())
    for name in ("numpy", "scipy", "highspy", "networkx"):
        binaries.update(f"{name} {version(name)}".encode())
    return f"{version('planaris')}+{sources.hexdigest()[:10]}.{binaries.hexdigest()[:10]}"


def same_sources(one: str, other: str) -> bool:
    """Return whether two engines differ in the machine alone.

    >>> same_sources("0.1.0+aa.bb", "0.1.0+aa.cc"), same_sources("0.1.0+aa.bb", "0.1.0+ab.bb")
    (True, False)
    """
    return one.rpartition(".")[0] == other.rpartition(".")[0]


def _compiled() -> list[Path]:
    """Return the file of the compiled core, which an editable install keeps elsewhere."""
    from importlib.util import find_spec

    found = find_spec("planaris._core")
    return [Path(found.origin)] if found is not None and found.origin else []
