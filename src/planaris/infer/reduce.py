"""Methods by name, and Markov random fields that are Ising models in other words."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError, ModelError
from planaris.models import Inverse, IsingModel, MarkovRandomField, mrf2ising
from planaris.progress import ProgressOption

Model = IsingModel | MarkovRandomField

PATIENCE_SECONDS = 60.0
"""Spent on bounds of parts that no exact method fits, when no time limit is given."""

ANY_FIELD = ("auto", "treewidth")
"""Methods that take any Markov random field; the others need an Ising model."""


PURPOSE = {
    "planar": "is exact on planar models",
    "treewidth": "is exact on models of small treewidth",
    "graph-cut": "finds ground states of submodular models",
    "qpbo": "finds part of a ground state",
    "local-lp": "bounds the energy of ground states",
    "cycle-lp": "bounds the energy of ground states",
    "mplp": "bounds the energy of ground states",
    "branch-and-cut": "finds ground states",
    "trw": "bounds log Z and estimates marginals",
    "logdet": "bounds log Z and estimates marginals",
    "pdc": "bounds log Z and the energy of ground states, and estimates marginals",
    "planar+tree": "bounds log Z and estimates marginals",
    "mean-field": "bounds log Z and estimates marginals",
    "interval": "bounds log Z and estimates marginals",
    "trw+cycle": "bounds log Z and estimates marginals",
    "clamped": "encloses marginals",
    "brute-force": "lists all states",
}
"""What every method of any verb is for, said when a verb cannot use it."""


def verb_budget(
    time_limit: TimeLimit,
    memory_limit: int | None,
    threads: int | None,
    progress: ProgressOption,
    *,
    prove: bool = False,
) -> Budget:
    """Return the budget of a verb, which refuses a time limit of zero."""
    if not isinstance(time_limit, Budget) and time_limit == 0:
        msg = f"`time_limit` must be a positive number of seconds, got {time_limit!r}"
        raise MethodError(msg)
    return Budget.of(
        time_limit, memory_limit=memory_limit, threads=threads, progress=progress, prove=prove
    )


def check_model(model: object) -> None:
    """Refuse what is no model, with the way to make one of it."""
    if isinstance(model, Model):
        return
    kind = type(model)
    family = kind.__module__.split(".")[0]
    ways = {
        "networkx": "IsingModel.from_networkx(graph)",
        "dimod": "IsingModel.from_bqm(bqm)",
        "numpy": "IsingModel.from_matrix(J)",
        "scipy": "IsingModel.from_matrix(J)",
    }
    if isinstance(model, str | os.PathLike):
        way = "planaris.io.read_model(file)"
    else:
        way = ways.get(family, "IsingModel(edges, couplings)")
    msg = (
        f"`model` must be an IsingModel or a MarkovRandomField, got {kind.__name__}; "
        f"make one with {way}"
    )
    raise ModelError(msg)


def check_method(method: Any, known: Collection[str]) -> None:
    """Refuse an unknown name with the list of known ones, and another verb's with the reason."""
    if isinstance(method, str) and method in known:
        return
    names = ", ".join(map(repr, known))
    if isinstance(method, str) and method in PURPOSE:
        msg = f"`method={method!r}` {PURPOSE[method]}, which is not asked here; use one of {names}"
    else:
        msg = f"`method` must be one of {names}, got {method!r}"
    raise MethodError(msg)


def as_ising(field: MarkovRandomField, method: str) -> tuple[IsingModel, Inverse] | None:
    """Return the field as an Ising model with the way back, or None where it is not one.

    A method that needs an Ising model passes the refusal on.
    """
    try:
        return mrf2ising(field)
    except MethodError:
        if method in ANY_FIELD:
            return None
        raise
