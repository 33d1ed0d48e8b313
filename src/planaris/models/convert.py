"""Ising models as Markov random fields and back, and the lifts of results.

Every conversion ``a2b(model)`` returns ``(new, inverse)``. A state of the new model with
nonzero weight has the log weight of the state it lifts to (up to rounding); states that lift
to none have weight zero. ``inverse.lift_states`` maps states, ``inverse.lift_marginals`` a
:class:`~planaris.result.Marginals`, and log Z(old) = log Z(new) + ``inverse.log_partition_shift``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from planaris.errors import MethodError, ModelError, PrecisionError
from planaris.models.arrays import as_array
from planaris.models.ising import IsingModel
from planaris.models.mrf import MarkovRandomField, require_mrf
from planaris.models.tables import PairwiseView, as_labels
from planaris.result import AsIsing, GroundState, LogPartition, Marginals, Pseudomarginals
from planaris.result.answers import MARGINAL_TOLERANCE, Tables
from planaris.typing import Array, ArrayLike, Int8Array, LongArray

UNEVEN = 1e5
"""Log potentials this many times the median of a model make its couplings lose digits."""

LARGE = 1e7
"""Log weights larger than this lose some 1e-8 when they become couplings."""

SMALL = 2000
"""Models of up to so many variables may have a quick elimination instead."""


class Inverse(ABC):
    """The way back from a converted model."""

    @property
    def log_partition_shift(self) -> float:
        """``log Z(old) = log Z(new) + shift``."""
        return 0.0

    @property
    def error(self) -> float:
        """By how much log weights of the old and of the new model may differ, from rounding."""
        return 0.0

    @abstractmethod
    def lift_states(self, states: ArrayLike) -> Array:
        """Return the states of the old model for states of the new one."""

    @abstractmethod
    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return the marginals of the old model for those of the new one."""


@dataclass(frozen=True, eq=False)
class Chain(Inverse):
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
        excess=None if result.excess is None else result.excess + shift,
        certificate=None,
    )


def with_tables(found: Marginals, inverse: Inverse, nodes: Tables, edges: Tables) -> Marginals:
    """Return the marginals of the old model, whose tables are given, for those of the new one.

    log Z is lifted; the ends and the certificate are about the new model, and are left out.
    """
    log_z = found.log_partition
    return replace(
        found,
        nodes=nodes,
        edges=edges,
        nodes_lower=None,
        nodes_upper=None,
        edges_lower=None,
        edges_upper=None,
        log_partition=None if log_z is None else lift_log_partition(log_z, inverse),
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
    if isinstance(original, MarkovRandomField):
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


# -- binary pairwise MRF ↔ Ising ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FromIsing(Inverse):
    """Lifts an Ising model's states and marginals to the MRF it was made from."""

    original: MarkovRandomField
    view: PairwiseView

    @property
    def error(self) -> float:
        """By how much log weights may differ: couplings are sums of logarithms, which round."""
        mrf = self.original
        degree = int(np.bincount(mrf.scopes, minlength=1).max(initial=1))
        alone = np.repeat(np.diff(mrf.scope_offsets) == 0, np.diff(mrf.table_offsets))
        size = float(np.abs(mrf.log_values[~alone]).sum())
        return 2.0**-53 * ((degree + 40) * size + 4 * abs(self.view.constant))

    def lift_states(self, states: ArrayLike) -> LongArray:
        """Return labels: 0 for spin -1, 1 for spin +1."""
        return (as_spins(states, self.original.num_variables) > 0).astype(np.int64)

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return one table per variable and per factor."""
        up, equal = np.asarray(marginals.nodes), np.asarray(marginals.edges)
        u, v = self.view.edges[:, 0], self.view.edges[:, 1]
        both = (equal + up[u] + up[v] - 1) / 2  # P(s_u = s_v = +1)
        # Estimates need not fit together: tables are those of spins, as near as can be.
        fitting = np.clip(both, np.maximum(up[u] + up[v] - 1, 0.0), np.minimum(up[u], up[v]))
        neither = np.where(fitting == both, equal - both, fitting - (up[u] + up[v] - 1))
        joint = np.stack([neither, up[v] - fitting, up[u] - fitting, fitting], axis=1)
        joint = np.clip(joint, 0.0, 1.0).reshape(-1, 2, 2)
        nodes = list(np.stack([1 - up, up], axis=1))
        return with_tables(marginals, self, nodes, self.view.factor_tables(nodes, list(joint)))


def mrf2ising(mrf: MarkovRandomField) -> tuple[IsingModel, Inverse]:
    """Turn a binary pairwise model into an Ising model; label 0 is spin -1, 1 is +1.

    Variables with a single label are dropped. An Ising model has no weight zero, so a
    potential that is zero is refused: such models go to exact elimination instead, or
    variables that zeros fix are entered as evidence first (:meth:`MarkovRandomField.condition`).

    Examples
    --------
    >>> mrf = MarkovRandomField([2, 2], [((0, 1), [[4, 1], [1, 4]])])
    >>> ising, inverse = mrf2ising(mrf)
    >>> ising.couplings.round(3).tolist(), inverse.lift_states([-1, 1]).tolist()
    ([0.693], [0, 1])
    """
    require_mrf(mrf)
    if not mrf.is_binary:
        at = int(np.argmax(mrf.cardinalities))
        msg = (
            f"an Ising model needs variables of two labels, but variable {at} has "
            f"{mrf.cardinalities[at]}; `kary2binary` gives a binary model"
        )
        raise MethodError(msg, variable=at)
    zeros = np.flatnonzero(mrf.log_values == -np.inf)
    if zeros.size:
        at = int(np.searchsorted(mrf.table_offsets, zeros[0], side="right")) - 1
        msg = (
            f"an Ising model has no zero potentials, but factor {at} over variables "
            f"{mrf.scope(at).tolist()} has one; use exact elimination, or enter the variables "
            "that zeros fix as evidence with `condition`"
        )
        raise MethodError(msg, factor=at)
    single = np.flatnonzero(mrf.cardinalities == 1)
    if single.size:
        smaller, first = mrf.condition(dict.fromkeys(single.tolist(), 0))
        ising, second = mrf2ising(smaller)
        return ising, Chain((first, second))
    view = mrf.pairwise_view()
    nodes, tables = view.node_logs.reshape(-1, 2), view.edge_logs.reshape(-1, 2, 2)
    same = IsingModel.from_binary_energy(-nodes, view.edges, -tables, labels=mrf.labels)
    ising = IsingModel(
        same.edges,
        same.couplings,
        same.fields,
        offset=same.offset + view.constant,
        labels=mrf.labels,
    )
    return ising, FromIsing(mrf, view)


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
    def lift(
        self, found: GroundState | LogPartition | Marginals
    ) -> GroundState | LogPartition | Marginals:
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
        ends = [
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


@dataclass(frozen=True, eq=False)
class ToIsing(Inverse):
    """Lifts states and marginals of :meth:`MarkovRandomField.from_ising` to the Ising model."""

    original: IsingModel

    def lift_states(self, states: ArrayLike) -> Int8Array:
        """Return spins: -1 for label 0, +1 for label 1."""
        cards = np.full(self.original.num_spins, 2, dtype=np.int32)
        return (2 * as_labels(states, cards) - 1).astype(np.int8)

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return P(s_v = +1) and P(s_u = s_v)."""
        n, m = self.original.num_spins, self.original.num_edges
        nodes = np.reshape(np.asarray(list(marginals.nodes), dtype=np.float64), (n, 2))
        tables = np.reshape(np.asarray(list(marginals.edges[n : n + m])), (m, 4))
        return with_tables(marginals, self, nodes[:, 1], tables[:, 0] + tables[:, 3])


def ising2mrf(model: IsingModel) -> tuple[MarkovRandomField, ToIsing]:
    """Turn an Ising model into a binary pairwise model; spin -1 is label 0, +1 is 1.

    >>> mrf, inverse = ising2mrf(IsingModel([(0, 1)], [1.0]))
    >>> mrf.log_table(2).tolist(), inverse.lift_states([0, 1]).tolist()
    ([[1.0, -1.0], [-1.0, 1.0]], [-1, 1])
    """
    return MarkovRandomField.from_ising(model), ToIsing(model)


def as_spins(states: ArrayLike, num_spins: int) -> Int8Array:
    """Return states of so many spins, checked."""
    s = as_array("states", states)
    if s.shape[-1:] != (num_spins,) or s.dtype.kind not in "iuf" or np.any((s != 1) & (s != -1)):
        msg = f"`states` must hold {num_spins} spins, -1 or +1, in the last dimension"
        raise ModelError(msg)
    return np.asarray(s, dtype=np.int8)
