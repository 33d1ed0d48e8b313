"""Reduction of pairwise Markov random fields of two labels to Ising models."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from planaris.errors import PrecisionError
from planaris.models import (
    Inverse,
    IsingModel,
    MarkovRandomField,
    lift_ground_state,
    lift_log_partition,
    mrf2ising,
)
from planaris.result import AsIsing, GroundState, LogPartition, Marginals
from planaris.result.answers import MARGINAL_TOLERANCE
from planaris.typing import Array, Int8Array

Found = GroundState | LogPartition | Marginals

UNEVEN = 1e5
"""Log potentials this many times the median of a model make its couplings lose digits."""

LARGE = 1e7
"""Log weights larger than this lose some 1e-8 when they become couplings."""

SMALL = 2000
"""Models of up to so many variables may have a quick elimination instead."""


@dataclass(frozen=True, eq=False)
class IsingForm:
    """A pairwise Markov random field of two labels, without zeros, as an Ising model.

    Attributes
    ----------
    original : MarkovRandomField
        The model asked for.
    model : IsingModel
        The same in spins: label 0 is spin -1, label 1 is spin +1.

    Examples
    --------
    >>> import planaris as pl
    >>> mrf = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 4.0]])])
    >>> form = IsingForm.apply(mrf)
    >>> round(float(np.exp(form.lift(pl.log_partition(form.model)).value)), 9)
    10.0
    """

    original: MarkovRandomField
    model: IsingModel
    inverse: Inverse

    @staticmethod
    def accepts(mrf: MarkovRandomField) -> bool:
        """Return whether a Markov random field is equivalent to an Ising model."""
        return mrf.is_ising

    @staticmethod
    def blurs(mrf: MarkovRandomField) -> bool:
        """Return whether couplings would lose many digits of the log potentials.

        A coupling is the difference of sums of four logarithms: beside a penalty of 1e20 it keeps
        nothing of the others.
        """
        logs = np.abs(mrf.log_values[np.isfinite(mrf.log_values)])
        usual = float(np.median(logs[logs > 0])) if np.any(logs) else 0.0
        uneven = float(logs.max(initial=0.0)) > UNEVEN * max(usual, 1.0)
        return uneven or (mrf.num_variables <= SMALL and mrf.log_weight_size > LARGE)

    @classmethod
    def apply(cls, mrf: MarkovRandomField) -> IsingForm:
        """Return the Ising model; refuse with the reason where the MRF is none."""
        return cls(mrf, *mrf2ising(mrf))

    @overload
    def lift(self, found: GroundState) -> GroundState: ...
    @overload
    def lift(self, found: LogPartition) -> LogPartition: ...
    @overload
    def lift(self, found: Marginals) -> Marginals: ...
    def lift(self, found: Found) -> Found:
        """Return a result for the Markov random field, its proof carried along."""
        if isinstance(found, GroundState):
            return lift_ground_state(found, self.inverse, self.original)
        proof = None if found.certificate is None else AsIsing(found.certificate)
        if isinstance(found, LogPartition):
            return replace(lift_log_partition(found, self.inverse), certificate=proof)
        return replace(self._lift_marginals(found), certificate=proof)

    def lift_states(self, states: Int8Array) -> Array:
        """Return labels for samples of spins, one per row; refuse them where couplings lost digits.

        No probability is off by more than the factor by which the rounding of couplings changes
        weights.
        """
        if not math.expm1(min(2 * self.inverse.error, 1.0)) <= MARGINAL_TOLERANCE:
            msg = (
                "samples of this Markov random field would depend on rounding errors, because its "
                f"log potentials become couplings that are off by {self.inverse.error:.2g}; use "
                "`method='treewidth'` or scale the model down"
            )
            raise PrecisionError(msg)
        return np.asarray(self.inverse.lift_states(states)).astype(np.int32)

    def _lift_marginals(self, found: Marginals) -> Marginals:
        log_z = None if found.log_partition is None else self.lift(found.log_partition)
        lifted = replace(self.inverse.lift_marginals(found), log_partition=log_z)
        # Weights are off by the rounding of couplings, and tables are halves of sums of three.
        off = self.inverse.error
        rounding = math.expm1(2 * off) + 2.0**-50 if off < 0.5 else math.inf
        lifted = replace(lifted, error=1.5 * found.error + rounding)
        if found.nodes_lower is None or found.nodes_upper is None:
            return lifted
        ends: list[Any] = [
            self.inverse.lift_marginals(replace(found, nodes=end)).nodes
            for end in (found.nodes_lower, found.nodes_upper)
        ]
        pairs = list(zip(*ends, strict=True))  # the probability of label 0 has them swapped
        return replace(
            lifted,
            nodes_lower=[np.maximum(np.minimum(a, b) - rounding, 0.0) for a, b in pairs],
            nodes_upper=[np.minimum(np.maximum(a, b) + rounding, 1.0) for a, b in pairs],
            edges_lower=None,
            edges_upper=None,
        )
