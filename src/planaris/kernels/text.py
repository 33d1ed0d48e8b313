"""Parsers of numbers and UAI files, compiled: no locale, memory bounded by the text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planaris import _core
from planaris.typing import FloatArray, IntArray, LongArray


class ScanError(NamedTuple):
    """Where a scan stopped; ``line`` counts from one and is 0 when all went well."""

    line: int
    column: int
    expected: str
    found: str


class UaiArrays(NamedTuple):
    """A UAI model as flat arrays; they end at the error if there is one."""

    bayes: bool
    cardinalities: IntArray
    scopes: IntArray
    scope_offsets: LongArray
    values: FloatArray
    table_offsets: LongArray
    error: ScanError


class Rows(NamedTuple):
    """Lines of numbers, and the line in the file of every row."""

    values: FloatArray
    row_offsets: LongArray
    row_lines: LongArray
    error: ScanError


def scan_uai(text: bytes, *, log: bool) -> UaiArrays:
    """Read a UAI model; negative potentials are refused unless ``log``."""
    found = _core.scan_uai(np.frombuffer(text, dtype=np.uint8), log)
    return UaiArrays(
        bayes=found.bayes,
        cardinalities=found.cardinalities,
        scopes=found.scopes,
        scope_offsets=found.scope_offsets,
        values=found.values,
        table_offsets=found.table_offsets,
        error=_error(found.error),
    )


def scan_rows(text: bytes, comment_starts: str = "#") -> Rows:
    """Read lines of finite numbers; a token that begins with a comment start ends its line."""
    rows = _core.scan_rows(np.frombuffer(text, dtype=np.uint8), comment_starts)
    return Rows(rows.values, rows.row_offsets, rows.row_lines, _error(rows.error))


def _error(error: _core.ScanError) -> ScanError:
    return ScanError(error.line, error.column, error.expected, error.found)
