"""Many models, one row each: on processes or a cluster, going on where a killed run stopped."""

from __future__ import annotations

import csv
import hashlib
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from planaris.budget import Budget, ProgressOption, watch
from planaris.errors import MethodError, ModelError, require_one_of
from planaris.experiments.figure import Figure, Params, Record
from planaris.experiments.parquet import pyarrow, write_parquet
from planaris.experiments.runner import run_all
from planaris.experiments.store import Store, plain, trial_key
from planaris.infer import ground_state, log_partition, marginals
from planaris.io import read_model
from planaris.io.files import extension_of
from planaris.io.model_files import EXTENSIONS, READERS
from planaris.machine import processors
from planaris.methods.registry import find_method
from planaris.models import IsingModel, MarkovRandomField
from planaris.report.parts import Panels
from planaris.writing import open_whole

VERBS = ("ground_state", "log_partition", "marginals")

COLUMNS = ("name", "variables", "answer", "lower", "upper", "exact", "proved", "method")
"""Columns of the table, before ``seconds`` and ``error``."""

TABLES = ("csv", "parquet")
"""How the table may be written, and how its file name ends."""

Row = dict[str, Any]


def solve_many(
    models: Iterable[Any] | str | os.PathLike[str],
    verb: str = "ground_state",
    method: str = "auto",
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    time_limit: float | None = None,
    format: str | None = None,
    table: str = "csv",
    progress: ProgressOption = None,
) -> list[Row]:
    """Solve many models, each on one thread, and return one row for each.

    Parameters
    ----------
    models : iterable of models and files, or a folder
        Models, paths of model files, or a folder of them. An iterator is read as the work goes on.
    verb : {"ground_state", "log_partition", "marginals"}
        What to compute.
    method : str
        As for the verb.
    out : path, optional
        Folder that keeps the results: ``VERB.jsonl``, one line for each model, with its state or
        marginals, and the table, ``VERB.csv`` or ``VERB.parquet``. The same call finds the lines
        of an earlier one that was killed there, and goes on; models that failed are tried again.
    jobs : int, optional
        Processes; default: one per processor.
    cluster : str, optional
        Address of a Dask scheduler to run on instead, as ``tcp://host:8786``. Files must be
        readable on its workers.
    time_limit : float, optional
        Seconds for each model.
    format : str, optional
        Of the files, as for :func:`planaris.io.read_model`.
    table : {"csv", "parquet"}
        How the table in ``out`` is written. Parquet keeps the states and marginals too and needs
        the extra ``planaris[parquet]``.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    list of dict
        In the order of the models: ``name``, ``variables``, ``answer`` (energy, log Z, or largest
        error of the marginals), ``lower``, ``upper``, ``exact``, ``proved``, ``method``,
        ``seconds``, ``error``, and ``state`` or ``nodes``. A model that failed has its ``error``
        and no answer.

    Examples
    --------
    >>> import planaris as pl
    >>> glasses = [pl.generate.spin_glass(6, seed) for seed in range(3)]
    >>> rows = pl.solve_many(glasses, "log_partition", jobs=1)
    >>> [round(row["answer"], 3) for row in rows], rows[0]["exact"]
    ([42.566, 41.698, 47.417], True)
    """
    require_one_of("verb", verb, VERBS)
    require_one_of("table", table, TABLES)
    if table == "parquet":
        pyarrow()  # before any work is done
    options = {"verb": verb, "method": method, "time_limit": time_limit, "format": format}
    _check_options(options, out, jobs, cluster)
    figure = _figure(verb)
    store = None if out is None else Store(Path(out))
    held = {} if store is None else store.read(figure)
    rows: dict[int, Row] = {}
    waiting: dict[int, tuple[int, Params]] = {}
    first: dict[str, int] = {}
    same: dict[int, int] = {}
    total = len(models) if isinstance(models, list | tuple) else None

    def pending() -> Iterator[Params]:
        """Yield the models that have no row yet, and remember which they are."""
        count = 0
        for place, (name, given) in enumerate(_named(models)):
            params = {"name": name, **options}
            digest = None if store is None else _digest(given)
            if digest is not None:
                params["digest"] = digest
                key = trial_key(figure, params)
                if key in held:
                    rows[place] = held[key]
                    continue
                if first.setdefault(key, place) != place:
                    same[place] = first[key]
                    continue
            waiting[count] = place, params
            count += 1
            yield {**params, "given": given}

    work = run_all(solve_one, pending(), jobs or processors(), cluster)
    with watch(f"{verb} of many models", progress) as told, closing(work) as results:
        for index, record, error in results:
            place, params = waiting.pop(index)
            row = record or {"name": params["name"], "error": error}
            if store is not None and "digest" in params and "error" not in row:
                store.append(figure, params, row)  # others may find next time what they need
            rows[place] = row
            if told is not None:
                told(len(rows) / total if total else -1.0)
    rows |= {place: rows[other] for place, other in same.items()}
    found = [_complete(rows[place]) for place in sorted(rows)]
    if out is not None:
        write = write_parquet if table == "parquet" else write_table
        write(found, Path(out) / f"{verb}.{table}")
    return found


def _check_options(options: Params, out: Any, jobs: Any, cluster: Any) -> None:
    """Refuse what no model could be solved with, before any is."""
    find_method(options["method"], options["verb"])
    Budget.of(options["time_limit"])
    require_one_of("format", options["format"], (None, *READERS), ModelError)
    if jobs is not None and (not isinstance(jobs, int | np.integer) or jobs == 0):
        msg = f"`jobs` must be a number of processes, got {jobs!r}"
        raise MethodError(msg)
    if not isinstance(cluster, str | None):
        msg = f"`cluster` must be an address as tcp://host:8786, got {type(cluster).__name__}"
        raise MethodError(msg)
    if out is not None and Path(out).exists() and not Path(out).is_dir():
        msg = f"`out` must be a folder, but {out} is a file"
        raise ModelError(msg)


def solve_one(params: Params) -> Record:
    """Solve one model and return its row; what it raises becomes the row."""
    row: Row = {"name": params["name"]}
    try:
        given = params["given"]
        if not isinstance(given, IsingModel | MarkovRandomField):
            given = _read(given, params["format"], params.get("digest"))
        row["variables"] = given.num_spins if isinstance(given, IsingModel) else given.num_variables
        options = {"time_limit": params["time_limit"], "threads": 1}
        row |= _answers(given, params["verb"], params["method"], options)
    except Exception as error:  # the other models go on
        row["error"] = f"{type(error).__name__}: {error}"
    return _finite(row)


def _read(path: str, format: str | None, digest: str | None) -> Any:
    """Read a file; its row will be kept as that of what ``digest`` was taken of."""
    model = read_model(path, format=format)
    if digest is not None and _digest(path) != digest:
        msg = f"{path} changed while it waited, or is another file here; solve it again"
        raise ModelError(msg)
    return model


def _answers(model: Any, verb: str, method: str, options: dict[str, Any]) -> Row:
    if verb == "ground_state":
        state = ground_state(model, method, **options)
        row = {"answer": state.energy, "lower": state.lower, "upper": state.upper}
        return row | _shared(state) | {"state": state.assignment}
    if verb == "log_partition":
        z = log_partition(model, method, **options)
        return {"answer": z.value, "lower": z.lower, "upper": z.upper} | _shared(z)
    found = marginals(model, method, **options)
    nodes = found.nodes
    tables = nodes if isinstance(nodes, np.ndarray) else [np.asarray(t).tolist() for t in nodes]
    return {"answer": found.error} | _shared(found) | {"nodes": tables}


def _shared(found: Any) -> Row:
    return {"exact": found.exact, "proved": found.proved, "method": found.method}


def _finite(row: Row) -> Row:
    """Return a row whose numbers JSON can hold; infinities become text."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else plain(value)
        for name, value in row.items()
    }


def _complete(row: Row) -> Row:
    """Return a row with all columns, and numbers where JSON had to hold text."""
    empty = dict.fromkeys((*COLUMNS, "seconds", "error"))
    numbers = ("answer", "lower", "upper")
    ends = {name: float(row[name]) for name in numbers if isinstance(row.get(name), str)}
    return {**empty, **row, **ends}


def write_table(rows: list[Row], path: Path) -> None:
    """Write the rows as CSV, without states and marginals; whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_whole(path) as file:
        file.write(table_text(rows).encode())


def table_text(rows: list[Row]) -> str:
    """Return the rows as CSV text.

    >>> print(table_text([{"name": "a", "answer": 1.5, "exact": True}]).splitlines()[1])
    a,,1.5,,,True,,,,
    """
    from io import StringIO

    text = StringIO()
    table = csv.DictWriter(text, (*COLUMNS, "seconds", "error"), extrasaction="ignore")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def model_files(given: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return files, and for every folder the model files in it, sorted.

    Files in folders are taken by their last extension, before that of compression: evidence,
    queries and solutions beside the models (``a.uai.evid``) are left out.
    """
    found: list[str] = []
    for name in given:
        path = Path(name)
        if path.is_dir():
            inside = sorted(entry for entry in path.iterdir() if _is_model(entry))
            if not inside:
                msg = f"{path} holds no model files; known extensions: {', '.join(EXTENSIONS)}"
                raise ModelError(msg)
            found += map(str, inside)
        else:
            found.append(str(name))
    return found


def _is_model(path: Path) -> bool:
    return path.is_file() and extension_of(path) in EXTENSIONS


def _named(models: Any) -> Iterator[tuple[str, Any]]:
    """Yield each model, or path of one, with a name."""
    if isinstance(models, str | os.PathLike):
        models = model_files([models])
    if not isinstance(models, Iterable):
        msg = (
            f"`models` must be a list of models or paths, or a folder, got {type(models).__name__}"
        )
        raise ModelError(msg)
    for k, given in enumerate(models):
        if isinstance(given, IsingModel | MarkovRandomField):
            yield f"model {k}", given
        elif isinstance(given, str | os.PathLike):
            path = os.fspath(given)
            if path == "-":
                msg = "standard input is one model: it cannot be one of several"
                raise ModelError(msg, index=k)
            # Names may be bytes that are no text; workers on a cluster have folders of their own.
            yield os.fsencode(path).decode(errors="backslashreplace"), str(Path(path).absolute())
        else:
            msg = f"`models` must hold models or paths, got {type(given).__name__} at {k}"
            raise ModelError(msg, index=k)


def _digest(given: Any) -> str | None:
    """Return a hash of what a model or its file holds; None where that cannot be read twice."""
    if isinstance(given, str):
        try:
            if not Path(given).is_file():  # a pipe is empty afterwards
                return None
            body = Path(given).read_bytes()
        except OSError:
            return None
    else:
        body = _contents(given)
    return hashlib.sha256(body).hexdigest()[:32]


def _contents(model: IsingModel | MarkovRandomField) -> bytes:
    """Return all that an answer depends on."""
    if isinstance(model, IsingModel):
        parts: tuple[Any, ...] = (model.num_spins, model.edges, model.couplings, model.fields)
        parts = (*parts, model.offset)
    else:
        parts = (model.cardinalities, model.scope_offsets, model.scopes, model.log_values)
    return b"".join(np.asarray(part).tobytes() + b";" for part in (*parts, repr(model.labels)))


def _figure(verb: str) -> Figure:
    return Figure(
        name=verb,
        title=f"{verb} of many models",
        paper="",
        claim="",
        version=1,
        trials=lambda settings: [],
        run=solve_one,
        plot=lambda results: Panels(),
    )
