"""Clipping of couplings so strong that they only fix relative signs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planaris.models import IsingModel
from planaris.result import Marginals
from planaris.result.answers import Tables
from planaris.typing import FloatArray

STRONG = 1e6
"""Couplings and fields above this may be clipped to it."""

HUGE = 2.0**40
"""Models whose couplings and fields add up to less are left as they are."""

NEGLIGIBLE = 1e-12
"""Probability of violating a strong coupling or field that makes no difference."""


def weakened(model: IsingModel) -> IsingModel | None:
    """Return the model with couplings and fields clipped to ``STRONG``; None if none is huge.

    Weak couplings, which decide what strong ones leave open, are lost in sums with huge numbers.

    >>> weakened(IsingModel([(0, 1), (1, 2)], [1e300, -1.0])).couplings.tolist()
    [1000000.0, -1.0]
    """
    if model.log_weight_size < HUGE:
        return None
    couplings, fields = (np.clip(x, -STRONG, STRONG) for x in (model.couplings, model.fields))
    return model.with_couplings(couplings, fields)


def stands_for(model: IsingModel, found: Marginals) -> bool:
    """Return whether marginals of the clipped model are those of the model itself.

    States that satisfy every strong coupling and field have the same weights in both, up to one
    factor; the others weigh even less in the model. Where these do not count, nothing differs.
    """
    return found.exact and _violations(model, found).sum() <= NEGLIGIBLE


def of_strong_model(model: IsingModel, found: Marginals) -> Marginals:
    """Return marginals of the clipped model as those of the model that they stand for.

    No probability differs by more than that of a violation, which is added to the error, and by
    which ends are moved outwards. A certificate is about the clipped model, and is left out.

    >>> strong = IsingModel([(0, 1)], [1e13])
    >>> nodes, edges = np.array([0.5, 0.5]), np.array([1.0 - 1e-13])
    >>> clipped = Marginals(nodes=nodes, edges=edges, error=1e-15, method="planar")
    >>> round(of_strong_model(strong, clipped).error, 15)
    1.02e-13
    """
    violations = _violations(model, found)
    most = float(violations.sum()) * (1.0 + 1e-9) + len(violations) * found.error
    known = {name: fact for name, fact in found.stats.items() if name != "log_partition"}
    return replace(
        found,
        error=found.error + most,
        nodes_lower=_moved(found.nodes_lower, -most),
        nodes_upper=_moved(found.nodes_upper, most),
        edges_lower=_moved(found.edges_lower, -most),
        edges_upper=_moved(found.edges_upper, most),
        log_partition=None,
        certificate=None,
        stats=known,
    )


def _moved(end: Tables | None, by: float) -> FloatArray | None:
    """Return ends moved by a number, and rounded the same way."""
    if end is None:
        return None
    return np.clip(np.nextafter(np.asarray(end) + by, np.copysign(np.inf, by)), 0.0, 1.0)


def _violations(model: IsingModel, found: Marginals) -> FloatArray:
    """Return the probability of violation of every strong coupling and field."""
    each = []
    for values, agree in ((model.couplings, found.edges), (model.fields, found.nodes)):
        p = np.asarray(agree)
        each.append(np.where(values > 0, 1.0 - p, p)[np.abs(values) > STRONG])
    return np.concatenate(each)
