"""Clipping of couplings so strong that they only fix relative signs."""

from __future__ import annotations

import numpy as np

from planaris.models import IsingModel
from planaris.result import Marginals

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
    if not found.exact:
        return False
    violated = 0.0
    for values, agree in ((model.couplings, found.edges), (model.fields, found.nodes)):
        p = np.asarray(agree)
        strong = np.abs(values) > STRONG
        violated += float(np.where(values > 0, 1.0 - p, p)[strong].sum())
    return violated <= NEGLIGIBLE
