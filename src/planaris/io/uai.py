"""UAI files: models, evidence and queries. ``docs/formats/uai.md`` is the specification."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from planaris.errors import ModelError
from planaris.io.files import Source, extension_of, read_bytes, refuse, refuse_scan, write_text
from planaris.kernels.text import scan_rows, scan_uai
from planaris.models import MarkovRandomField
from planaris.typing import FloatArray, IntArray, LongArray


def read_uai(source: Source, *, log: bool | None = None) -> MarkovRandomField:
    """Read a UAI model, MARKOV or BAYES, plain or compressed.

    Parameters
    ----------
    source : path, "-" or stream
        ``.gz``, ``.xz``, ``.bz2`` and ``.zip`` are known by their content. Names are taken
        from a side-car ``<file>.names.json`` if there is one.
    log : bool, optional
        The tables hold natural logarithms; default: whether the name ends in ``.LG``.

    Returns
    -------
    MarkovRandomField
        Its ``linear_values`` (or ``log_values``) are the numbers of the file to the last bit.

    Raises
    ------
    FileFormatError
        With ``path``, ``line`` and ``column``: what was expected there and what was found.
        Tables larger than the file can hold are refused before they are allocated.

    Examples
    --------
    >>> import io
    >>> read_uai(io.StringIO("MARKOV 2  2 3  1  2 0 1  6  1 2 3 4 0 1"))
    MarkovRandomField(2 variables, 1 factor)
    """
    log = extension_of(source) == ".lg" if log is None else log
    found = scan_uai(read_bytes(source), log=log)
    refuse_scan(source, found.error)
    return MarkovRandomField.from_arrays(
        found.cardinalities,
        found.scopes,
        found.scope_offsets,
        found.values,
        found.table_offsets,
        log=log,
        labels=_read_names(source, len(found.cardinalities)),
    )


def write_uai(
    mrf: MarkovRandomField, target: Source, *, log: bool | None = None, header: str = "MARKOV"
) -> None:
    """Write a UAI model; reading it again gives the same numbers to the last bit.

    Parameters
    ----------
    mrf : MarkovRandomField
        The model; an Ising model is written by :func:`write_model`. Names other than 0, 1, …
        go to a side-car ``<file>.names.json``; one that is left from another model is removed.
    target : path, "-" or stream
        An extension ``.gz``, ``.xz`` or ``.bz2`` compresses.
    log : bool, optional
        Write natural logarithms; default: whether the name ends in ``.LG``. Logarithms are
        lossless for models stated in logarithms, potentials for models stated in potentials;
        the other way round numbers are rounded once.
    header : {"MARKOV", "BAYES"}
        The first line.

    Examples
    --------
    >>> write_uai(MarkovRandomField([2], [((0,), [0.1, 0.9])]), "-")
    MARKOV
    1
    2
    1
    1 0
    <BLANKLINE>
    2
    0.1 0.9
    """
    if header not in ("MARKOV", "BAYES"):
        msg = f"`header` must be 'MARKOV' or 'BAYES', got {header!r}"
        raise ModelError(msg)
    given: object = mrf
    if not isinstance(given, MarkovRandomField):
        msg = (
            f"`mrf` must be a MarkovRandomField, got {type(given).__name__}; "
            "`planaris.io.write_model` writes Ising models, `from_ising` converts them"
        )
        raise ModelError(msg)
    log = extension_of(target) == ".lg" if log is None else log
    numbers = mrf.log_values if log else _potentials(mrf)
    scopes, tables = mrf.scopes.tolist(), [repr(x) for x in numbers.tolist()]
    lines = [header, str(mrf.num_variables), _join(mrf.cardinalities), str(mrf.num_factors)]
    at, begin = mrf.scope_offsets.tolist(), mrf.table_offsets.tolist()
    for k in range(mrf.num_factors):
        scope = scopes[at[k] : at[k + 1]]
        lines.append(" ".join(map(str, [len(scope), *scope])))
    for k in range(mrf.num_factors):
        table = tables[begin[k] : begin[k + 1]]
        lines += ["", str(len(table)), " ".join(table)]
    write_text(target, "\n".join(lines) + "\n")
    _write_names(mrf, target)


def _potentials(mrf: MarkovRandomField) -> FloatArray:
    if mrf.linear_values is not None:
        return mrf.linear_values
    with np.errstate(over="ignore", under="ignore"):
        linear = np.exp(mrf.log_values)
    lost = np.isinf(linear) | ((linear == 0) & (mrf.log_values > -np.inf))
    if np.any(lost):
        at = int(np.flatnonzero(lost)[0])
        msg = (
            f"`mrf` has a log potential of {mrf.log_values[at]}, which no double holds as a "
            "potential; write logarithms instead (log=True, extension .LG)"
        )
        raise ModelError(msg)
    return linear


def _join(values: IntArray) -> str:
    return " ".join(map(str, values.tolist()))


# -- names: UAI files have none --------------------------------------------------------------


def names_path(path: str | os.PathLike[str]) -> Path:
    """Return the side-car that holds the names of a model file's variables."""
    return Path(os.fspath(path) + ".names.json")


def _read_names(source: Source, count: int) -> Sequence[str] | None:
    if not isinstance(source, str | os.PathLike) or source == "-":
        return None
    path = names_path(source)
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        refuse(path, None, "JSON", str(error))
    names = data.get("variables") if isinstance(data, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
        refuse(path, None, 'an object with "variables": a list of names', type(data).__name__)
    if len(names) != count or len(set(names)) != count:
        refuse(path, None, f"{count} different names", f"{len(set(names))}")
    return names


def _write_names(mrf: MarkovRandomField, target: Source) -> None:
    if not isinstance(target, str | os.PathLike) or target == "-":
        return
    path = names_path(target)
    if isinstance(mrf.labels, range):
        path.unlink(missing_ok=True)  # names of another model that stood here
        return
    names = [name if isinstance(name, int) else str(name) for name in mrf.labels]
    write_text(path, json.dumps({"variables": names}, ensure_ascii=False) + "\n")


# -- evidence and queries --------------------------------------------------------------------


def read_evidence(
    source: Source, *, form: str | None = None, sample: int | None = None
) -> dict[int, int]:
    r"""Read an evidence file.

    Parameters
    ----------
    source : path, "-" or stream
        The file.
    form : {"2014", "2010"}, optional
        ``"2014"`` is ``n v x v x …``; ``"2010"`` (and 2008) begins with the number of samples,
        then has one ``n v x …`` per sample. Default: the one that fits.
    sample : int, optional
        Which sample of a file with several.

    Returns
    -------
    dict of int to int
        Label of every observed variable.

    Examples
    --------
    >>> import io
    >>> read_evidence(io.StringIO("2 0 1 3 0")), read_evidence(io.StringIO("1\n1 7 2"))
    ({0: 1, 3: 0}, {7: 2})
    """
    numbers, lines, starts = _read_integers(source)
    if form not in (None, "2014", "2010"):
        msg = f"`form` must be '2014', '2010' or None, got {form!r}"
        raise ModelError(msg)
    if not len(numbers):
        refuse(source, 1, "the number of observed variables (0 if none)", "an empty file")
    flat = len(numbers) == 1 + 2 * numbers[0]
    groups = _sample_starts(numbers)
    if form is None:
        form = _evidence_form(source, flat, groups, starts, lines)
    if form == "2014":
        if not flat:
            expected = f"{numbers[0]} pairs 'variable label'"
            refuse(source, int(lines[0]), expected, f"{len(numbers) - 1} numbers")
        groups = [0]
    elif groups is None:
        refuse(source, int(lines[0]), f"{numbers[0]} samples 'n v x …'", "other numbers")
    if not groups:
        return {}
    if sample is None and len(groups) > 1:
        expected = "one sample of evidence (read_evidence with sample= takes one of several)"
        refuse(source, int(lines[0]), expected, f"{len(groups)}")
    at = 0 if sample is None else sample
    if not 0 <= at < len(groups):
        msg = f"`sample` must lie between 0 and {len(groups) - 1}, got {sample}"
        raise ModelError(msg)
    return _pairs(source, numbers, lines, groups[at])


def _sample_starts(numbers: LongArray) -> list[int] | None:
    """Where the samples of the 2010 form begin; None if the numbers do not fit it."""
    place, starts = 1, []
    for _ in range(int(numbers[0])):
        if place >= len(numbers):
            return None
        starts.append(place)
        place += 1 + 2 * int(numbers[place])
    return starts if place == len(numbers) else None


def _evidence_form(
    source: Source, flat: bool, groups: list[int] | None, starts: LongArray, lines: LongArray
) -> str:
    if flat and groups is not None and len(groups) > 0:
        # Both fit (an even number of samples): lines decide, as 2010 files have one per sample.
        by_line = starts.tolist() == [0, *groups]
        if by_line == (len(starts) == 1):
            refuse(source, int(lines[0]), "a form= to be given", "numbers that fit both forms")
        return "2010" if by_line else "2014"
    if not flat and groups is None:
        expected = "'n v x v x …', or a number of samples and then as many 'n v x …'"
        refuse(source, int(lines[0]), expected, "numbers that fit neither")
    return "2014" if flat else "2010"


def _pairs(source: Source, numbers: LongArray, lines: LongArray, start: int) -> dict[int, int]:
    count, first = int(numbers[start]), start + 1
    evidence: dict[int, int] = {}
    for k in range(first, first + 2 * count, 2):
        v, label = int(numbers[k]), int(numbers[k + 1])
        if evidence.setdefault(v, label) != label:
            expected = f"one label for variable {v}"
            refuse(source, int(lines[k]), expected, f"{evidence[v]} and {label}")
    return evidence


def write_evidence(evidence: Mapping[int, int], target: Source, *, form: str = "2014") -> None:
    """Write an evidence file, in the 2014 form or the older one with a number of samples.

    >>> write_evidence({0: 1, 3: 0}, "-")
    2 0 1 3 0
    """
    pairs = [f"{v} {label}" for v, label in evidence.items()]
    line = " ".join([str(len(pairs)), *pairs])
    write_text(target, line + "\n" if form == "2014" else f"1\n{line}\n")


def read_query(source: Source) -> list[int]:
    """Read the query variables of a marginal-MAP task: ``n v v …``.

    >>> import io
    >>> read_query(io.StringIO("2 4 7"))
    [4, 7]
    """
    numbers, lines, _ = _read_integers(source)
    if not len(numbers) or len(numbers) != 1 + numbers[0]:
        refuse(source, int(lines[0]) if len(lines) else 1, "'n v v …'", f"{len(numbers)} numbers")
    names: list[int] = numbers[1:].tolist()
    if len(set(names)) != len(names):
        refuse(source, int(lines[0]), "different variables", "one twice")
    return names


def write_query(variables: Sequence[int], target: Source) -> None:
    """Write the query variables of a marginal-MAP task.

    >>> write_query([4, 7], "-")
    2 4 7
    """
    write_text(target, " ".join(map(str, [len(variables), *variables])) + "\n")


def _read_integers(source: Source) -> tuple[LongArray, LongArray, LongArray]:
    """All numbers, the line of each, and where each line begins among the numbers."""
    rows = scan_rows(read_bytes(source), "#/")
    refuse_scan(source, rows.error)
    lines = np.repeat(rows.row_lines, np.diff(rows.row_offsets))
    bad = np.flatnonzero((rows.values != np.floor(rows.values)) | (rows.values < 0))
    bad = bad if bad.size else np.flatnonzero(rows.values >= 2**31)
    if bad.size:
        at = int(bad[0])
        refuse(source, int(lines[at]), "an integer from 0 to 2^31 - 1", f"{rows.values[at]:g}")
    return rows.values.astype(np.int64), lines, rows.row_offsets[:-1]
