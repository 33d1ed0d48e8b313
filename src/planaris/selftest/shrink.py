"""Make a failing model smaller while it still fails, and write it where it can be run again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from planaris.io import write_model
from planaris.models import IsingModel, MarkovRandomField
from planaris.selftest.models import Case, Model


def shrink(case: Case, fails: Callable[[Case], bool], *, seconds: float = 30.0) -> Case:
    """Return a smaller case that fails, by dropping and rounding one thing at a time.

    Examples
    --------
    >>> case = Case("by hand", IsingModel([(0, 1), (1, 2), (2, 3)], [1.0, -0.3, 2.0]))
    >>> small = shrink(case, lambda c: bool(np.any(c.model.couplings < 0)))
    >>> small.model.couplings.tolist()
    [-1.0]
    """
    stop = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < stop:
        progress = False
        for smaller in _smaller(case.model):
            attempt = Case(case.kind, smaller)
            if time.monotonic() > stop:
                break
            if fails(attempt):
                case, progress = attempt, True
                break
    return case


def _smaller(model: Model) -> Iterator[Model]:
    if isinstance(model, IsingModel):
        yield from _smaller_ising(model)
    else:
        yield from _smaller_mrf(model)


def _smaller_ising(model: IsingModel) -> Iterator[IsingModel]:
    n, edges, couplings = model.num_spins, model.edges, model.couplings
    if model.offset:
        yield IsingModel(edges, couplings, model.fields, num_spins=n)
    for v in range(n):
        kept = np.arange(n) != v
        number = np.cumsum(kept) - 1
        inside = kept[edges].all(1)
        yield IsingModel(
            number[edges[inside]], couplings[inside], model.fields[kept], num_spins=n - 1
        )
    for e in range(len(edges)):
        kept = np.arange(len(edges)) != e
        yield IsingModel(edges[kept], couplings[kept], model.fields, num_spins=n)
    for values, name in ((couplings, "couplings"), (model.fields, "fields")):
        for k in np.flatnonzero(values):
            for simple in _simpler(float(values[k])):
                changed = np.array(values)
                changed[k] = simple
                both = {"couplings": couplings, "fields": model.fields, name: changed}
                yield IsingModel(edges, both["couplings"], both["fields"], num_spins=n)


def _simpler(value: float) -> Iterator[float]:
    sign = 1.0 if value > 0 else -1.0
    for simple in (0.0, sign, float(np.rint(value)), float(f"{value:.1g}")):
        if simple != value and not (abs(value) == 1.0 and simple != 0.0):
            yield simple


def _smaller_mrf(model: MarkovRandomField) -> Iterator[MarkovRandomField]:
    scopes = [tuple(int(v) for v in model.scope(k)) for k in range(model.num_factors)]
    tables = [np.exp(np.asarray(model.log_table(k))) for k in range(model.num_factors)]
    for k in range(len(scopes)):
        kept = [(s, t) for j, (s, t) in enumerate(zip(scopes, tables, strict=True)) if j != k]
        yield MarkovRandomField(model.cardinalities, kept)
    for v in range(model.num_variables):
        if all(v not in scope for scope in scopes):
            kept_variables = [u for u in range(model.num_variables) if u != v]
            number = {u: k for k, u in enumerate(kept_variables)}
            moved = [
                (tuple(number[u] for u in scope), table)
                for scope, table in zip(scopes, tables, strict=True)
            ]
            yield MarkovRandomField(model.cardinalities[kept_variables], moved)


def write_failure(case: Case, contradictions: list[str], folder: Path, name: str) -> Path:
    """Write a failing model and what is wrong with it; return the file of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".coo" if isinstance(case.model, IsingModel) else ".lg"
    path = folder / f"{name}{suffix}"
    write_model(case.model, path)
    lines = [f"kind: {case.kind}", *contradictions, f"again: planaris selftest --model {path.name}"]
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
