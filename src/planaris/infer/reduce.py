"""Methods by name, and Markov random fields that are Ising models in other words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from planaris.errors import MethodError
from planaris.models import Inverse, IsingModel, MarkovRandomField, mrf2ising

Model = IsingModel | MarkovRandomField

ANY_FIELD = ("auto", "treewidth")
"""Methods that take any Markov random field; the others need an Ising model."""


_Solver = TypeVar("_Solver")


def pick_method(method: str, solvers: Mapping[str, _Solver], *others: str) -> _Solver:
    """Return the solver of that name; refuse an unknown name with the list of known ones."""
    if method not in solvers:
        known = ", ".join(map(repr, (*others, *solvers)))
        msg = f"`method` must be one of {known}, got {method!r}"
        raise MethodError(msg)
    return solvers[method]


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
