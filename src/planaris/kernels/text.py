"""Parsers of numbers and UAI files, compiled: no locale, memory bounded by the text."""

from __future__ import annotations

import numpy as np

from planaris import _core

ScanError = _core.ScanError
"""Where a scan stopped; ``line`` counts from one and is 0 when all went well."""


def scan_uai(text: bytes, *, log: bool) -> _core.UaiModel:
    """Read a UAI model as flat arrays, which end at the ``error`` if there is one.

    Negative potentials are refused unless ``log``.
    """
    return _core.scan_uai(np.frombuffer(text, dtype=np.uint8), log)


def scan_rows(text: bytes, comment_starts: str = "#") -> _core.TextRows:
    """Read lines of finite numbers; a token that begins with a comment start ends its line.

    ``row_lines`` has the line in the file of every row.
    """
    return _core.scan_rows(np.frombuffer(text, dtype=np.uint8), comment_starts)
