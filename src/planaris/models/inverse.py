"""The way back from a converted model.

Every conversion ``a2b(model)`` returns ``(new, inverse)``. A state of the new model with
nonzero weight has the log weight of the state it lifts to (up to rounding); states that stand
for nothing have weight zero. ``inverse.lift_states`` maps states, ``inverse.lift_marginals`` a
:class:`~planaris.result.Marginals`, and log Z(old) = log Z(new) + ``inverse.log_partition_shift``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from planaris.result import AsIsing, GroundState, LogPartition, Marginals, Pseudomarginals
from planaris.typing import Array, ArrayLike

if TYPE_CHECKING:
    from planaris.models.ising import IsingModel
    from planaris.models.mrf import MarkovRandomField


class Inverse(Protocol):
    """The way back from a converted model."""

    @property
    def log_partition_shift(self) -> float:
        """``log Z(old) = log Z(new) + shift``."""

    @property
    def error(self) -> float:
        """By how much log weights of the old and of the new model may differ, from rounding."""

    def lift_states(self, states: ArrayLike) -> Array:
        """Return the states of the old model for states of the new one."""

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return the marginals of the old model for those of the new one."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Several conversions after one another: ``inverses`` in the order they were applied."""

    inverses: tuple[Inverse, ...]

    @property
    def log_partition_shift(self) -> float:
        """``log Z(old) = log Z(new) + shift``."""
        return sum(inverse.log_partition_shift for inverse in self.inverses)

    @property
    def error(self) -> float:
        """By how much log weights of the first and of the last model may differ."""
        return sum(inverse.error for inverse in self.inverses)

    def lift_states(self, states: ArrayLike) -> Array:
        """Return the states of the first model for states of the last one."""
        for inverse in reversed(self.inverses):
            states = inverse.lift_states(states)
        return np.asarray(states)

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return the marginals of the first model for those of the last one."""
        for inverse in reversed(self.inverses):
            marginals = inverse.lift_marginals(marginals)
        return marginals


def lift_log_partition(result: LogPartition, inverse: Inverse) -> LogPartition:
    """Return the log partition function of the old model for that of the new one.

    A certificate is about the new model, and is left out.

    >>> import planaris as pl
    >>> from planaris.models import mrf2ising
    >>> mrf = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 4.0]])])
    >>> ising, inverse = mrf2ising(mrf)
    >>> round(float(np.exp(lift_log_partition(pl.log_partition(ising), inverse).value)), 9)
    10.0
    """
    shift, error = inverse.log_partition_shift, inverse.error
    if shift == 0 and error == 0:
        return replace(result, certificate=None)
    # The sums round, and so do shifts by log 2: steps outwards keep the interval an enclosure.
    error += abs(shift) * float(np.finfo(np.float64).eps)
    return replace(
        result,
        value=result.value + shift,
        lower=math.nextafter(math.fsum([result.lower, shift, -error]), -math.inf),
        upper=math.nextafter(math.fsum([result.upper, shift, error]), math.inf),
        certificate=None,
    )


def lift_ground_state(
    result: GroundState, inverse: Inverse, original: IsingModel | MarkovRandomField
) -> GroundState:
    """Return the ground state of the old model for that of the new one.

    The energy is recomputed from ``original``; ``lower`` leaves room for the rounding of the
    conversion.

    >>> import planaris as pl
    >>> from planaris.models import mrf2ising
    >>> mrf = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [5.0, 4.0]])])
    >>> ising, inverse = mrf2ising(mrf)
    >>> lift_ground_state(pl.ground_state(ising), inverse, mrf).assignment.tolist()
    [1, 0]
    """
    certificate, guess = None, None
    state = inverse.lift_states(result.spins if len(result.spins) else result.assignment)
    if hasattr(original, "log_values"):
        certificate = None if result.certificate is None else AsIsing(result.certificate)
        guess = _lift_pseudomarginals(result, inverse)
    lower = result.lower
    if inverse.error:  # the numbers of the new model are sums, which round
        lower = math.fsum([math.nextafter(lower, -math.inf), -inverse.error])
    if not result.exact or 2 * inverse.error > original.energy_tolerance:
        # A gap that counts stays open, even where one step of the energies is wider.
        lower = min(lower, math.nextafter(float(original.energy(state)), -math.inf))
    return result.restated(
        original,
        state,
        lower,
        pseudomarginals=guess,
        certificate=certificate,
        certain=None,
    )


def _lift_pseudomarginals(result: GroundState, inverse: Inverse) -> Pseudomarginals | None:
    """Return a table per variable for the optimum of a relaxation in spins."""
    guess = result.pseudomarginals
    if guess is None or guess.edges is None:
        return None
    lifted = inverse.lift_marginals(
        Marginals(nodes=guess.nodes, edges=guess.edges, method=result.method)
    )
    return Pseudomarginals(lifted.nodes, None, guess.integrality)
