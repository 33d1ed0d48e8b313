"""Entropy bounds on log Z of Markov random fields with any number of labels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planaris.bounds.entropy.label_gaussian import label_logdet
from planaris.bounds.entropy.label_trees import LabelTreeProgram
from planaris.bounds.entropy.projections import PROJECTIONS
from planaris.bounds.labels.trees import label_trw, without_trees
from planaris.errors import MethodError, require_one_of
from planaris.models import MarkovRandomField
from planaris.result import LogPartition

if TYPE_CHECKING:
    from planaris.bounds.entropy.appearance import Trees
    from planaris.budget import Budget
    from planaris.typing import FloatArray


def label_entropy_bound(
    mrf: MarkovRandomField,
    *,
    entropy: str,
    polytope: str,
    projection: str,
    rho: FloatArray | Trees | str,
    tolerance: float,
    max_rounds: int,
    budget: Budget,
) -> LogPartition:
    """Bound log Z of a pairwise model; see :func:`planaris.bounds.entropy_bound`."""
    if polytope not in ("local", "cycle"):
        msg = f"with labels, `polytope` must be 'local' or 'cycle', got {polytope!r}"
        raise MethodError(msg, polytope=polytope)
    require_one_of("projection", projection, PROJECTIONS)
    try:
        with budget.for_structure():
            view = mrf.pairwise_view()
    except TimeoutError:
        return without_trees(mrf, budget)
    if not mrf.num_variables or view.constant == -math.inf:
        return label_trw(mrf)
    used = projection if polytope == "cycle" else None
    options = {"tolerance": tolerance, "max_rounds": max_rounds, "budget": budget}
    if entropy == "log-det":
        with np.errstate(all="ignore"):
            return label_logdet(mrf, used, **options)  # type: ignore[arg-type]
    try:
        program = LabelTreeProgram(mrf, tolerance=tolerance, budget=budget)
        program.set_rho(rho)
    except TimeoutError:
        return without_trees(mrf, budget)
    with np.errstate(all="ignore"):
        grow = isinstance(rho, str) and rho == "optimal"
        status = program.run(used, max_rounds=max_rounds, grow=grow)
    return program.result(status, polytope=polytope, projection=used)


def label_trw_over_cycles(mrf: MarkovRandomField, budget: Budget) -> LogPartition:
    """Bound log Z by the best trees found, over the cycles of each label against the rest."""
    found = label_entropy_bound(
        mrf,
        entropy="trw",
        polytope="cycle",
        projection="k",
        rho="optimal",
        tolerance=1e-4,
        max_rounds=50,
        budget=budget,
    )
    return replace(found, method="trw+cycle")
