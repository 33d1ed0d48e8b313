"""Results and their proofs as JSON files (docs/formats/certificate.md).

Reading builds arrays and the few dataclasses of :mod:`planaris.result.proofs` by name; nothing in
a file is ever executed. A digest over the body shows damage; what the numbers claim is for
:mod:`planaris.verify` to judge.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import MISSING, fields
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from planaris.errors import FileFormatError
from planaris.result.answers import Answer, GroundState, LogPartition, Marginals
from planaris.result.proof import Proof
from planaris.result.proofs import PROOFS, NotPlanar, PartProofs, Plane
from planaris.typing import Array
from planaris.writing import open_whole

FORMAT = "planaris-result"
VERSION = 2
"""Version 1 had no `tolerance`, `error`, `proved` and intervals of marginals."""
MAX_DEPTH = 8
"""Proofs nest no deeper than this."""

NUMBERS = ("energy", "value", "lower", "upper", "tolerance")
TABLES = ("nodes", "edges", "nodes_lower", "nodes_upper", "edges_lower", "edges_upper")
Saved = GroundState | LogPartition | Marginals | Proof
"""What files hold."""

ANSWERS: dict[type[Answer], str] = {
    GroundState: "ground-state",
    LogPartition: "log-partition",
    Marginals: "marginals",
}

_SHARED = {"answer", "certificate", "exact", "method", "proved"}
FIELDS = {
    "ground-state": {*_SHARED, "energy", "lower", "upper", "tolerance", "spins", "labels"},
    "log-partition": {*_SHARED, "value", "lower", "upper", "tolerance"},
    "marginals": {*_SHARED, "error", *TABLES},
    "planarity": {"answer", "certificate"},
    "proof": {"answer", "certificate"},
}
"""What the body of a file holds; all of it is read, so nothing else may stand there."""


def save_result(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a result to a file, whole or not at all.

    Examples
    --------
    >>> import planaris as pl, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "r.json"
    >>> model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])
    >>> pl.ground_state(model).save(path)
    >>> load_result(path).energy
    -4.0
    """
    body = _body(result)
    document = {"format": FORMAT, "version": VERSION, "sha256": digest(body), "body": body}
    text = json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n"
    with open_whole(path) as file:
        file.write(text.encode())


def load_result(path: str | os.PathLike[str]) -> Saved:
    """Read a result that :func:`save_result` wrote.

    Returns
    -------
    GroundState, LogPartition, Marginals or Proof
        What was saved; of planarity a :class:`Plane` or :class:`NotPlanar`.

    Raises
    ------
    FileFormatError
        When the file is damaged or is no result.

    Examples
    --------
    >>> import tempfile
    >>> import planaris as pl
    >>> found = pl.ground_state(pl.IsingModel([(0, 1)], [-2.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.save(f"{folder}/state.json")
    ...     load_result(f"{folder}/state.json").energy
    -2.0
    """
    try:
        text = Path(path).read_bytes()
        document = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"it is not JSON: {error}")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _refuse(path, f"`format` must be {FORMAT!r}")
    if document.get("version") not in (1, VERSION):
        _refuse(path, f"`version` must be 1 or {VERSION}, got {document.get('version')!r:.40}")
    if set(document) != {"format", "version", "sha256", "body"}:
        _refuse(path, "it must hold `format`, `version`, `sha256` and `body`, and nothing else")
    body = document.get("body")
    if not isinstance(body, dict) or document.get("sha256") != digest(body):
        _refuse(path, "`sha256` does not fit the body: the file was damaged or changed")
    try:
        return _answer(body if document["version"] == VERSION else _renewed(body))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        _refuse(path, f"{type(error).__name__}: {error}")


def load_proof(path: str | os.PathLike[str]) -> Proof:
    """Read a proof that :meth:`planaris.result.Proof.save` wrote, or that of a saved result.

    Examples
    --------
    >>> import tempfile
    >>> import planaris as pl
    >>> found = pl.ground_state(pl.IsingModel([(0, 1)], [-2.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.certificate.save(f"{folder}/proof.json")
    ...     proof = load_proof(f"{folder}/proof.json")
    >>> proof.size == found.certificate.size
    True
    """
    found = load_result(path)
    proof = found if isinstance(found, Proof) else found.certificate
    if proof is None:
        _refuse(path, "it holds no proof")
    return proof


def _refuse(path: Any, what: str) -> NoReturn:
    msg = f"{os.fspath(path)} is no result of planaris: {what}"
    raise FileFormatError(msg, path=os.fspath(path), line=None)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse names that stand twice: readers differ in which of them they take."""
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "a name stands twice"
        raise ValueError(msg)
    return found


def _no_number(name: str) -> Any:
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)


def digest(body: Any) -> str:
    """Return the digest that a file must state of its body."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _body(result: Any) -> dict[str, Any]:
    if isinstance(result, Proof):
        answer = "planarity" if isinstance(result, Plane | NotPlanar) else "proof"
        return {"answer": answer, "certificate": _encode(result)}
    shared: dict[str, Any] = {
        "answer": ANSWERS[type(result)],
        "exact": bool(result.exact),
        "proved": bool(result.proved),
        "method": str(result.method),
    }
    if isinstance(result, Marginals):
        tables = {name: _tables(getattr(result, name)) for name in TABLES}
        shared["error"] = _number(result.error)
        return {**shared, **tables, "certificate": _encode(result.certificate)}
    numbers = {name: _number(getattr(result, name)) for name in NUMBERS if hasattr(result, name)}
    state: dict[str, Any] = {}
    if isinstance(result, GroundState):
        state = {"spins": _encode(result.spins), "labels": _encode(result.assignment)}
    return {**shared, **numbers, **state, "certificate": _encode(result.certificate)}


def _tables(tables: Any) -> Any:
    if tables is None:
        return None
    if isinstance(tables, list):
        return [_encode(np.atleast_1d(np.asarray(table))) for table in tables]
    return _encode(np.asarray(tables))


def _number(value: Any) -> Any:
    return float(value) if np.isfinite(value) else str(float(value))


def _encode(value: Any) -> Any:
    """Return a proof as JSON values; None where there is nothing that a checker could use."""
    if isinstance(value, np.ndarray):
        return value.astype(np.int64).tolist() if value.dtype.kind == "b" else value.tolist()
    if isinstance(value, list | tuple):
        return [_encode(entry) for entry in value]
    if isinstance(value, Proof):
        plain: Any = value.as_proof()
        return {
            "kind": plain.KIND,
            **{f.name: _encode(getattr(plain, f.name)) for f in fields(plain)},
        }
    if isinstance(value, np.integer | int):
        return int(value)
    return _number(value) if isinstance(value, np.floating | float) else None


def _answer(body: dict[str, Any]) -> Saved:
    answer = body["answer"]
    if set(body) != FIELDS.get(answer, set(body)):
        msg = f"{answer!r} must hold {', '.join(sorted(FIELDS[answer]))}, and nothing else"
        raise ValueError(msg)
    proof: Proof | None = _decode_proof(body["certificate"])
    if answer == "planarity" and not isinstance(proof, Plane | NotPlanar):
        msg = "`certificate` must be of kind 'plane' or 'not-planar'"
        raise ValueError(msg)
    if answer in ("planarity", "proof"):
        if proof is None:
            msg = "`certificate` must be a proof"
            raise ValueError(msg)
        return proof
    shared: dict[str, Any] = {
        "method": _is(body["method"], str),
        "proved": _is(body["proved"], bool),
        # An answer that is called neither proved nor exact, however narrow, has a guessed error.
        "estimate": answer != "ground-state" and not (body["proved"] or body["exact"]),
        "certificate": proof,
    }
    found: GroundState | LogPartition | Marginals
    if answer == "marginals":
        tables = {name: _read_tables(body[name]) for name in TABLES}
        found = Marginals(error=_float(body["error"]), **tables, **shared)
    else:
        shared |= {name: _float(body[name]) for name in ("lower", "upper", "tolerance")}
        if answer == "log-partition":
            found = LogPartition(value=_float(body["value"]), **shared)
        elif answer == "ground-state":
            spins, labels = _state(body)
            energy = _float(body["energy"])
            found = GroundState(spins=spins, assignment=labels, energy=energy, **shared)
        else:
            msg = f"`answer` is {answer!r:.40}"
            raise ValueError(msg)
    if found.exact != _is(body["exact"], bool):
        msg = f"`exact` is {body['exact']}, which does not fit the interval and its tolerance"
        raise ValueError(msg)
    return found


def _renewed(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a file of version 1 as one of this version."""
    if body["answer"] == "planarity":
        return body
    exact, proved = _is(body["exact"], bool), body.get("certificate") is not None
    renewed: dict[str, Any] = {"certificate": None, **body, "proved": proved}
    if body["answer"] == "marginals":
        return {**dict.fromkeys(TABLES), **renewed, "error": 1e-6 if exact else "inf"}
    width = _float(body["upper"]) - _float(body["lower"])
    renewed["tolerance"] = max(width, 0.0) if exact and np.isfinite(width) else 0.0
    if renewed.get("labels", 0) is None:
        renewed["labels"] = ((_array(body["spins"]) + 1) // 2).tolist()
    return renewed


def _state(body: dict[str, Any]) -> tuple[Any, Any]:
    spins, labels = _array(body["spins"]), _array(body["labels"])
    if np.any(np.abs(spins) != 1) or spins.dtype.kind != "i":
        msg = "`spins` must hold -1 and +1"
        raise ValueError(msg)
    if np.any(labels < 0) or labels.dtype.kind != "i" or np.any(labels >= 2**31):
        msg = "`labels` must hold 0, 1, …"
        raise ValueError(msg)
    return spins.astype(np.int8), labels.astype(np.int32)


def _read_tables(value: Any) -> Any:
    if value is None:
        return None
    nested = isinstance(value, list) and value and isinstance(value[0], list)
    return [_array(table).astype(float) for table in value] if nested else _array(value) * 1.0


def _is(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        msg = f"a {kind.__name__} is needed, got {value!r:.40}"
        raise TypeError(msg)
    return value


def _float(value: Any) -> float:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"a number is needed, got {value!r:.40}"
        raise TypeError(msg)
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"a whole number is needed, got {value!r:.40}"
        raise TypeError(msg)
    return value


def _array(value: Any) -> Array:
    array = np.asarray(_is(value, list)) if value != [] else np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "if":
        msg = f"an array of numbers is needed, got {array.dtype}"
        raise TypeError(msg)
    if not np.isfinite(array).all():  # 1e999 is one way to write infinity
        msg = "an array of finite numbers is needed"
        raise ValueError(msg)
    if _holds_bool(value):  # which NumPy takes for 0 and 1
        msg = "an array of numbers is needed, got true or false"
        raise TypeError(msg)
    return array


def _holds_bool(value: list[Any]) -> bool:
    """Return whether an array, as nested lists of one depth, holds true or false."""
    while list in (kinds := set(map(type, value))):
        value = list(chain.from_iterable(value))
    return bool in kinds


def _decode_proof(value: Any, depth: int = 0) -> Any:
    """Return one proof, which may be a list of proofs of parts."""
    proof = _decode(value, depth)
    return PartProofs(proof) if isinstance(proof, list) else proof


def _decode(value: Any, depth: int = 0) -> Any:
    if value is None:
        return None
    if depth > MAX_DEPTH:
        msg = f"proofs nest more than {MAX_DEPTH} deep"
        raise ValueError(msg)
    if isinstance(value, list):
        return [_decode(entry, depth + 1) for entry in value]
    kind = PROOFS[_is(value, dict)["kind"]]
    # What has a default was not written before it was there.
    given = {f.name: f.default for f in fields(kind) if f.default is not MISSING} | value
    if set(given) != {"kind", *(f.name for f in fields(kind))}:
        msg = f"a proof {kind.KIND!r} must hold its fields and nothing else, got {sorted(value)}"
        raise ValueError(msg)
    readers: dict[str, Any] = {
        "Array": _array,
        "int": _whole,
        "float": _float,
        "Proof | None": lambda entry: _decode_proof(entry, depth + 1),
        "Sequence[Proof | None]": lambda entry: _decode(entry, depth + 1),
    }
    return kind(**{f.name: readers[str(f.type)](given[f.name]) for f in fields(kind)})
