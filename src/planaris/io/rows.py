"""Files of lines of numbers: columns, indices, and header comments."""

from __future__ import annotations

import io
import re
from itertools import islice
from typing import NamedTuple

import numpy as np

from planaris.io.files import Source, refuse, refuse_scan
from planaris.kernels.text import scan_rows
from planaris.typing import FloatArray, LongArray

MAX_BLANK_VERTICES = 1000
"""Vertex numbers may run this far beyond twice the number of rows; see ``check_density``."""


MAX_ISOLATED = 4 * 10**6
"""A header may announce this many vertices beyond those that the lines could name."""
MAX_HEADER_LINES = 1000


class Table(NamedTuple):
    """Rows of equally many numbers, and the line of each in the file."""

    values: FloatArray
    lines: LongArray


def read_header_and_table(
    source: Source, text: bytes, header: str, widths: tuple[int, ...]
) -> tuple[list[int], Table]:
    """Read a first line of two counts and the table of rows that follows.

    The second count must be the number of rows; that is checked before anything else, so that
    a truncated file is never taken for a smaller one.
    """
    rows = scan_rows(text, "#%c")
    refuse_scan(source, rows.error)
    count = len(rows.row_lines)
    line = int(rows.row_lines[0]) if count else 1
    first = rows.values[: rows.row_offsets[1]] if count else np.zeros(0)
    if len(first) != 2 or np.any(first != np.floor(first)) or np.any(first < 0):
        refuse(source, line, header, _shown(first))
    if first[1] != count - 1:
        refuse(source, line, f"{first[1]:.0f} lines after the first", f"{count - 1}")
    check_count(source, line, first[0], count - 1)
    begin = rows.row_offsets[1]
    table = as_table(
        source, rows.values[begin:], rows.row_offsets[1:] - begin, rows.row_lines[1:], widths
    )
    return [int(x) for x in first], table


def read_table(source: Source, text: bytes, comments: str, widths: tuple[int, ...]) -> Table:
    """Read rows of equally many numbers."""
    rows = scan_rows(text, comments)
    refuse_scan(source, rows.error)
    return as_table(source, rows.values, rows.row_offsets, rows.row_lines, widths)


def as_table(
    source: Source,
    values: FloatArray,
    offsets: LongArray,
    lines: LongArray,
    widths: tuple[int, ...],
) -> Table:
    """Check that all rows have the same allowed number of columns."""
    if not len(lines):
        return Table(np.zeros((0, widths[-1])), lines)
    sizes = np.diff(offsets)
    width = int(sizes[0])
    wrong = np.flatnonzero(sizes != (width if width in widths else -1))
    if wrong.size:
        at = int(wrong[0])
        allowed = f"{width}" if width in widths else " or ".join(map(str, widths))
        refuse(source, int(lines[at]), f"{allowed} numbers in a line", f"{sizes[at]}")
    return Table(values.reshape(-1, width), lines)


def indices(source: Source, table: Table, low: int, high: int, what: str) -> LongArray:
    """Return the first two columns as integers between ``low`` and ``high``."""
    pairs = table.values[:, :2]
    bad = (pairs != np.floor(pairs)) | (pairs < low) | (pairs > high)
    if np.any(bad):
        at = int(np.flatnonzero(bad.any(1))[0])
        value = float(pairs[at][bad[at]][0])
        refuse(source, int(table.lines[at]), f"{what} from {low} to {high}", f"{value:g}")
    return pairs.astype(np.int64)


def refuse_loops(source: Source, pairs: LongArray, lines: LongArray, hint: str) -> None:
    """Refuse the first edge from a vertex to itself."""
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        at = int(loops[0])
        refuse(source, int(lines[at]), f"two different vertices ({hint})", f"{pairs[at, 0]} twice")


def check_density(source: Source, pairs: LongArray, table: Table) -> None:
    """Refuse a lone huge vertex number: it would make a model of as many empty spins."""
    most = 2 * pairs.size + MAX_BLANK_VERTICES
    if pairs.size and int(pairs.max()) >= most:
        at = int(np.argmax(pairs.max(1)))
        expected = f"vertex numbers below {most} in a file of {len(pairs)} lines (labels=True reads"
        refuse(source, int(table.lines[at]), expected + " them as names)", f"{pairs.max()}")


def check_count(source: Source, line: int, announced: float, num_rows: int) -> None:
    """Refuse a header that announces far more vertices than the file can name."""
    most = min(2 * num_rows + MAX_ISOLATED, 2**30)
    if announced > most:
        expected = f"at most {most} variables in a file of {num_rows} lines"
        refuse(source, line, expected, f"{announced:.0f}")


def header_values(text: bytes) -> dict[str, str]:
    """Return ``key=value`` pairs of the comments that begin a file, at most 1000 lines."""
    found: dict[str, str] = {}
    for line in islice(io.BytesIO(text), MAX_HEADER_LINES):
        stripped = line.removeprefix(b"\xef\xbb\xbf").strip()
        if stripped and not stripped.startswith(b"#"):
            break
        for key, value in re.findall(rb"(\w+)\s*=\s*([^\s,;]+)", stripped):
            found.setdefault(key.decode("ascii", "replace"), value.decode("ascii", "replace"))
    return found


def header_offset(source: Source, header: dict[str, str]) -> float:
    """Return the offset that the header comments give, zero if they give none."""
    text = header.get("offset", "0")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        refuse(source, 1, "a finite number for offset", repr(text))
    return value


def header_count(source: Source, header: dict[str, str], key: str, pairs: LongArray) -> int:
    """Return a count of the header comments, at least as large as the numbers used."""
    least = int(pairs.max(initial=-1)) + 1
    text = header.get(key, str(least))
    if not (text.isascii() and text.isdigit()) or int(text[:12]) < least:
        refuse(source, 1, f"{key} to be an integer, at least {least}", repr(text))
    check_count(source, 1, int(text[:12]), len(pairs))
    return int(text)


def _shown(values: FloatArray) -> str:
    return " ".join(f"{x:g}" for x in values[:4]) or "an empty file"
