"""Marginals of what nothing exact fits: estimates between ends that hold."""

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
"""Of the time that is then left, for ends of marginals."""

MOST_ENDS = 0.85
"""Of the time, for ends that narrow with it and need it."""

FIRST_ENDS = 0.35
"""The part of the time after which that is decided: they do if they are"""

POOR_ENDS = 0.3
"""closer than this in the mean,"""

FINE_ENDS = 0.02
"""but not yet this close; nor were they"""

GOOD_ENDS = 0.05
"""this close after"""

SOON = 0.15
"""this part of the time."""

LATE = 0.3
"""Where less of the time is left after that, log Z has all of it."""


def enclosed_marginals(model: IsingModel, budget: Budget) -> Marginals:
    """Return estimates between ends, marked as such, with the interval for log Z.

    Ends that narrow with time come first. Where they are good soon, or say little after a while,
    the rest is shared with a tensor network. Else most of it is theirs, and the estimate is in
    their middle: couplings are strong, and tensor networks take long there.
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
    """Narrow ends until they are good or hopeless; return whether they took most of the time."""
    first, most, slow = budget.share(FIRST_ENDS), budget.share(MOST_ENDS), False
    soon = budget.share(SOON)

    def enough(mean: float) -> bool:
        nonlocal slow
        if mean <= (FINE_ENDS if soon.expired() else GOOD_ENDS):
            slow = slow or first.expired()  # within a long round
            return True
        if not slow and first.expired():
            slow = mean < POOR_ENDS
            return not slow
        return False

    search.run(first, lambda _: True)  # one round: of large models that is all
    if not first.expired():
        search.run(most, enough)
    return slow


def with_ends(found: Marginals, model: IsingModel, budget: Budget) -> Marginals:
    """Return an estimate with ends that hold."""
    ends = marginal_ends(model, time_limit=budget)
    return replace(ends.around(found), seconds=budget.seconds())
