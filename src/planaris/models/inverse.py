"""The way back from a converted model.

Every conversion ``a2b(model)`` returns ``(new, inverse)``. A state of the new model with
nonzero weight has the log weight of the state it lifts to (up to rounding); states that stand
for nothing have weight zero. ``inverse.lift_states`` maps states, ``inverse.lift_marginals`` a
:class:`~planaris.result.Marginals`, and log Z(old) = log Z(new) + ``inverse.log_partition_shift``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from planaris.result import LogPartition, Marginals
from planaris.typing import Array, ArrayLike


class Inverse(Protocol):
    """The way back from a converted model."""

    @property
    def log_partition_shift(self) -> float:
        """``log Z(old) = log Z(new) + shift``."""

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
    """Return the log partition function of the old model for that of the new one."""
    shift = inverse.log_partition_shift
    if shift == 0:
        return result
    # The sums round: one step outwards keeps the interval an enclosure.
    return replace(
        result,
        value=result.value + shift,
        lower=float(np.nextafter(result.lower + shift, -np.inf)),
        upper=float(np.nextafter(result.upper + shift, np.inf)),
    )
