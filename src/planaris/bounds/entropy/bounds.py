"""Entropies over relaxed marginal polytopes: log-determinants, and trees over cycles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planaris.bounds.best_interval import BestInterval
from planaris.bounds.decomposition.trees import trw
from planaris.bounds.entropy.labelled import label_trw_over_cycles
from planaris.budget import Budget, TimeLimit
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import LogPartition
from planaris.typing import FloatArray, LongArray

if TYPE_CHECKING:
    from planaris.bounds.entropy.appearance import Trees


def logdet(
    model: IsingModel | MarkovRandomField, *, polytope: str = "cycle", time_limit: TimeLimit = None
) -> LogPartition:
    """Bound log Z from above by the entropy of a Gaussian over a relaxed marginal polytope.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Up to 60 spins: the moment matrix of all pairs is needed. Labels of a pairwise Markov
        random field are integers; up to 2,000 free parameters of the tables of all pairs.
    polytope : {"local", "psd", "cycle", "marginal"}
        See :func:`planaris.relax.entropy_bound`.
    time_limit : float, optional
        Seconds; the bound found by then is returned.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bool(2.797846 <= logdet(triangle).upper < 4.0)
    True
    """
    from planaris.relax import entropy_bound

    found = entropy_bound(model, entropy="log-det", polytope=polytope, time_limit=time_limit)
    return replace(found, method="logdet")


def trw_over_cycles(
    model: IsingModel | MarkovRandomField, *, time_limit: TimeLimit = None
) -> LogPartition:
    """Bound log Z from above by the entropy of the best trees over the cycle polytope (SJ07).

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model of spins; Newton steps over spins and edges limit it to some thousands of
        them. Or any pairwise model with labels, over the cycles of each label against the rest.
    time_limit : float, optional
        Seconds; the bound found by then is returned.

    Returns
    -------
    LogPartition
        As of :func:`planaris.relax.entropy_bound`, with edge appearance probabilities from
        :func:`planaris.bounds.trw`; never looser than that bound.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bool(2.797846 <= trw_over_cycles(triangle).upper < 3.0)
    True
    """
    from planaris.relax import entropy_bound

    budget = Budget.of(time_limit)
    if not isinstance(model, IsingModel):
        return label_trw_over_cycles(model, budget)
    trees = trw(model, time_limit=budget.share(0.2))
    if trees.exact or trees.mixture is None:
        return trees
    rho = shares_of(model, *trees.mixture)
    n = model.num_spins
    if rho == "uniform" and (24.0 * n * n > budget.bytes() or 1e-10 * n**3 > budget.remaining()):
        return replace(trees, method="trw+cycle")  # the uniform tree takes an inverse of n × n
    found = entropy_bound(model, rho=rho, time_limit=budget)
    clock = BestInterval(budget)
    for one in (trees, found):
        clock.take(one.method, one)
    return replace(
        found,
        value=clock.upper,
        lower=min(clock.lower, clock.upper),
        upper=clock.upper,
        method="trw+cycle",
        certificate=clock.proof,
    )


def shares_of(model: IsingModel, weights: FloatArray, trees: list[LongArray]) -> Trees | str:
    """Return weighted trees of a model with fields as an entropy takes them.

    Without fields the trees leave out one spin, whose edges all of them hold: then the uniform
    spanning tree stands in.
    """
    if not model.has_fields:
        return "uniform"
    return weights, [tree[tree < model.num_edges] for tree in trees]
