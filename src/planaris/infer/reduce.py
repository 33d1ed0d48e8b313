"""Markov random fields that are Ising models in other words."""

from __future__ import annotations

from planaris.errors import MethodError
from planaris.models import Inverse, IsingModel, MarkovRandomField, mrf2ising

Model = IsingModel | MarkovRandomField

ANY_FIELD = ("auto", "treewidth")
"""Methods that take any Markov random field; the others need an Ising model."""


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
