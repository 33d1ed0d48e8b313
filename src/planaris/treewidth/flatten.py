"""Models as the flat arrays that elimination works on, and marginals back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.kernels.elimination import FactorArrays
from planaris.kernels.frontier import PairwiseArrays
from planaris.models import IsingModel, MarkovRandomField
from planaris.typing import BoolArray, FloatArray, LongArray

Model = IsingModel | MarkovRandomField

MAX_PAIRWISE_LOG = 1e14
"""Above this, exponents of table entries would no longer be whole doubles."""


_SPINS = np.array([-1.0, 1.0])
_ALIKE = np.array([1.0, -1.0, -1.0, 1.0])  # products of two spins


def num_variables(model: Model) -> int:
    """Return the number of spins or variables."""
    return model.num_spins if isinstance(model, IsingModel) else model.num_variables


def to_factor_arrays(model: Model) -> FactorArrays:
    """Return the model's factors; of an Ising model: its edges, then its fields.

    Label 1 is spin +1. The offset of an Ising model is left out.
    """
    if isinstance(model, MarkovRandomField):
        return FactorArrays(
            model.cardinalities,
            model.scopes,
            model.scope_offsets,
            model.log_values,
            model.table_offsets,
        )
    n, m = model.num_spins, model.num_edges
    return FactorArrays(
        np.full(n, 2, dtype=np.int32),
        np.concatenate([model.edges.ravel(), np.arange(n, dtype=np.int32)]),
        np.concatenate([np.arange(0, 2 * m, 2), np.arange(2 * m, 2 * m + n + 1)]),
        np.concatenate([_edge_logs(model), _field_logs(model)]),
        np.concatenate([np.arange(0, 4 * m, 4), np.arange(4 * m, 4 * m + 2 * n + 1, 2)]),
    )


def _edge_logs(model: IsingModel) -> FloatArray:
    return np.asarray(np.multiply.outer(model.couplings, _ALIKE).ravel())


def _field_logs(model: IsingModel) -> FloatArray:
    return np.asarray(np.multiply.outer(model.fields, _SPINS).ravel())


@dataclass(frozen=True, eq=False)
class PairwiseForm:
    """A binary pairwise model as arrays, and where each factor went.

    ``constants`` are the factors without variables; log weights of the arrays are those of the
    other factors up to ``error``, the rounding of sums of parallel factors.
    ``of_factor[f]`` is the edge (arity two) or the variable (arity one) of factor ``f``;
    ``flipped`` says that the edge runs against the factor's scope.
    """

    arrays: PairwiseArrays
    constants: tuple[float, ...]
    error: float
    arity: LongArray
    of_factor: LongArray
    flipped: BoolArray


def to_pairwise_form(model: Model) -> PairwiseForm | None:
    """Return the model as a binary pairwise one, or None when it is not."""
    if isinstance(model, IsingModel):
        arrays = PairwiseArrays(model.edges, _edge_logs(model), _field_logs(model))
        none = np.zeros(0, dtype=np.int64)
        form = PairwiseForm(arrays, (), 0.0, none, none, none.astype(bool))
    elif np.all(model.cardinalities == 2) and np.all(np.diff(model.scope_offsets) <= 2):
        form = _merge_factors(model)
    else:
        return None
    for logs in form.arrays[1:]:
        finite = logs[np.isfinite(logs)]
        if np.abs(finite).sum() > MAX_PAIRWISE_LOG:
            return None
    return form


def _merge_factors(mrf: MarkovRandomField) -> PairwiseForm:
    view, arity = mrf.pairwise_view(), np.diff(mrf.scope_offsets)
    ones, twos = np.flatnonzero(arity == 1), np.flatnonzero(arity == 2)
    of_factor = np.maximum(view.factor_node, view.factor_edge).astype(np.int64)
    constants = tuple(mrf.log_values[mrf.table_offsets[:-1][arity == 0]].tolist())
    error = _merging_error(mrf, ones, of_factor) + _merging_error(mrf, twos, of_factor)
    arrays = PairwiseArrays(view.edges, view.edge_logs, view.node_logs)
    return PairwiseForm(arrays, constants, error, arity, of_factor, view.factor_swapped)


def _merging_error(mrf: MarkovRandomField, factors: LongArray, of_factor: LongArray) -> float:
    """Bound what sums of factors with the same variables lose in any log weight."""
    if not len(factors):
        return 0.0
    parallel = np.bincount(of_factor[factors])
    if parallel.max() == 1:
        return 0.0
    finite = np.where(np.isfinite(mrf.log_values), np.abs(mrf.log_values), 0.0)
    sizes = np.maximum.reduceat(finite, mrf.table_offsets[:-1])[factors]
    several = parallel[of_factor[factors]]
    return float(np.finfo(np.float64).eps * (sizes * (several - 1)).sum())


def factor_marginals(form: PairwiseForm, singles: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return the marginal tables of all factors of a Markov random field, flat."""
    nodes, edges = singles.reshape(-1, 2), pairs.reshape(-1, 2, 2)
    sizes = np.left_shift(1, form.arity)
    begin = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.ones(begin[-1])
    ones, twos = np.flatnonzero(form.arity == 1), np.flatnonzero(form.arity == 2)
    flat[begin[ones][:, None] + np.arange(2)] = nodes[form.of_factor[ones]]
    tables = edges[form.of_factor[twos]]
    turned = form.flipped[twos][:, None, None]
    tables = np.where(turned, tables.transpose(0, 2, 1), tables)
    flat[begin[twos][:, None] + np.arange(4)] = tables.reshape(-1, 4)
    return flat
