"""Upper bounds on log Z by entropies over relaxed moments: tangents, and what bounds them.

log Z is the largest θ·z + H(z) over the moments z of all distributions. An entropy that is never
too small, in place of H, lies below a linear function c + g·z; multipliers λ >= 0 of inequalities
A z <= b, which moments satisfy, and |z| <= 1 for what they leave over, bound it:

    log Z <= c + λ·b + Σ |θ + g - A'λ|.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.models import IsingModel
from planaris.result import GaussianEntropyBound, TreeEntropyBound
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import (
    components,
    indices,
    pairs_of,
    real_row,
    require,
    runs,
    whole_row,
)
from planaris.verify.proofs.log_partition.forests import WeightedForests
from planaris.verify.recompute.elimination import Recomputed

_UNIT = 2.0**-53
_SIGNS = np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)])
"""4 P(s_u, s_v) - 1 by E s_u, E s_v and E s_u s_v, for ++, +-, -+ and --."""

MAX_SPINS = 3000
"""Largest models whose uniform spanning trees are counted here."""

Linear = tuple[float, FloatArray, float]
"""Constant c, gradient g, and a bound on their rounding."""


def entropy_bound(model: IsingModel, proof: GaussianEntropyBound) -> Recomputed | None:
    """Return the bound of a tangent; None where its trees are too many to count."""
    pairs = pairs_of(proof.pairs, "pairs")
    n, m = model.num_spins, len(pairs)
    require(bool(np.all((pairs >= 0) & (pairs < n))), "pairs are of spins")
    ends = np.sort(pairs, axis=1)
    require(bool(np.all(ends[:, 0] < ends[:, 1])), "pairs are of two spins")
    require(len(np.unique(ends, axis=0)) == m, "pairs are listed once")
    require(np.array_equal(pairs[: model.num_edges], model.edges), "the model's pairs are first")
    point = real_row(proof.point, "point")
    require(point.shape == (n + m,), "there is a moment for every spin and pair")
    if isinstance(proof, TreeEntropyBound):
        found = _appearance(n, pairs, proof)
        tangent = None if found is None else _tree_tangent(n, pairs, point, *found)
    else:
        require(m == n * (n - 1) // 2, "all pairs are there")
        tangent = _gaussian_tangent(n, pairs, point)
    if tangent is None:
        return None
    constant, slope, slack = tangent
    theta = np.concatenate([model.fields, model.couplings, np.zeros(m - model.num_edges)])
    most, moved, size = _multiplied(n, pairs, proof)
    rest = theta + slope - moved
    value = math.fsum([constant, most, *np.abs(rest).tolist(), model.offset])
    size += float(np.abs(theta).sum() + np.abs(slope).sum()) + abs(constant) + abs(value)
    return Recomputed(value, slack + 64 * _UNIT * size)


def _multiplied(
    n: int, pairs: Array, proof: GaussianEntropyBound
) -> tuple[float, FloatArray, float]:
    """Return λ·b, A'λ, and the sizes of what was added up, times how often."""
    m = len(pairs)
    local = real_row(proof.local, "local")
    require(len(local) == 4 * m, "every pair has four multipliers")
    local = local.reshape(-1, 4)
    edges, odd = indices(proof.edges, "edges", m), whole_row(proof.odd, "odd") != 0
    weight = real_row(proof.multipliers, "multipliers")
    offsets = runs(proof.offsets, "offsets", len(weight), len(edges))
    require(odd.shape == edges.shape, "pairs of sets are marked or not")
    require(bool(np.all(local >= 0)) and bool(np.all(weight >= 0)), "multipliers are >= 0")
    lengths = np.diff(offsets)
    row = np.repeat(np.arange(len(weight)), lengths)
    met = np.unique((row[:, None] * n + pairs[edges]).ravel(), return_counts=True)[1]
    require(bool(np.all(met % 2 == 0)), "the pairs of a set meet every spin evenly")
    flipped = np.bincount(row[odd], minlength=len(weight))
    require(bool(np.all(flipped % 2 == 1)), "an odd number of pairs of a set is marked")
    most = math.fsum([*local.ravel().tolist(), *(weight * (lengths - 2.0)).tolist()])
    moved = np.zeros(n + m)
    shares = -(local @ _SIGNS)
    np.add.at(moved, pairs, shares[:, :2])
    moved[n:] += shares[:, 2]
    moved[n:] += np.bincount(edges, np.where(odd, -1.0, 1.0) * weight[row], m)
    size = 4 * float(local.sum()) + float(weight @ lengths)
    times = int(np.bincount(pairs.ravel(), minlength=1).max()) + 8
    times += int(np.bincount(edges, minlength=1).max())
    return most, moved, size * times


def _appearance(n: int, pairs: Array, proof: TreeEntropyBound) -> tuple[FloatArray, float] | None:
    """Return ρ, of forests with weights or of the uniform spanning forest, and its error."""
    if len(real_row(proof.tree_weights, "tree_weights")) == 0:
        return None if n > MAX_SPINS else _uniform(n, pairs)
    trees = WeightedForests.of(n, pairs, proof.tree_weights, proof.tree_offsets, proof.tree_edges)
    return trees.rho, 4 * _UNIT * (len(trees.weights) + 4)


def _uniform(n: int, pairs: Array) -> tuple[FloatArray, float]:
    """Return the probability of each pair in a random spanning forest: its resistance."""
    _, label = components(n, *pairs.T)
    laplacian = (label[:, None] == label) * 1.0  # regular within components
    u, v = pairs.T
    np.add.at(laplacian, (u, u), 1.0)
    np.add.at(laplacian, (v, v), 1.0)
    np.add.at(laplacian, (u, v), -1.0)
    np.add.at(laplacian, (v, u), -1.0)
    inverse = np.linalg.inv(laplacian)
    left = np.abs(np.eye(n) - laplacian @ inverse).sum(1).max(initial=0.0) + n * n * _UNIT
    require(left < 1e-6, "spanning trees can be counted")
    error = 8 * left * float(np.abs(inverse).sum(1).max(initial=0.0))
    resistance = inverse[u, u] + inverse[v, v] - inverse[u, v] - inverse[v, u]
    return np.clip(resistance, 0.0, 1.0), error


def _tree_tangent(n: int, pairs: Array, z: FloatArray, rho: FloatArray, error: float) -> Linear:
    """Return the tangent of Σ H_v - Σ ρ I_e: logs of the tables at z, for any z inside.

    The entropy of a tree is that of its root and of spins given their parents; each is at most
    -E log q for any distribution q, here that of z. What is known of ρ to within an error makes
    a difference of as much information, of at most log 2 per pair.
    """
    columns = np.column_stack([pairs, n + np.arange(len(pairs))])
    p = (1.0 + z[columns] @ _SIGNS.T) / 4
    q = np.stack([(1 + z[:n]) / 2, (1 - z[:n]) / 2], axis=1)
    smallest = min(float(p.min(initial=1.0)), float(q.min(initial=1.0)))
    require(smallest > 1e-15, "the moments lie inside")
    share = 1.0 - np.bincount(pairs.ravel(), np.repeat(rho, 2), n)
    log_p, log_q = np.log(p), np.log(q)
    means = [*(share * log_q.sum(1) / 2).tolist(), *(rho * log_p.sum(1) / 4).tolist()]
    constant = -math.fsum(means)
    slope = np.zeros(n + len(pairs))
    slope[:n] = -share * (log_q[:, 0] - log_q[:, 1]) / 2
    np.add.at(slope, columns, -rho[:, None] * (log_p @ _SIGNS) / 4)
    # Tables of pairs give those of their spins but for some units, relative to which they count.
    shaken = (1.0 / q).sum(1)
    slack = 16 * _UNIT * float(rho @ shaken[pairs].sum(1) + np.abs(share) @ shaken)
    slack += 16 * _UNIT * float((rho[:, None] * np.abs(log_p)).sum()) + error * len(pairs)
    slack += 16 * _UNIT * float((np.abs(share)[:, None] * np.abs(log_q)).sum())
    return constant, slope, slack


def _gaussian_tangent(n: int, pairs: Array, z: FloatArray) -> Linear:
    """Return the tangent of ½ log det (M + ⅓ I') + n/2 log(πe/2), M the matrix of moments.

    log det X <= tr(B X) - log det B - N for every positive definite B, here the inverse at z.
    """
    matrix = np.eye(n + 1)
    matrix[0, 1:] = matrix[1:, 0] = z[:n]
    u, v = pairs.T + 1
    matrix[u, v] = matrix[v, u] = z[n:]
    noise = np.full(n + 1, 1.0 / 3)
    noise[0] = 0.0
    try:
        inverse = np.linalg.inv(matrix + np.diag(noise))
        inverse = (inverse + inverse.T) / 2
        factor = np.linalg.cholesky(inverse)
    except np.linalg.LinAlgError:
        require(False, "the matrix of moments is positive definite")
    log_det = 2.0 * math.fsum(np.log(np.diagonal(factor)).tolist())
    constant = 0.5 * (float(np.diagonal(inverse) @ (1.0 + noise)) - log_det - (n + 1))
    constant += n / 2 * (math.log(math.pi / 2) + 1.0)
    slope = np.concatenate([inverse[0, 1:], inverse[u, v]])
    # Cholesky factors are those of a matrix nearby, relative to its largest entry.
    spread = float(np.linalg.norm(inverse) * np.linalg.norm(np.linalg.inv(inverse)))
    slack = 8 * (n + 1) * _UNIT * (spread + abs(log_det) + abs(constant))
    return constant, slope, slack
