"""dimod's own binary files; :meth:`IsingModel.from_bqm` and ``to_bqm`` take the objects."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from planaris.errors import PlanarisError, missing_extra
from planaris.io.bits import Bits
from planaris.io.files import Source, read_bytes, refuse
from planaris.models import IsingModel
from planaris.models.foreign import bqm_arrays

HEADER = 14
"""Bytes before the JSON header."""


def read_bqm(source: Source) -> IsingModel:
    """Read a file written by ``bqm.to_file()``, with labels and offset."""
    found = bqm_terms(source)
    return found.as_ising() if isinstance(found, Bits) else found


def bqm_terms(source: Source) -> IsingModel | Bits:
    """Read a file as :func:`read_bqm` does; objectives over bits are left as such."""
    dimod = _dimod()
    data = read_bytes(source)
    try:
        _check_layout(data)
        bqm = dimod.BinaryQuadraticModel.from_file(data)
        return IsingModel.from_bqm(bqm) if bqm.vartype is dimod.SPIN else _bits(bqm)
    except (PlanarisError, MemoryError):
        raise
    except Exception as error:  # dimod raises whatever its parser trips over
        refuse(source, None, "a dimod quadratic model", f"{type(error).__name__}: {error}")


def _bits(bqm: Any) -> Bits:
    names = list(bqm.variables)
    linear, (u, v), quadratic, offset = bqm_arrays(bqm, names)
    own = np.arange(len(names))
    pairs = np.column_stack([np.concatenate([own, u]), np.concatenate([own, v])])
    q = np.concatenate([linear, quadratic])
    return Bits(pairs.astype(np.int64), q, len(names), offset, names)


def _check_layout(data: bytes) -> None:
    """Raise for what dimod's compiled code takes on trust: sizes, and variables that are none.

    A file is a magic word, a version, a JSON header, the offset, a row of (first entry, bias) per
    variable, and for each variable its neighbours with their biases, in order.
    """
    length = int.from_bytes(data[10:HEADER], "little")
    header = json.loads(data[HEADER : HEADER + length])
    n, m = header["shape"]
    kinds = [np.dtype(header[name]) for name in ("dtype", "itype", "ntype")]
    _demand("".join(kind.kind for kind in kinds) in ("fii", "fuu"), "numbers of known kinds")
    bias, index, place = kinds
    _demand(isinstance(n, int) and isinstance(m, int) and n >= 0 and m >= 0, "a shape")
    rows = np.dtype([("first", place), ("bias", bias)])
    entries = np.dtype([("other", index), ("bias", bias)])
    start = HEADER + length + bias.itemsize
    middle = start + n * rows.itemsize
    _demand(len(data) >= middle + 2 * m * entries.itemsize, "as many bytes as it announces")
    first = np.frombuffer(data, rows, n, start)["first"].astype(np.int64)
    found = np.frombuffer(data, entries, 2 * m, middle)
    degree = np.diff(np.append(first, 2 * m))
    _demand(bool(np.all(degree >= 0)) and int(degree.sum()) == 2 * m, "runs of neighbours")
    here, other = np.repeat(np.arange(n), degree), found["other"].astype(np.int64)
    _demand(bool(np.all((other >= 0) & (other < n) & (other != here))), "variables that exist")
    # Each pair is there twice; sorted by the other end, the entries are the same again.
    back = np.lexsort((here, other))
    same = np.array_equal(other[back], here) and np.array_equal(here[back], other)
    _demand(same and np.array_equal(found["bias"][back], found["bias"]), "every pair twice, alike")


def _demand(condition: bool, what: str) -> None:
    if not condition:
        msg = f"there must be {what}"
        raise ValueError(msg)


def write_bqm(model: IsingModel, target: Source) -> None:
    """Write a file that ``dimod.BinaryQuadraticModel.from_file`` reads."""
    with model.to_bqm().to_file() as file:
        data = file.read()
    if not isinstance(target, str | os.PathLike):
        target.write(data)
    elif target == "-":
        sys.stdout.buffer.write(data)
    else:
        Path(target).write_bytes(data)


def _dimod() -> Any:
    try:
        import dimod
    except ImportError as error:
        raise missing_extra(package="dimod", extra="dimod") from error
    return dimod
