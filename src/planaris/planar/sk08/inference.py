"""log Z and marginals from the half-Kasteleyn matrix by dense factorisation (section 4).

As published, hence for moderate couplings only: entries grow as exp(2 J), and at low temperature
the factorisation loses all digits. The estimated error is part of the answer.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.embed import Embedding
from planaris.models import IsingModel
from planaris.models.base import exact_sum
from planaris.planar.sk08.half_kasteleyn import HalfKasteleyn, half_kasteleyn
from planaris.planar.sk08.matching import check_plane_model
from planaris.result import LogPartition, Marginals
from planaris.typing import FloatArray

_LARGEST_COST = 300.0
"""exp() of twice this still fits into a double."""


def log_partition(
    model: IsingModel, embedding: Embedding, *, half: HalfKasteleyn | None = None
) -> LogPartition:
    """Compute ln Z = ½ ln |K| - Σ E_k of a plane zero-field model.

    Parameters
    ----------
    model : IsingModel
        Without fields.
    embedding : Embedding
        Of genus zero, with the edges of the model in their order.
    half : HalfKasteleyn, optional
        To use it again for other couplings. Default: built and prefactored here.

    Returns
    -------
    LogPartition
        ``exact`` is False, and the interval infinite, where the condition of K leaves no digit.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2), (2, 0)], [1.0, 1.0, -1.0])
    >>> triangle = Embedding.from_rotation(model.edges, [0, 5, 2, 1, 4, 3], num_vertices=3)
    >>> round(log_partition(model, triangle).value, 6)
    2.797846
    """
    value, error, _ = _solve(model, embedding, half, with_inverse=False)
    usable = error < 0.1
    return LogPartition.between(
        value - error if usable else -math.inf,
        value + error if usable else math.inf,
        value=value,
        num_variables=model.num_spins,
        method="sk08",
        proved=False,
        stats={"error": error},
    )


def marginals(
    model: IsingModel, embedding: Embedding, *, half: HalfKasteleyn | None = None
) -> Marginals:
    """Compute P(s_u = s_v) of all edges from the inverse of K (eq. 12); see `log_partition`.

    Examples
    --------
    >>> model = IsingModel([(0, 1)], [0.0])
    >>> edge = Embedding.from_rotation(model.edges, [0, 1], num_vertices=2)
    >>> marginals(model, edge).edges.round(12).tolist()
    [0.5]
    """
    _, error, agree = _solve(model, embedding, half, with_inverse=True)
    nodes = np.full(model.num_spins, 0.5)
    return Marginals(nodes=nodes, edges=agree, error=error, proved=False, method="sk08")


def _solve(
    model: IsingModel, embedding: Embedding, half: HalfKasteleyn | None, *, with_inverse: bool
) -> tuple[float, float, FloatArray]:
    check_plane_model(model, embedding)
    if half is None:
        half = half_kasteleyn(embedding).prefactor()
    costs = 2 * model.couplings
    count = embedding.num_components
    base = count * math.log(2) - exact_sum(model.couplings) + model.offset
    agree = np.zeros(model.num_edges)
    if not half.num_rows:
        return base, 4 * np.finfo(float).eps * abs(base), agree
    if np.abs(costs).max() > _LARGEST_COST:
        return math.nan, math.inf, agree
    matrix = half.kasteleyn_matrix(costs)
    _, log_determinant = np.linalg.slogdet(matrix)
    if not np.isfinite(log_determinant):
        return math.nan, math.inf, agree
    inverse = np.linalg.inv(matrix)
    # Normwise backward error of an LU factorisation, times the condition number.
    condition = np.abs(matrix).sum(axis=1).max() * np.abs(inverse).sum(axis=1).max()
    error = len(matrix) * np.finfo(float).eps * (condition + abs(log_determinant) + abs(base))
    if with_inverse:
        even = 2 * np.arange(model.num_edges)
        agree = -np.exp(costs) * inverse[even, even + 1]
    return float(log_determinant / 2 + base), float(error), agree
