"""Marginals of models that no exact method fits: estimates between lower and upper bounds."""

from __future__ import annotations

from dataclasses import replace

from planaris.bounds.marginal_ends import EndsSearch, marginal_ends
from planaris.budget import Budget
from planaris.methods.bounds import estimate_marginals, interval
from planaris.methods.tensor_network import ENCLOSING_SHARE
from planaris.methods.tensor_network import estimate_marginals as tensor_marginals
from planaris.models import IsingModel
from planaris.result import Marginals

ENDS_SHARE = 0.4
"""Share of the time that is left after the estimate, for ends of marginals."""

MOST_ENDS = 0.85
"""Share of the time for ends that narrow slowly."""

FIRST_ENDS = 0.35
"""Share of the time after which ends count as slow, if their mean width is then between `FINE_ENDS`
and `POOR_ENDS`."""

POOR_ENDS = 0.3
"""Mean width above which ends say too little to go on with them."""

FINE_ENDS = 0.02
"""Mean width below which ends are narrow enough."""

GOOD_ENDS = 0.05
"""The same in the first part of the time, see `SOON`."""

SOON = 0.15
"""Share of the time in which `GOOD_ENDS` counts instead of `FINE_ENDS`."""

LATE = 0.3
"""If less than this share of the time is left after slow ends, log Z gets all of it."""


def enclosed_marginals(model: IsingModel, budget: Budget) -> Marginals:
    """Return estimates between ends, marked as such, with the interval for log Z.

    Ends that narrow with time are computed first. If they are narrow soon, or still wide after a
    while, the rest of the time is shared with a tensor network. Otherwise couplings are strong,
    and a tensor network would take long: the ends get most of the time, and the estimate is the
    middle of them.
    """
    search, whole = EndsSearch(model, prove=budget.prove), budget.remaining()
    guess = None
    slow = search.narrows and not budget.prove and _are_slow(search, budget)
    if not slow:
        guess = tensor_marginals(model, budget.share(1.0 - ENCLOSING_SHARE))
        if guess is not None and guess.exact:  # it was proved
            return guess
        slow = search.narrows and budget.prove and guess is None and _are_slow(search, budget)
    late = slow and budget.remaining() < LATE * whole
    found = estimate_marginals(model, interval, budget if late else budget.share(1.0 - ENDS_SHARE))
    if found.exact:
        return found
    search.run(budget)
    ends = search.ends()
    if slow:
        found = replace(found, nodes=ends.middles[0], edges=ends.middles[1])
    elif guess is not None:
        found = replace(guess, log_partition=found.log_partition)
    return replace(ends.around(found), seconds=budget.seconds())


def _are_slow(search: EndsSearch, budget: Budget) -> bool:
    """Narrow ends until they are narrow or hopeless; return whether they are slow."""
    first, most, slow = budget.share(FIRST_ENDS), budget.share(MOST_ENDS), False
    soon = budget.share(SOON)

    def enough(mean: float) -> bool:
        nonlocal slow
        if mean <= (FINE_ENDS if soon.expired() else GOOD_ENDS):
            slow = slow or first.expired()  # a long round ended late
            return True
        if not slow and first.expired():
            slow = mean < POOR_ENDS
            return not slow
        return False

    search.run(first, lambda _: True)  # one round, which may take longer on large models
    if not first.expired():
        search.run(most, enough)
    return slow


def with_ends(found: Marginals, model: IsingModel, budget: Budget) -> Marginals:
    """Return an estimate with ends that hold."""
    ends = marginal_ends(model, time_limit=budget)
    return replace(ends.around(found), seconds=budget.seconds())
