"""Mechanisms left out of a model so that its decoding graph becomes planar."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planaris.decode.graph import split_graph
from planaris.decode.model import ErrorModel
from planaris.decode.planar_form import planar_form
from planaris.errors import NotMatchableError, NotPlanarError
from planaris.notebook import Shown


@dataclass(frozen=True, eq=False, repr=False)
class Dropped(Shown):
    """A model with a planar decoding graph, and what it lacks.

    Attributes
    ----------
    model : ErrorModel
        The same mechanisms, those left out with probability 0: their numbers stay.
    mechanisms : tuple of int
        Which were left out.
    instructions : tuple of str
        The same, as text.
    bound : float
        Probability that any of them acts. No event, a logical error of this decoder or of the
        best one, has a probability that differs by more between the two models.
    """

    model: ErrorModel
    mechanisms: tuple[int, ...]
    instructions: tuple[str, ...]
    bound: float


def drop_smallest(model: ErrorModel) -> Dropped:
    """Leave out mechanisms, the least likely of a Kuratowski subgraph first, until all is planar.

    Mechanisms of more than two detectors are left out first, then those that let the observable
    wind around a hole. The choice is greedy: fewer may do.

    Parameters
    ----------
    model : ErrorModel
        Any error model.

    Examples
    --------
    >>> from planaris.decode.model import Mechanism
    >>> pairs = [(u, v) for v in range(5) for u in range(v)]
    >>> k5 = [Mechanism(0.01 + 0.001 * u, (u, v), ()) for u, v in pairs]
    >>> found = drop_smallest(ErrorModel(tuple(k5), 5, 0))
    >>> found.instructions, found.bound
    (('error(0.01) D0 D1',), 0.01)
    """
    gone = set(model.wide_mechanisms())
    observables: list[int | None] = [*range(model.num_observables)] or [None]
    for observable in observables:
        while more := _in_the_way(_without(model, gone), observable):
            gone |= more
    return _dropped(model, gone)


def drop_wide(model: ErrorModel) -> Dropped:
    """Leave out the mechanisms of more than two detectors, which matching cannot use.

    Examples
    --------
    >>> from planaris.decode.model import Mechanism
    >>> two = Mechanism(0.1, (0, 1), ()), Mechanism(0.01, (0, 1, 2), (0,))
    >>> drop_wide(ErrorModel(two, 3, 1)).instructions
    ('error(0.01) D0 D1 D2 L0',)
    """
    return _dropped(model, set(model.wide_mechanisms()))


def _dropped(model: ErrorModel, gone: set[int]) -> Dropped:
    """Return the model without these mechanisms, and what it lacks."""
    dropped = tuple(sorted(gone))
    present = np.array([model.mechanisms[k].probability for k in dropped])
    log_none = float(np.log1p(-np.minimum(present, 1.0 - 1e-16)).sum())
    return Dropped(
        _without(model, gone),
        dropped,
        tuple(str(model.mechanisms[k]) for k in dropped),
        round(-float(np.expm1(log_none)), 15),
    )


def _in_the_way(model: ErrorModel, observable: int | None) -> set[int]:
    """Return the mechanisms to leave out next, or nothing if the split graph is planar."""
    try:
        graph = split_graph(model, observable)
    except NotMatchableError as error:  # a closed chain that flips the observable
        return {min(error.mechanisms, key=lambda k: model.mechanisms[k].probability)}
    try:
        planar_form(model, graph, joined=True)
    except NotPlanarError as error:
        edges = [e for e in np.asarray(error.kuratowski_edges).tolist() if e < len(graph.sources)]
        total = [sum(model.mechanisms[k].probability for k in graph.sources[e]) for e in edges]
        return set(graph.sources[edges[int(np.argmin(total))]])
    return set()


def _without(model: ErrorModel, gone: set[int]) -> ErrorModel:
    """Return the model with these mechanisms impossible."""
    mechanisms = tuple(
        replace(m, probability=0.0) if k in gone else m for k, m in enumerate(model.mechanisms)
    )
    return replace(model, mechanisms=mechanisms)
