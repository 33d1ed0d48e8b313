"""Recomputes log Z of planar models by another algorithm: the determinant of a sparse matrix.

The planar solver sums over cuts, face by face, with a compiled elimination of its own. Here Z is
the sum over even sets of edges (the high-temperature series), vertex by vertex, and SuperLU does
the elimination. With t = tanh J,

    Z = 2^n Π cosh J · Σ over even sets of edges of Π t,

and a sum over even sets is a Pfaffian (:mod:`planaris.verify.recompute.rotations`). Its square is
the determinant that is computed.

This is a recomputation, not a proof: the rounding of the elimination is estimated by solving for
random vectors that are known; where that is not enough, by three eliminations in other orders,
with all t moved by their rounding. Errors grow as frustrated models get colder (t loses what 1 - t
says); where they are too large nothing is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu
from threadpoolctl import threadpool_limits

from planaris.embed import Embedding, embed
from planaris.errors import NotPlanarError
from planaris.models import IsingModel
from planaris.typing import BoolArray, FloatArray
from planaris.verify.conversions import BareModel
from planaris.verify.embedding import check_plane
from planaris.verify.recompute.elimination import Recomputed
from planaris.verify.recompute.rotations import Rotations

MAX_EDGES = 400_000
"""Larger models are not recomputed: SuperLU takes ten seconds and a gigabyte there."""

ACCURACY = 1e-9
"""Largest error, relative to the edges and log Z, at which a determinant is still of use."""

PROBES = 3
SPREAD = 30.0
"""How many times what eliminations in other orders differ by is taken as their error."""

ORDERS: list[dict[str, Any]] = [
    # The diagonal is of ones: pivots stay there unless much smaller than their column.
    {
        "permc_spec": "MMD_AT_PLUS_A",
        "diag_pivot_thresh": 0.1,
        "options": {"SymmetricMode": True},
    },
    {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 1.0},
    {"permc_spec": "COLAMD", "diag_pivot_thresh": 1.0},
]
"""Ways to eliminate, for SuperLU."""

_UNIT = 2.0**-53
_STEP = 2.0**-100
"""Step of the derivative along the imaginary axis. Nothing is subtracted, so it may be tiny."""


def log_partition_by_determinant(model: IsingModel) -> Recomputed | None:
    """Return log Z of a planar model; None if it is not planar, too large or too cold.

    Examples
    --------
    >>> found = log_partition_by_determinant(IsingModel([(0, 1)], [0.0]))
    >>> round(found.value, 6)
    1.386294
    """
    bare = BareModel.of(model)
    plane = _plane(bare)
    if plane is None:
        return None
    size = np.abs(bare.couplings)
    accuracy = _accuracy(bare)
    found = _determinant(plane, bare.couplings, accuracy=accuracy)
    if found is None:
        return None
    cosh = size + np.log1p(np.exp(-2 * size)) - math.log(2.0)
    spins = model.num_spins * math.log(2.0)  # the bias spin is held
    terms = [spins, model.offset, found.log_det / 2]
    value = math.fsum([*terms, *cosh.tolist()])
    rounding = 16 * _UNIT * (math.fsum(map(abs, terms)) + float(size.sum()))
    return Recomputed(value, rounding + found.slack, estimated=True, way="a determinant")


def is_warm(bare: BareModel) -> bool:
    """Return whether rounding of t alone leaves a determinant accurate enough."""
    return _input_error(np.abs(bare.couplings)) <= _accuracy(bare)


def edge_sum_by_determinant(bare: BareModel, weights: FloatArray) -> Recomputed | None:
    """Return Σ weights <s_u s_v> over the edges: the derivative of log Z along the weights.

    None if the graph is not planar, or too large or too cold.

    Examples
    --------
    >>> pair = BareModel(2, np.array([[0, 1]]), np.array([0.5]))
    >>> found = edge_sum_by_determinant(pair, np.array([2.0]))
    >>> bool(abs(found.value - 2 * np.tanh(0.5)) < 1e-12)
    True
    """
    plane = _plane(bare)
    if plane is None:
        return None
    found = _determinant(plane, bare.couplings, weights, accuracy=1e-6 * _length(weights))
    if found is None:
        return None
    terms = [*(weights * np.tanh(bare.couplings)).tolist(), found.derivative / 2]
    slack = found.derivative_slack
    return Recomputed(math.fsum(terms), slack, estimated=True, way="a determinant")


def _plane(bare: BareModel) -> Rotations | None:
    if len(bare.edges) > MAX_EDGES:
        return None
    try:
        embedding: Embedding = embed((bare.num_vertices, bare.edges))
    except NotPlanarError:
        return None
    check_plane(embedding)  # the solver that found it is not trusted
    rotation = np.asarray(embedding.rotation, dtype=np.int64)
    return Rotations.of(rotation, np.asarray(embedding.offsets, dtype=np.int64))


# -- the matrix ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """log |det K|, its derivative along the weights, and the errors that are to be expected."""

    log_det: float
    slack: float
    derivative: float = 0.0
    derivative_slack: float = 0.0

    def within(self, accuracy: float, derivative: bool) -> bool:
        """Return whether the error of what was asked for is small enough."""
        return (self.derivative_slack if derivative else self.slack) <= accuracy


def _determinant(
    plane: Rotations, couplings: FloatArray, weights: FloatArray | None = None, *, accuracy: float
) -> _Found | None:
    """Compute log |det K|; None if it is singular or cannot be had to this accuracy."""
    if len(couplings) == 0:
        return _Found(0.0, 0.0)
    once = _eliminate(plane, couplings, weights, ORDERS[0], None)
    if once is None or once.within(accuracy, weights is not None):
        return once
    # What is known of the errors of all steps is not enough: see how far they really go.
    rng = np.random.default_rng(1)
    more = [_eliminate(plane, couplings, weights, order, rng) for order in ORDERS]
    runs = [once, *(found for found in more if found is not None)]
    if len(runs) <= len(ORDERS):
        return None
    spread = float(np.ptp([run.log_det for run in runs]))
    moved = float(np.ptp([run.derivative for run in runs]))
    found = _Found(once.log_det, SPREAD * spread, once.derivative, SPREAD * moved)
    return found if found.within(accuracy, weights is not None) else None


def _eliminate(
    plane: Rotations,
    couplings: FloatArray,
    weights: FloatArray | None,
    order: dict[str, Any],
    rng: np.random.Generator | None,
) -> _Found | None:
    """Factorise K, all t moved by their rounding if ``rng`` is given; None if it is singular."""
    size = np.minimum(np.abs(couplings), 300.0)
    count = len(couplings)  # edges behind them join the pieces of a vertex: t = 1
    tanh, slope = np.ones(len(plane.signs)), np.zeros(len(plane.signs))
    tanh[:count] = np.tanh(couplings)
    if rng is not None:
        tanh[:count] *= 1.0 + rng.choice([-2.0, 2.0], count) * _UNIT
    if weights is not None:
        slope[:count] = weights / np.cosh(size) ** 2
    matrix = _matrix(plane, tanh, None if weights is None else slope)
    try:
        with threadpool_limits(1):  # many small blocks: threads would only wait for each other
            factors = splu(matrix, **order)
    except (RuntimeError, MemoryError):  # exactly singular, or too large
        return None
    pivots = factors.U.diagonal()
    logs = np.log(np.abs(pivots.real))
    error, growth = _probe(matrix, factors)
    inputs = _input_error(size)
    inputs += 4 * _UNIT * float(np.abs(logs).sum())
    if not error < 0.1:
        return None
    # K = L U (1 + F): log det (1 + F) is at most the trace norm of F, to first order.
    slack = 4 * math.sqrt(len(logs)) * error + inputs
    if weights is None:
        return _Found(math.fsum(logs.tolist()), slack)
    derivative = math.fsum((pivots.imag / pivots.real).tolist()) / _STEP
    return _Found(math.fsum(logs.tolist()), slack, derivative, 4 * error * growth + inputs)


def _accuracy(bare: BareModel) -> float:
    return ACCURACY * (bare.num_vertices + len(bare.edges) + float(np.abs(bare.couplings).sum()))


def _input_error(size: FloatArray) -> float:
    """Return what rounding of t does: log Z moves by (<s s> - t) / (1 - t²) per unit of t."""
    return 4 * _UNIT * float((np.exp(2 * size) + 1).sum())


def _probe(matrix: Any, factors: Any) -> tuple[float, float]:
    """Estimate the norms of F, in K = L U (1 + F), and of (L U)⁻¹ dK, by random vectors."""
    rng = np.random.default_rng(0)
    error = growth = 0.0
    moved = matrix.imag / _STEP if matrix.dtype.kind == "c" else None
    for _ in range(PROBES):
        known = rng.choice([-1.0, 1.0], matrix.shape[0]).astype(matrix.dtype)
        error = max(error, _length(factors.solve(matrix @ known) - known))
        if moved is not None:
            growth = max(growth, _length(factors.solve(moved @ known).real))
    return error, growth


def _length(vector: Any) -> float:
    return float(np.linalg.norm(vector))


def _matrix(plane: Rotations, tanh: FloatArray, slope: FloatArray | None) -> Any:
    """Return K with its columns swapped within edges, so that joins make a diagonal of ones."""
    size = len(plane.rotation)
    root = np.sqrt(np.maximum(np.abs(tanh), 2.0**-20))
    kind: Any = np.float64 if slope is None else np.complex128
    weight = np.empty(size, dtype=kind)
    weight[0::2] = root
    weight[1::2] = (tanh if slope is None else tanh + 1j * _STEP * slope) / root
    degree = np.repeat(np.diff(plane.offsets), np.diff(plane.offsets))
    row = np.repeat(np.arange(size), degree)
    begin = np.repeat(plane.offsets[:-1], np.diff(plane.offsets))
    column = np.arange(len(row)) + np.repeat(begin - np.cumsum(degree) + degree, degree)
    two: BoolArray = row != column
    row, column = row[two], column[two]
    a, b = plane.rotation[row], plane.rotation[column]
    join = np.empty(size)
    join[0::2], join[1::2] = plane.signs, -plane.signs
    values = np.where(row < column, 1.0, -1.0) * weight[a] * weight[b] * join[a]
    legs = np.arange(size)
    entries = np.concatenate([np.ones(size, dtype=kind), values])
    places = (np.concatenate([legs, a]), np.concatenate([legs, b ^ 1]))
    return csc_array(coo_array((entries, places), shape=(size, size)))
