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

FIRST_ENDS = 0.35
"""Of the time, for ends of marginals that narrow with it, before anything else; and"""

MORE_ENDS = 0.77
"""of the rest, where they are then on their way,"""

POOR_ENDS = 0.3
"""closer than this in the mean, but not yet"""

GOOD_ENDS = 0.05
"""this close, where they may rest."""


def enclosed_marginals(model: IsingModel, budget: Budget) -> Marginals:
    """Return estimates between ends, marked as such, with the interval for log Z.

    Ends that narrow with time come first. Where they are good after a while, or say little, the
    rest is shared with a tensor network. Else most of it is theirs, and the estimate is in their
    middle: couplings are strong, and tensor networks take long there.
    """
    search = EndsSearch(model, prove=budget.prove)
    guess = None
    slow = search.narrows and not budget.prove and _are_slow(search, budget)
    if not slow:
        guess = tensor_marginals(model, budget.share(1.0 - ENCLOSING_SHARE))
        if guess is not None and guess.exact:  # it was proved
            return guess
        slow = search.narrows and budget.prove and guess is None and _are_slow(search, budget)
    if slow:
        search.run(budget.share(MORE_ENDS))
    found = estimate_marginals(model, interval, budget if slow else budget.share(1.0 - ENDS_SHARE))
    if found.exact:
        return found
    if not slow:
        search.run(budget)
    ends = search.ends()
    if slow:
        found = replace(found, nodes=ends.middles[0], edges=ends.middles[1])
    elif guess is not None:
        found = replace(guess, log_partition=found.log_partition)
    return replace(ends.around(found), seconds=budget.seconds())


def _are_slow(search: EndsSearch, budget: Budget) -> bool:
    """Begin to narrow ends; return whether they say much by then, and need more time."""
    search.run(budget.share(FIRST_ENDS), GOOD_ENDS)
    return GOOD_ENDS < search.mean_width < POOR_ENDS


def with_ends(found: Marginals, model: IsingModel, budget: Budget) -> Marginals:
    """Return an estimate with ends that hold."""
    ends = marginal_ends(model, time_limit=budget)
    return replace(ends.around(found), seconds=budget.seconds())
