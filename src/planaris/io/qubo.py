"""Quadratic models over spins or bits: COO text, qbsolv ``.qubo`` and Biq Mac ``.bq`` files.

All three hold energies to be minimised; x = (1 + s) / 2.
"""

from __future__ import annotations

import math
import re

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.io.bits import Bits, sum_at
from planaris.io.files import Source, extension_of, read_bytes, refuse, write_text
from planaris.io.maxcut import plain
from planaris.io.rows import (
    Table,
    check_count,
    check_density,
    header_count,
    header_offset,
    header_values,
    indices,
    read_header_and_table,
    read_table,
)
from planaris.models import IsingModel
from planaris.typing import FloatArray

FORMATS = ("coo", "qubo", "bq")
NOTE = "energy = objective + offset"
NOTED_OFFSET = re.compile(rb"^[c#] offset=(\S+): " + re.escape(NOTE.encode()) + rb"\r?$", re.M)
"""The comment of :func:`write_qubo`. There is no standard for offsets in comments."""


def read_coo(source: Source, *, vartype: str | None = None) -> IsingModel:
    r"""Read dimod's COO text: ``i i bias`` linear, ``i j bias`` quadratic, from zero.

    Parameters
    ----------
    source : path, "-" or stream
        The file; comments may say ``vartype=SPIN`` or ``vartype=BINARY``, ``offset=…`` and
        ``num_variables=…``.
    vartype : {"SPIN", "BINARY"}, optional
        Whether biases are of s = ±1 or of x = 0, 1. Default: what the file says, else BINARY.

    Returns
    -------
    IsingModel
        Its energy is that of the file: couplings are minus the biases.

    Examples
    --------
    >>> import io
    >>> model = read_coo(io.StringIO("# vartype=SPIN\n0 0 0.5\n0 1 -1\n"))
    >>> model.fields.tolist(), model.couplings.tolist()
    ([-0.5, 0.0], [1.0])
    """
    found = coo_terms(source, vartype=vartype)
    return found.as_ising() if isinstance(found, Bits) else found


def coo_terms(source: Source, *, vartype: str | None = None) -> IsingModel | Bits:
    """Read dimod's COO text as :func:`read_coo` does; objectives over bits are left as such."""
    text = read_bytes(source)
    header = header_values(text)
    kind = (vartype or header.get("vartype", "BINARY")).upper()
    if kind not in ("SPIN", "BINARY"):
        refuse(source, 1, "vartype SPIN or BINARY", repr(kind))
    table = read_table(source, text, "#", (3,))
    pairs = indices(source, table, 0, 2**30 - 1, "a variable")
    if "num_variables" not in header and not len(pairs):
        refuse(source, 1, "entries, or a comment num_variables=… of a model without", "none")
    if "num_variables" not in header:
        check_density(source, pairs, table)
    n = header_count(source, header, "num_variables", pairs)
    offset = header_offset(source, header)
    if kind == "BINARY":
        return Bits(pairs, table.values[:, 2], n, offset)
    linear = pairs[:, 0] == pairs[:, 1]
    fields = sum_at(pairs[linear, 0], table.values[linear, 2], n)
    return IsingModel(
        pairs[~linear],
        0.0 - table.values[~linear, 2],
        0.0 - fields,
        num_spins=n,
        offset=0.0 - offset,
    )


def read_qubo(source: Source, *, format: str | None = None) -> IsingModel:
    r"""Read a QUBO file; the model's energy is its objective, plus the offset that we note there.

    Parameters
    ----------
    source : path, "-" or stream
        The file.
    format : {"coo", "qubo", "bq"}, optional
        ``"qubo"``: qbsolv's, a line ``p qubo 0 maxNodes nNodes nCouplers``, comments ``c``,
        numbers from zero, ``i j q`` counts once. ``"bq"``: Biq Mac's (also ``.sparse``), a line
        ``n m``, numbers from one, Q symmetric, so that ``i j q`` counts twice. ``"coo"``: see
        :func:`read_coo`. Default: by extension.

    Examples
    --------
    >>> import io
    >>> bits = io.StringIO("2 2\n1 1 -3\n1 2 1\n")
    >>> model = read_qubo(bits, format="bq")
    >>> model.energy([[-1, -1], [1, -1], [1, 1]]).tolist()
    [0.0, -3.0, -1.0]
    """
    found = qubo_terms(source, format=format)
    return found.as_ising() if isinstance(found, Bits) else found


def qubo_terms(source: Source, *, format: str | None = None) -> IsingModel | Bits:
    """Read a QUBO file as :func:`read_qubo` does, and leave the objective as it is stated."""
    kind = _format(source, format)
    if kind == "coo":
        return coo_terms(source, vartype="BINARY")
    text = read_bytes(source)
    if kind == "bq":
        (n, _), table = read_header_and_table(
            source, text, "'n m', the numbers of variables and entries", (3,)
        )
        pairs = indices(source, table, 1, n, "a variable") - 1
        twice = np.where(pairs[:, 0] == pairs[:, 1], 1.0, 2.0)
        with np.errstate(over="ignore"):
            return Bits(pairs, twice * table.values[:, 2], n, _noted_offset(source, text))
    n, table = _qbsolv_table(source, text)
    pairs = indices(source, table, 0, n - 1, "a variable")
    return Bits(pairs, table.values[:, 2], n, _noted_offset(source, text))


def _noted_offset(source: Source, text: bytes) -> float:
    note = NOTED_OFFSET.search(text)
    found = {} if note is None else {"offset": note[1].decode("ascii", "replace")}
    return header_offset(source, found)


def _qbsolv_table(source: Source, text: bytes) -> tuple[int, Table]:
    problem = re.search(rb"^[ \t]*p[ \t]+qubo[ \t]+(.*)$", text, re.MULTILINE)
    line = text.count(b"\n", 0, problem.start()) + 1 if problem else 1
    words = problem[1].split() if problem else []
    expected = "a line 'p qubo 0 maxNodes nNodes nCouplers'"
    if len(words) != 4 or not all(word.isdigit() and len(word) < 11 for word in words[1:]):
        refuse(source, line, expected, b" ".join(words).decode("ascii", "replace") or "none")
    most, nodes, couplers = map(int, words[1:])
    table = read_table(source, text, "#cp", (3,))
    check_count(source, line, most, len(table.lines))
    linear = int(np.count_nonzero(table.values[:, 0] == table.values[:, 1]))
    if linear != nodes or len(table.lines) - linear != couplers:
        found = f"{linear} and {len(table.lines) - linear}"
        refuse(source, line, f"{nodes} diagonal and {couplers} other entries", found)
    return most, table


def write_coo(model: IsingModel, target: Source) -> None:
    """Write dimod's COO text over spins; reads back the same, offset included.

    >>> write_coo(IsingModel([(0, 1)], [1.0], [0.0, -2.0]), "-")
    # vartype=SPIN num_variables=2
    1 1 2
    0 1 -1
    """
    header = f"# vartype=SPIN num_variables={model.num_spins}"
    lines = [header + (f" offset={0.0 - model.offset!r}" if model.offset else "")]
    for v in np.flatnonzero(model.fields).tolist():
        lines.append(f"{v} {v} {plain(0.0 - float(model.fields[v]))}")
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        lines.append(f"{u} {v} {plain(0.0 - coupling)}")
    write_text(target, "\n".join(lines) + "\n")


def write_qubo(model: IsingModel, target: Source, *, format: str | None = None) -> None:
    """Write a QUBO file whose objective is the model's energy, less a constant.

    ``.qubo`` and ``.bq`` files hold no constant, so energies differ from the objective by
    ``offset`` in the header comment, which :func:`read_qubo` understands and other programs
    leave out; COO files keep everything (:func:`write_coo`).

    >>> write_qubo(IsingModel([(0, 1)], [1.0]), "-", format="qubo")
    c offset=-1.0: energy = objective + offset
    p qubo 0 2 2 1
    0 0 2
    1 1 2
    0 1 -4
    """
    kind = _format(target, format)
    if kind == "coo":
        write_coo(model, target)
        return
    u, v = model.edges.T
    both = np.concatenate([model.couplings, model.couplings])
    diagonal = 2 * sum_at(np.concatenate([u, v]).astype(np.int64), both, model.num_spins)
    diagonal = diagonal - 2 * model.fields
    constants = [*model.fields.tolist(), *(0.0 - model.couplings).tolist(), 0.0 - model.offset]
    offset = math.fsum(constants)
    if not (np.all(np.isfinite(diagonal)) and np.isfinite(offset)):
        msg = "`model` has couplings too large for a QUBO; write a .coo file instead"
        raise MethodError(msg)
    lost = _lost_by_sums(model, diagonal) + abs(math.fsum([*constants, -offset]))
    if lost > model.energy_tolerance:
        msg = (
            f"`model` has numbers of too different sizes for a QUBO, whose sums of them would "
            f"change energies by {lost:.3g}; write a .coo file instead"
        )
        raise MethodError(msg)
    shift, share = (0, 4) if kind == "qubo" else (1, 2)
    nonzero = np.flatnonzero(diagonal).tolist()
    entries = [f"{k + shift} {k + shift} {plain(float(diagonal[k]))}" for k in nonzero]
    for (a, b), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        entries.append(f"{a + shift} {b + shift} {plain(0.0 - share * coupling)}")
    note = f"offset={offset!r}: {NOTE}"
    if kind == "qubo":
        count = f"{model.num_spins} {len(nonzero)} {model.num_edges}"
        lines = [f"c {note}", f"p qubo 0 {count}", *entries]
    else:
        lines = [f"# {note}", f"{model.num_spins} {len(entries)}", *entries]
    write_text(target, "\n".join(lines) + "\n")


def _lost_by_sums(model: IsingModel, diagonal: FloatArray) -> float:
    """Return by how much the rounding of diagonal entries can change an energy."""
    terms: list[list[float]] = [
        [q, 2.0 * h] for q, h in zip(diagonal.tolist(), model.fields.tolist(), strict=True)
    ]
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        terms[u].append(-2.0 * coupling)
        terms[v].append(-2.0 * coupling)
    return math.fsum(abs(math.fsum(numbers)) for numbers in terms)


def _format(source: Source, format: str | None) -> str:
    extension = extension_of(source).lstrip(".")
    kind = format or {"sparse": "bq"}.get(extension, extension)
    if kind not in FORMATS:
        msg = f"`format` must be one of {FORMATS} (or the file's extension), got {kind!r}"
        raise ModelError(msg)
    return kind
