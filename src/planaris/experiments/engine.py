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
    """Return the version of planaris and a digest of the code behind its numbers.

    The digest covers the Python sources below the reports, the compiled core and the versions
    of the numeric libraries: a result of other code is not taken for one of this code.

    >>> engine().startswith(version("planaris") + "+")
    True
    """
    root = Path(planaris.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *_compiled()]):
        if path.is_relative_to(root) and path.relative_to(root).parts[0] in ABOVE:
            continue
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for name in ("numpy", "scipy", "highspy", "networkx"):
        digest.update(f"{name} {version(name)}".encode())
    return f"{version('planaris')}+{digest.hexdigest()[:12]}"


def _compiled() -> list[Path]:
    """Return the file of the compiled core, which an editable install keeps elsewhere."""
    from importlib.util import find_spec

    found = find_spec("planaris._core")
    return [Path(found.origin)] if found is not None and found.origin else []
