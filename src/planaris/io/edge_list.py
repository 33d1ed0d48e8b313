"""Plain edge lists: ``u v [J]`` in a line, ``#`` begins a comment; our own sign."""

from __future__ import annotations

import re

import numpy as np

from planaris.errors import MethodError
from planaris.io.files import Source, read_bytes, refuse, refuse_scan, write_text
from planaris.io.maxcut import plain
from planaris.io.rows import (
    as_table,
    check_density,
    header_count,
    header_offset,
    header_values,
    indices,
    refuse_loops,
)
from planaris.kernels.text import scan_rows
from planaris.models import IsingModel

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
HINT = "an edge list has no fields; a .coo file does"


def read_edge_list(source: Source, *, labels: bool | None = None) -> IsingModel:
    r"""Read an edge list; a coupling that is left out is one.

    Parameters
    ----------
    source : path, "-" or stream
        Lines ``u v`` or ``u v J``, all alike. Comments before the first edge may say
        ``num_spins=…`` and ``offset=…``.
    labels : bool, optional
        Take the first two columns as names, numbered in order of appearance. Default: only
        if none of them is a number. Else they are the numbers of the spins, from zero.

    Examples
    --------
    >>> import io
    >>> read_edge_list(io.StringIO("# a triangle\n0 1 1.5\n1 2 -1\n2 0 1\n"))
    IsingModel(3 spins, 3 edges, no fields)
    >>> read_edge_list(io.StringIO("ann bob\nbob cyd\n")).labels
    ['ann', 'bob', 'cyd']
    """
    text = read_bytes(source)
    rows = scan_rows(text)
    if labels:
        return _read_named(source, text)
    if rows.error.line and labels is None:
        model = _read_named(source, text)
        if not any(NUMBER.fullmatch(str(name)) for name in model.labels):
            return model
        hint = "a number (labels=True reads numbers as names too)"
        refuse(source, rows.error.line, hint, rows.error.found, rows.error.column)
    refuse_scan(source, rows.error)
    table = as_table(source, rows.values, rows.row_offsets, rows.row_lines, (2, 3))
    pairs = indices(source, table, 0, 2**30 - 1, "a vertex number")
    refuse_loops(source, pairs, table.lines, HINT)
    header = header_values(text)
    if "num_spins" not in header and not len(pairs):
        refuse(source, 1, "edges, or a comment num_spins=… of a model without", "none")
    if "num_spins" not in header:
        check_density(source, pairs, table)
    has_couplings = table.values.shape[1] == 3
    return IsingModel(
        pairs,
        table.values[:, 2] if has_couplings else 1.0,
        num_spins=header_count(source, header, "num_spins", pairs),
        offset=header_offset(source, header),
    )


def _read_named(source: Source, text: bytes) -> IsingModel:
    index: dict[str, int] = {}
    edges, couplings = [], []
    width = 0
    try:
        lines = text.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        refuse(source, text.count(b"\n", 0, error.start) + 1, "text in UTF-8", "other bytes")
    for number, line in enumerate(lines, start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        width = width or len(words)
        if len(words) != width or width not in (2, 3):
            allowed = str(width) if width in (2, 3) else "2 or 3"
            refuse(source, number, f"{allowed} words in a line", f"{len(words)}")
        if words[0] == words[1]:
            refuse(source, number, f"two different vertices ({HINT})", f"{words[0]} twice")
        edges.append([index.setdefault(name, len(index)) for name in words[:2]])
        couplings.append(_coupling(source, number, words[2]) if width == 3 else 1.0)
    header = header_values(text)
    if header.get("num_spins", str(len(index))) != str(len(index)):
        refuse(source, 1, f"num_spins={len(index)} for as many names", header["num_spins"])
    offset = header_offset(source, header)
    return IsingModel(edges, couplings, offset=offset, labels=list(index))


def _coupling(source: Source, line: int, word: str) -> float:
    rows = scan_rows(word.encode())
    if rows.error.line or len(rows.values) != 1:
        refuse(source, line, "a finite coupling", repr(word))
    return float(rows.values[0])


def write_edge_list(model: IsingModel, target: Source) -> None:
    """Write an edge list that reads back the same; a model with fields is refused.

    >>> write_edge_list(IsingModel([(0, 1)], [-1.5]), "-")
    # num_spins=2
    0 1 -1.5
    """
    if model.has_fields:
        msg = "an edge list has no fields; write a .coo file instead"
        raise MethodError(msg)
    named = not isinstance(model.labels, range)
    words = [str(label) for label in model.labels]
    if named:
        alone = np.setdiff1d(np.arange(model.num_spins), model.edges)
        bad = [w for w in words if not w or "#" in w or len(w.split()) != 1]
        if bad or alone.size or len(set(words)) != len(words) or any(map(NUMBER.fullmatch, words)):
            msg = (
                "an edge list with names needs every spin on an edge and names that are "
                "different single words, not numbers; write a .coo file of the unnamed model"
            )
            raise MethodError(msg)
    header = [] if named else [f"num_spins={model.num_spins}"]
    header += [f"offset={model.offset!r}"] if model.offset else []
    lines = [f"# {' '.join(header)}"] if header else []
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        lines.append(f"{words[u]} {words[v]} {plain(coupling)}")
    write_text(target, "".join(line + "\n" for line in lines))
