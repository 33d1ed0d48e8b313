"""Model files of every format: one reader and one writer."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial

import numpy as np

from planaris.errors import MethodError, ModelError, require_one_of
from planaris.io.bits import Bits
from planaris.io.dimod import bqm_terms, write_bqm
from planaris.io.edge_list import NUMBER, read_edge_list, write_edge_list
from planaris.io.files import Source, extension_of, name_of, read_bytes, refuse
from planaris.io.maxcut import read_maxcut, write_maxcut
from planaris.io.qubo import coo_terms, qubo_terms, write_coo, write_qubo
from planaris.io.rows import header_values
from planaris.io.uai import read_uai, write_uai
from planaris.kernels.text import scan_rows
from planaris.models import IsingModel, MarkovRandomField, mrf2ising

Model = IsingModel | MarkovRandomField

READERS: dict[str, Callable[[Source], Model | Bits]] = {
    "uai": partial(read_uai, log=False),
    "uai-log": partial(read_uai, log=True),
    "maxcut": read_maxcut,
    "edge-list": read_edge_list,
    "coo": coo_terms,
    "qubo": partial(qubo_terms, format="qubo"),
    "bq": partial(qubo_terms, format="bq"),
    "bqm": bqm_terms,
}
WRITERS: dict[str, Callable[[IsingModel, Source], None]] = {
    "maxcut": write_maxcut,
    "edge-list": write_edge_list,
    "coo": write_coo,
    "qubo": partial(write_qubo, format="qubo"),
    "bq": partial(write_qubo, format="bq"),
    "bqm": write_bqm,
}
EXTENSIONS = {
    ".uai": "uai",
    ".lg": "uai-log",
    ".mc": "maxcut",
    ".rud": "maxcut",
    ".rudy": "maxcut",
    ".gset": "maxcut",
    ".maxcut": "maxcut",
    ".edges": "edge-list",
    ".edgelist": "edge-list",
    ".el": "edge-list",
    ".coo": "coo",
    ".qubo": "qubo",
    ".bq": "bq",
    ".sparse": "bq",
    ".bqm": "bqm",
}


def read_model(source: Source, *, format: str | None = None) -> Model:
    r"""Read a model file.

    Parameters
    ----------
    source : path, "-" or stream
        ``"-"`` is standard input. Compressed files (``.gz``, ``.xz``, ``.bz2``, ``.zip``) are
        known by their content.
    format : str, optional
        ``"uai"``, ``"uai-log"``, ``"maxcut"``, ``"edge-list"``, ``"coo"``, ``"qubo"``, ``"bq"``
        or ``"bqm"``. Default: by the extension, else by the content where that is beyond doubt.

    Returns
    -------
    IsingModel or MarkovRandomField
        The latter for UAI files, and for quadratic models over bits whose numbers are of too
        different sizes for the fields of an Ising model.

    Raises
    ------
    FileFormatError
        The file does not follow its format; ``path`` and ``line`` say where.

    Examples
    --------
    >>> import io
    >>> read_model(io.StringIO("2 1\n1 2 5\n"))
    IsingModel(2 spins, 1 edge, no fields)
    """
    if format is None:
        format = EXTENSIONS.get(extension_of(source))
    if format is None:
        if extension_of(source) == ".evid":  # numbers that may look like an edge list
            refuse(source, None, "a model", "evidence, by its name; `read_evidence` reads it")
        text = read_bytes(source)
        format = _sniff(source, text)
        if not isinstance(source, str | os.PathLike) or source == "-":
            source = _NamedBytes(text, name_of(source))
    require_one_of("format", format, READERS, ModelError)
    found = READERS[format](source)
    return found.as_model() if isinstance(found, Bits) else found


def write_model(model: Model, target: Source, *, format: str | None = None) -> None:
    """Write a model file; what the format cannot hold is refused.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        An Ising model goes into a UAI file as a pairwise model of labels 0 and 1; a binary
        pairwise field without zeros into the other formats as an Ising model.
    target : path, "-" or stream
        ``"-"`` is standard output.
    format : str, optional
        As for :func:`read_model`; default: by the extension.

    Examples
    --------
    >>> write_model(IsingModel([(0, 1)], [-0.5], offset=0.5), "-", format="maxcut")
    2 1
    1 2 1
    """
    kind = format or EXTENSIONS.get(extension_of(target))
    if kind in ("uai", "uai-log"):
        mrf = MarkovRandomField.from_ising(model) if isinstance(model, IsingModel) else model
        write_uai(mrf, target, log=kind == "uai-log")
    elif kind in WRITERS:
        WRITERS[kind](_as_ising(model), target)
    else:
        given = repr(format) if format else f"no format and the extension {extension_of(target)!r}"
        known = ", ".join(READERS)
        msg = f"`format` must be one of {known}, or the extension must tell; got {given}"
        raise ModelError(msg)


def _as_ising(model: Model) -> IsingModel:
    """Return the Ising model to write; refuse what would not be the same model."""
    if isinstance(model, IsingModel):
        return model
    ising, inverse = mrf2ising(model)
    if inverse.error > model.energy_tolerance:
        msg = (
            f"`model` has numbers of too different sizes for an Ising model, whose fields would "
            f"change energies by up to {inverse.error:.3g}; write logarithms instead (.LG)"
        )
        raise MethodError(msg)
    return ising


class _NamedBytes(io.BytesIO):
    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


def _sniff(source: Source, text: bytes) -> str:
    """Detect the format from the content, or raise an error."""
    lines = text[:65536].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    bare = [line.strip() for line in lines]
    first = next((line for line in bare if line and not line.startswith((b"#", b"//"))), b"")
    words = first.upper().split()
    if text.startswith(b"DIMODBQM"):
        return "bqm"
    if words[:1] in ([b"MARKOV"], [b"BAYES"]):
        return "uai"
    if any(line.split()[:2] == [b"p", b"qubo"] for line in bare):
        return "qubo"
    if "vartype" in header_values(text):
        return "coo"
    if extension_of(source) in (".dem", ".stim"):
        refuse(source, None, "a model", "a file of stim, by its name: planaris decode takes it")
    if first.startswith(b"{"):
        refuse(source, None, "a model", "a JSON object, perhaps a saved result")
    kind, found = _sniff_rows(text)
    if kind is None:
        known = ", ".join(READERS)
        refuse(source, None, f"a known format (say which by `format`: {known})", found)
    return kind


def _has_names(text: bytes) -> bool:
    """Whether all lines are two names and a coupling: an edge list, beyond doubt."""
    lines = (line.split(b"#", 1)[0].split() for line in io.BytesIO(text))
    return all(
        len(words) == 3
        and words[0] != words[1]
        and not any(NUMBER.fullmatch(name.decode("latin-1")) for name in words[:2])
        and NUMBER.fullmatch(words[2].decode("latin-1"))
        for words in lines
        if words
    )


def _sniff_rows(text: bytes) -> tuple[str | None, str]:
    """Distinguish max-cut files from edge lists; both are rows of numbers."""
    rows = scan_rows(text, "#%c")
    sizes = np.diff(rows.row_offsets)
    if rows.error.line and _has_names(text):
        return "edge-list", ""
    if rows.error.line or not len(sizes):
        return None, "no lines of numbers"
    counted = sizes[0] == 2 and rows.values[1] == len(sizes) - 1
    if counted and len(sizes) > 1 and np.all(sizes[1:] == 3):
        return "maxcut", ""
    if counted:
        return None, "lines that fit an edge list and a max-cut file"
    if sizes[0] in (2, 3) and np.all(sizes == sizes[0]):
        return "edge-list", ""
    return None, "lines of different lengths"
