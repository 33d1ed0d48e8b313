"""Evidence: a model with some variables fixed, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from planaris.errors import ModelError
from planaris.models.convert import Inverse, with_tables
from planaris.models.mrf import MarkovRandomField
from planaris.models.tables import as_labels, gather_index
from planaris.result import Marginals
from planaris.result.answers import Tables
from planaris.typing import ArrayLike, FloatArray, LongArray


@dataclass(frozen=True, eq=False)
class Conditioning(Inverse):
    """The way back from a conditioned model.

    Attributes
    ----------
    original : MarkovRandomField
        The model before.
    fixed : numpy.ndarray
        Label of every variable that was fixed, -1 for the others.
    kept : numpy.ndarray
        Original numbers of the variables of the new model.
    """

    original: MarkovRandomField
    fixed: LongArray
    kept: LongArray

    def lift_states(self, states: ArrayLike) -> LongArray:
        """Return states of the original model, evidence included."""
        cards = self.original.cardinalities[self.kept]
        x = as_labels(states, np.where(self.fixed[self.kept] < 0, cards, 1).astype(np.int32))
        full = np.broadcast_to(self.fixed, (*x.shape[:-1], len(self.fixed))).copy()
        free = self.fixed[self.kept] < 0
        full[..., self.kept[free]] = x[..., free]
        return full

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return marginals given the evidence, for all variables and factors of the original."""
        found = with_tables(
            marginals, self, self._nodes(marginals.nodes), self._factors(marginals.edges)
        )
        lower, upper = marginals.nodes_lower, marginals.nodes_upper
        if lower is not None and upper is not None:
            found = replace(found, nodes_lower=self._nodes(lower), nodes_upper=self._nodes(upper))
        lower, upper = marginals.edges_lower, marginals.edges_upper
        if lower is not None and upper is not None:
            ends = self._factors(lower), self._factors(upper)
            found = replace(found, edges_lower=ends[0], edges_upper=ends[1])
        return found

    def _nodes(self, tables: Tables) -> list[FloatArray]:
        """Return a table for every variable; labels that the evidence excludes have zero."""
        nodes = [np.zeros(k) for k in self.original.cardinalities.tolist()]
        for new, old in enumerate(self.kept.tolist()):
            if self.fixed[old] < 0:
                nodes[old] = np.array(tables[new], dtype=np.float64)
        for v in np.flatnonzero(self.fixed >= 0).tolist():
            nodes[v][self.fixed[v]] = 1.0
        return nodes

    def _factors(self, tables: Tables) -> list[FloatArray]:
        """Return a table for every factor, zero where it contradicts the evidence."""
        mrf = self.original
        factors: list[FloatArray] = []
        for k in range(mrf.num_factors):
            full = np.zeros(mrf.table_shape(k))
            at = tuple(
                slice(None) if label < 0 else label for label in self.fixed[mrf.scope(k)].tolist()
            )
            full[at] = np.reshape(cast(FloatArray, tables[k]), full[at].shape)
            factors.append(full)
        return factors


def condition(
    mrf: MarkovRandomField, evidence: Mapping[int, int], *, keep_numbering: bool = False
) -> tuple[MarkovRandomField, Conditioning]:
    """Fix variables to labels.

    Factors keep their order and number; a factor whose variables are all fixed becomes a
    constant, so log weights and log Z are those of the original with the evidence entered.

    Parameters
    ----------
    mrf : MarkovRandomField
        The model.
    evidence : mapping of int to int
        Label of every observed variable.
    keep_numbering : bool
        Keep the observed variables as variables with a single label, so that all numbers
        stay; else they are dropped.

    Returns
    -------
    MarkovRandomField
        The smaller model.
    Conditioning
        Lifts its states and marginals to the original model.
    """
    fixed = np.full(mrf.num_variables, -1, dtype=np.int64)
    given = cast(Any, evidence)
    if not isinstance(given, Mapping):
        msg = f"`evidence` must be a dict of labels by variable, got {type(given).__name__}"
        raise ModelError(msg)
    for v, label in given.items():
        whole = isinstance(v, int | np.integer) and not isinstance(v, bool)
        if not (whole and 0 <= v < mrf.num_variables):
            msg = f"`evidence` must name variables 0 to {mrf.num_variables - 1}, got {v!r}"
            raise ModelError(msg, variable=v)
        if not (isinstance(label, int | np.integer) and 0 <= label < mrf.cardinalities[v]):
            msg = (
                f"`evidence` must give variable {v} a label from 0 to {mrf.cardinalities[v] - 1}, "
                f"got {label!r}"
            )
            raise ModelError(msg, variable=v)
        fixed[v] = label
    is_fixed = fixed >= 0
    strides, arity = mrf.strides(), np.diff(mrf.scope_offsets)
    owner = np.repeat(np.arange(mrf.num_factors), arity)
    observed = is_fixed[mrf.scopes]
    base = mrf.table_offsets[:-1].copy()
    np.add.at(base, owner[observed], (fixed[mrf.scopes] * strides)[observed])

    cards = np.where(is_fixed, 1, mrf.cardinalities)
    kept = np.arange(mrf.num_variables) if keep_numbering else np.flatnonzero(~is_fixed)
    stay = np.ones(len(observed), dtype=bool) if keep_numbering else ~observed
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(owner[stay], minlength=mrf.num_factors))]
    ).astype(np.int64)
    index, table_offsets = gather_index(cards[mrf.scopes[stay]], strides[stay], offsets, base)
    new_number = np.full(mrf.num_variables, -1)
    new_number[kept] = np.arange(len(kept))
    linear = mrf.linear_values
    smaller = MarkovRandomField.from_arrays(
        cards[kept],
        new_number[mrf.scopes[stay]],
        offsets,
        (mrf.log_values if linear is None else linear)[index],
        table_offsets,
        log=linear is None,
        labels=[mrf.labels[v] for v in kept.tolist()],
    )
    return smaller, Conditioning(mrf, fixed, kept)
