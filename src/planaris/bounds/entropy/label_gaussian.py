"""Log-determinant bounds on log Z of models with labels.

Labels are the integers 0, 1, ..., k - 1. A vector of integers plus uniform noise on [-½, ½] has the
differential entropy of the vector, which is at most that of a Gaussian of the same covariance
(Wainwright, Jordan 2006): ``H <= ½ log det(Cov + I/12) + (n/2) log 2πe``. With two labels this is
the bound for spins. It depends on the order of the labels.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import scipy

from planaris.bounds.entropy.barrier import BarrierSolver
from planaris.bounds.entropy.entropies import UNIT, Derivatives
from planaris.bounds.entropy.projections import CycleRows, separate_projected
from planaris.bounds.labels.intervals import one_state
from planaris.bounds.labels.trees import table_upper, without_zeros
from planaris.budget import Budget
from planaris.errors import TooLargeError
from planaris.models import MarkovRandomField
from planaris.result import Bounds, LogPartition, Pseudomarginals
from planaris.subgraphs.bias_model import EPSILON
from planaris.typing import FloatArray, LongArray

MAX_PARAMETERS = 2000
"""Free parameters of the tables of all pairs, of which a dense Newton step takes the cube."""


class LabelTables:
    """Tables of all variables and all pairs as affine functions of free parameters.

    Parameters are P(x_i) and P(x_i, x_j) of all labels but the first; ``nodes @ z + nodes_at_0``
    and ``pairs @ z + pairs_at_0`` are the tables, one behind the other.
    """

    def __init__(self, cards: LongArray) -> None:
        self.cards = cards
        n = len(cards)
        self.pair_list = np.array(
            [(i, j) for i in range(n) for j in range(i + 1, n)], dtype=np.int32
        ).reshape(-1, 2)
        free = (cards - 1).tolist()
        node_at = np.concatenate([[0], np.cumsum(free)]).astype(int)
        sizes = [free[i] * free[j] for i, j in self.pair_list.tolist()]
        pair_at = node_at[-1] + np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.count = int(pair_at[-1])
        ends = [(node_at[i], node_at[i + 1]) for i in range(n)]
        blocks = [_node_block(self.count, *ends[i]) for i in range(n)]
        self.nodes, self.nodes_at_0 = _stacked(blocks, self.count)
        blocks = [
            _pair_block(self.count, ends[i], ends[j], int(pair_at[e]))
            for e, (i, j) in enumerate(self.pair_list.tolist())
        ]
        self.pairs, self.pairs_at_0 = _stacked(blocks, self.count)
        self.node_offsets = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        shapes = cards[self.pair_list]
        self.pair_offsets = np.concatenate([[0], np.cumsum(shapes.prod(1))]).astype(np.int64)

    def uniform(self) -> FloatArray:
        """Return the parameters of independent, uniform labels."""
        singles = [np.full(k - 1, 1 / k) for k in self.cards.tolist()]
        u, v = self.pair_list.T
        pairs = [
            np.full((a - 1) * (b - 1), 1 / (a * b))
            for a, b in zip(self.cards[u].tolist(), self.cards[v].tolist(), strict=True)
        ]
        return np.concatenate([np.zeros(0), *singles, *pairs])

    def padded(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return tables of variables and of pairs, zeros where there are fewer labels."""
        k = int(self.cards.max(initial=1))
        real = np.arange(k) < self.cards[:, None]
        nodes = np.zeros(real.shape)
        nodes[real] = self.nodes @ z + self.nodes_at_0
        u, v = self.pair_list.T
        inside = real[u][:, :, None] & real[v][:, None, :]
        pairs = np.zeros(inside.shape)
        pairs[inside] = self.pairs @ z + self.pairs_at_0
        return nodes, pairs


Block = tuple[FloatArray, FloatArray]


def _node_block(count: int, first: int, last: int) -> Block:
    rows = np.zeros((last - first + 1, count))
    rows[0, first:last] = -1.0
    rows[1:, first:last] = np.eye(last - first)
    return rows, np.eye(last - first + 1)[0]


def _pair_block(count: int, a: tuple[int, int], b: tuple[int, int], at: int) -> Block:
    """Return P(x, y) for all x and y: what is left of P(x) and P(y) goes to the first labels."""
    left, right = a[1] - a[0], b[1] - b[0]
    rows = np.zeros((left + 1, right + 1, count))
    inner = np.eye(left * right).reshape(left, right, left * right)
    block = slice(at, at + left * right)
    rows[1:, 1:, block] = inner
    rows[1:, 0, block] = -inner.sum(1)
    rows[1:, 0, a[0] : a[1]] += np.eye(left)
    rows[0, 1:, block] = -inner.sum(0)
    rows[0, 1:, b[0] : b[1]] += np.eye(right)
    rows[0, 0, block] = inner.sum((0, 1))
    rows[0, 0, a[0] : a[1]] -= 1.0
    rows[0, 0, b[0] : b[1]] -= 1.0
    constant = np.zeros((left + 1, right + 1))
    constant[0, 0] = 1.0
    return rows.reshape(constant.size, count), constant.ravel()


def _stacked(blocks: list[Block], count: int) -> tuple[scipy.sparse.csr_array, FloatArray]:
    matrix = [scipy.sparse.csr_array(rows) for rows, _ in blocks]
    empty = scipy.sparse.csr_array((0, count))
    return (
        scipy.sparse.csr_array(scipy.sparse.vstack([empty, *matrix])),
        np.concatenate([np.zeros(0), *(constant for _, constant in blocks)]),
    )


class LabelPolytope:
    """LOCAL of all pairs in free parameters, and cycles: ``rows @ z <= sides``."""

    psd = False

    def __init__(self, tables: LabelTables) -> None:
        self.tables = tables
        self.n = len(tables.cards)
        alone = (tables.nodes, tables.nodes_at_0) if self.n == 1 else (None, None)
        matrix = [-tables.pairs] if alone[0] is None else [-alone[0]]
        sides = tables.pairs_at_0 if alone[1] is None else alone[1]
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack(matrix))
        self.sides = np.array(sides)

    def add(self, cuts: CycleRows) -> None:
        """Add rows of projections."""
        tables = self.tables
        k = int(tables.cards.max(initial=1))
        real = np.arange(k) < tables.cards[:, None]
        u, v = tables.pair_list.T
        place = np.zeros((len(tables.pair_list), k, k), dtype=np.int64)
        inside = real[u][:, :, None] & real[v][:, None, :]
        place[inside] = np.arange(int(inside.sum()))
        item, x, y = np.nonzero((cuts.tables() != 0) & inside[cuts.edges])
        sign = np.where(cuts.odd[item], -1.0, 1.0)
        over = scipy.sparse.coo_array(
            (sign, (cuts.owner[item], place[cuts.edges[item], x, y])),
            shape=(len(cuts), tables.pairs.shape[0]),
        ).tocsr()
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack([self.rows, -(over @ tables.pairs)]))
        self.sides = np.concatenate([self.sides, over @ tables.pairs_at_0 - cuts.sides])


class LabelLogDet:
    """½ log det of the moments of integer labels plus noise, in free parameters."""

    def __init__(self, tables: LabelTables) -> None:
        n = len(tables.cards)
        self.n = n
        size = (n + 1) ** 2
        self.directions = np.zeros((tables.count, size))
        constant = np.zeros((n + 1, n + 1))
        constant[0, 0] = 1.0
        for i, k in enumerate(tables.cards.tolist()):
            rows = tables.nodes[tables.node_offsets[i] : tables.node_offsets[i + 1]]
            mean = rows.T @ np.arange(k)
            for place in ((0, i + 1), (i + 1, 0)):
                self.directions[:, place[0] * (n + 1) + place[1]] += mean
            self.directions[:, (i + 1) * (n + 2)] += rows.T @ np.arange(k) ** 2
            constant[i + 1, i + 1] = 1.0 / 12
        for e, (i, j) in enumerate(tables.pair_list.tolist()):
            product = np.outer(np.arange(tables.cards[i]), np.arange(tables.cards[j])).ravel()
            rows = tables.pairs[tables.pair_offsets[e] : tables.pair_offsets[e + 1]]
            mean = rows.T @ product
            for a, b in ((i, j), (j, i)):
                self.directions[:, (a + 1) * (n + 1) + b + 1] += mean
        # Labels 0 have no weight in any moment, so the constants of the tables add nothing.
        self.constant = constant

    def matrix(self, z: FloatArray) -> FloatArray:
        """Return the moment matrix with noise."""
        return self.constant + (z @ self.directions).reshape(self.n + 1, self.n + 1)

    def slope(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient; minus infinity outside the domain."""
        matrix = self.matrix(z)
        try:
            factor = np.linalg.cholesky(matrix)
            inverse = np.linalg.inv(matrix)  # where rounding let the factor pass, this need not
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros(len(z))
        value = float(np.log(np.diagonal(factor)).sum())
        value += self.n / 2 * math.log(2 * math.pi * math.e)
        return value, self.directions @ inverse.ravel() / 2

    def __call__(self, z: FloatArray) -> Derivatives:
        """Return value, gradient and dense Hessian; minus infinity outside the domain."""
        value, gradient = self.slope(z)
        if value == -np.inf:
            return value, gradient, np.zeros((len(z), len(z)))
        inverse = np.linalg.inv(self.matrix(z))
        turned = self.directions.reshape(-1, self.n + 1, self.n + 1)
        turned = inverse @ turned @ inverse
        return value, gradient, -(self.directions @ turned.reshape(self.directions.shape).T) / 2

    def rounding(self, z: FloatArray) -> float:
        """Return by how much the tangent at z may be off: entries of inverses, by the condition."""
        matrix = self.matrix(z)
        inverse = float(np.linalg.norm(np.linalg.inv(matrix)))
        size = float(np.linalg.norm(matrix)) + float(np.abs(self.directions).sum(1).max(initial=0))
        return 32 * (self.n + 1) * UNIT * size * inverse * (1.0 + inverse) * max(len(z), 1)


class _Centred(BarrierSolver):
    """Starts from uniform labels, where a spin model starts from zero moments."""

    def __init__(self, theta: FloatArray, entropy: LabelLogDet, polytope: LabelPolytope) -> None:
        super().__init__(theta, entropy, polytope)  # type: ignore[arg-type]
        self.centre = polytope.tables.uniform()
        self.z = self.centre.copy()

    def restart(self) -> None:
        self.upper = np.inf
        rows, sides = self.polytope.rows, self.polytope.sides
        for _ in range(60):
            if (sides - rows @ self.z).min(initial=1.0) > 1e-4:
                return
            self.z = self.centre + 0.8 * (self.z - self.centre)
        self.z = self.centre.copy()


def label_logdet(
    mrf: MarkovRandomField,
    projection: str | None,
    *,
    tolerance: float,
    max_rounds: int,
    budget: Budget,
) -> LogPartition:
    """Bound log Z over LOCAL of all pairs, with cycles of a projection unless that is None."""
    cards = mrf.cardinalities.astype(np.int64)
    free = cards - 1
    count = int(free.sum() + (int(free.sum()) ** 2 - int((free**2).sum())) // 2)
    if count > MAX_PARAMETERS:
        msg = (
            f"the moment matrix of all pairs is taken for at most {MAX_PARAMETERS} free "
            f"parameters, this model has {count}; use entropy='trw'"
        )
        raise TooLargeError(msg, bytes_needed=8 * count**2)
    tables = LabelTables(cards)
    theta, constant = _linear(mrf, tables)
    polytope = LabelPolytope(tables)
    solver = _Centred(theta, LabelLogDet(tables), polytope)
    solver.budget = budget
    best, trace, status = math.inf, [], "max_rounds"
    z = solver.z
    for rounds in range(max_rounds + 1):
        try:
            solver.maximise(tolerance, start=1.0 if rounds == 0 else 0.02)
        except (np.linalg.LinAlgError, FloatingPointError):
            status = "broken"  # numbers too large for Newton's steps; the bound so far holds
        if solver.upper + constant < best:
            best, z = solver.upper + constant, solver.z
        if status == "broken":
            break
        nodes, pairs = tables.padded(solver.z)
        cuts = separate_projected(
            nodes, pairs, cards, tables.pair_list, projection or "single", budget=budget
        )
        fresh = len(cuts) if projection is not None else 0
        trace.append({"round": rounds, "upper": best, "cuts": fresh, "rows": len(polytope.sides)})
        if solver.late() or not fresh:
            status = "optimal" if not fresh and not solver.late() else "time_limit"
            break
        polytope.add(cuts)
        solver.restart()
    return _result(mrf, tables, z, best, status, trace, budget)


def _linear(mrf: MarkovRandomField, tables: LabelTables) -> tuple[FloatArray, float]:
    """Return θ of the free parameters, and the constant; zeros become small potentials."""
    view = mrf.pairwise_view()
    node_logs = without_zeros(view.node_logs, view.node_offsets)
    edge_logs = without_zeros(view.edge_logs, view.edge_offsets)
    theta = tables.nodes.T @ node_logs
    constant = float(tables.nodes_at_0 @ node_logs)
    place = {pair: e for e, pair in enumerate(map(tuple, tables.pair_list.tolist()))}
    for e, pair in enumerate(map(tuple, view.edges.tolist())):
        at = place[pair]
        rows = slice(tables.pair_offsets[at], tables.pair_offsets[at + 1])
        logs = edge_logs[view.edge_offsets[e] : view.edge_offsets[e + 1]]
        theta = theta + tables.pairs[rows].T @ logs
        constant += float(tables.pairs_at_0[rows] @ logs)
    size = float(np.abs(node_logs).sum() + np.abs(edge_logs).sum() + abs(view.constant))
    return theta, constant + view.constant + 16 * EPSILON * (len(view.edges) + 8) * size


def _result(
    mrf: MarkovRandomField,
    tables: LabelTables,
    z: FloatArray,
    best: float,
    status: str,
    trace: list[dict[str, float]],
    budget: Budget,
) -> LogPartition:
    nodes, pairs = tables.padded(z)
    labels = [mu[:k] for mu, k in zip(nodes, tables.cards.tolist(), strict=True)]
    state = np.array([int(np.argmax(mu)) for mu in labels], dtype=np.int64)
    lower, below = one_state(mrf, state)
    upper = min(math.nextafter(best, math.inf), table_upper(mrf))
    view = mrf.pairwise_view()
    place = {pair: e for e, pair in enumerate(map(tuple, tables.pair_list.tolist()))}
    cut = partial(_corner, pairs, tables.cards)
    return LogPartition.between(
        min(lower, upper),
        upper,
        value=upper,
        num_variables=mrf.num_variables,
        method="logdet",
        status=status,
        pseudomarginals=Pseudomarginals(
            labels, [cut(place[u, v], u, v) for u, v in view.edges.tolist()]
        ),
        rounds=len(trace) - 1,
        seconds=budget.seconds(),
        trace=trace,
        certificate=Bounds(below, None),
    )


def _corner(pairs: FloatArray, cards: LongArray, e: int, u: int, v: int) -> FloatArray:
    return pairs[e, : cards[u], : cards[v]]
