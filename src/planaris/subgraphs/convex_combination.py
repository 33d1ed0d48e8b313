"""log Z(θ) <= Σ ρ_r log Z(θ^r) whenever Σ ρ_r θ^r = θ: minimised over θ^r and ρ (GJ06).

Jointly convex in φ^r = ρ_r θ^r and ρ (each term is a perspective of the convex log Z). The
constraint is built in: θ^r = y^r + (θ - Σ_s ρ_s y^s) / Σ_s ρ_s, edge by edge over the subgraphs
that hold it, with y free and ρ a softmax. So every point of the search is a bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.errors import MethodError
from planaris.result import Decomposition as Proof
from planaris.subgraphs.bias_model import EPSILON, BiasModel
from planaris.subgraphs.quasi_newton import minimise_smooth
from planaris.subgraphs.solvers import Pieces, Values
from planaris.typing import FloatArray, LongArray

Callback = Callable[[float], None]
"""Receives an upper bound on log Z after every step."""


LEAST_LOGIT = -500.0

MEMBERS_AT_ONCE = 2**18
"""Edges of all subgraphs that are worked on between two checks of the deadline."""

LARGE = 2**18
"""Variables beyond which the search is :func:`planaris.subgraphs.quasi_newton.minimise_smooth`."""

MEMORY = 20
"""Steps that the search remembers."""

LEAST_SHARE = 1e-6
"""Weight of the subgraphs that hold an edge, below which their coupling of it is not used."""


class _Converged(Exception):
    """Raised inside the optimiser when nothing is gained any more."""


class Decomposition:
    """Subgraphs, their couplings and their weights: a bound that only gets better.

    Parameters
    ----------
    bare : BiasModel
        The model.
    subgraphs : list of numpy.ndarray
        Edges of every subgraph; together they hold every edge with a coupling.
    budget : Budget
        ``TimeoutError`` if its time is over before the subgraphs are prepared.
    callback : callable, optional
        See :data:`Callback`.
    """

    def __init__(
        self,
        bare: BiasModel,
        subgraphs: list[LongArray],
        *,
        budget: Budget = UNLIMITED,
        callback: Callback | None = None,
    ) -> None:
        self.bare, self.budget, self.callback = bare, budget, callback
        self.pieces = Pieces(bare, subgraphs, budget=budget)
        self.seconds = 0.0
        count = np.bincount(self.pieces.edge, minlength=bare.num_edges)
        budget.check()
        missing = np.flatnonzero((count == 0) & (bare.couplings != 0))
        if len(missing):
            u, v = bare.edges[missing[0]].tolist()
            msg = (
                f"`subgraphs` must hold every edge with a coupling, but {len(missing)} are in "
                f"none, the first being ({u}, {v})"
            )
            raise MethodError(msg, edges=missing)
        self.y = np.zeros(len(self.pieces.edge))
        self.logits = np.zeros(len(subgraphs))
        self.upper = math.inf
        self.theta: FloatArray | None = None
        """Couplings of all subgraphs at the best point, flat."""
        self.known: Values | None = None
        self.moments: FloatArray = np.zeros(bare.num_edges)
        self.disagreement = math.inf
        self.steps = self.evaluations = 0
        self.trace: list[float] = []

    # -- the bound ----------------------------------------------------------------------------

    def rho(self, logits: FloatArray | None = None) -> FloatArray:
        """Return the weights of the subgraphs."""
        a = self.logits if logits is None else logits
        # No weight underflows: couplings are divided by them.
        weights = np.exp(np.maximum(a - a.max(initial=-math.inf), LEAST_LOGIT))
        return np.asarray(weights / weights.sum())

    def couplings(self, y: FloatArray, rho: FloatArray, budget: Budget = UNLIMITED) -> FloatArray:
        """Return θ^r of all subgraphs, flat; ``TimeoutError`` when the time is over before."""
        weight = self._weights(rho, budget)
        return self._couplings(y, weight, self._by_edge(weight, budget), budget)

    def appearance(self) -> FloatArray:
        """Return the weight of the subgraphs that hold it, for every edge."""
        return self._by_edge(self._weights(self.rho(), UNLIMITED))

    def _weights(self, rho: FloatArray, budget: Budget) -> FloatArray:
        """Return the weight of every member's subgraph."""
        weight = np.empty(len(self.pieces.edge))
        for part in self._parts(budget):
            weight[part] = rho[self.pieces.piece[part]]
        return weight

    def _point(self, y: FloatArray, logits: FloatArray, budget: Budget) -> FloatArray:
        """Return a copy of both, one after the other."""
        point = np.empty(len(y) + len(logits))
        for part in self._parts(budget):
            point[: len(y)][part] = y[part]
        point[len(y) :] = logits
        return point

    def _couplings(
        self, y: FloatArray, weight: FloatArray, share: FloatArray, budget: Budget = UNLIMITED
    ) -> FloatArray:
        """Return θ^r for the weight of every member's subgraph and its sums by edge."""
        theta = np.empty(len(y))
        for part in self._parts(budget):
            theta[part] = weight[part] * y[part]
        taken = self._by_edge(theta, budget)
        shift = (self.bare.couplings - taken) / np.where(share > 0, share, 1.0)
        for part in self._parts(budget):
            theta[part] = y[part] + shift[self.pieces.edge[part]]
        return theta

    def _by_edge(self, members: FloatArray, budget: Budget = UNLIMITED) -> FloatArray:
        """Return sums over the members of all subgraphs, by edge."""
        sums = np.zeros(self.bare.num_edges)
        for part in self._parts(budget):
            sums += np.bincount(self.pieces.edge[part], members[part], len(sums))
        return sums

    def _parts(self, budget: Budget) -> Iterator[slice]:
        """Yield parts of the members of all subgraphs; checks the deadline in between."""
        for first in range(0, len(self.pieces.edge), MEMBERS_AT_ONCE):
            if first:
                budget.check()
            yield slice(first, first + MEMBERS_AT_ONCE)

    def marginals(self) -> tuple[FloatArray, FloatArray]:
        """Return P(s = +1) and P(s_u = s_v), averaged over the subgraphs that know them."""
        agree = (1 + np.clip(self.moments, -1.0, 1.0)) / 2
        count = self.bare.num_model_edges
        if len(agree) > count:  # external fields are edges, too
            return agree[count:], agree[:count]
        return np.full(self.bare.num_spins, 0.5), agree

    def value(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound (less the model's constant) and its gradient by (y, logits)."""
        started = self.budget.seconds()
        # One more evaluation, and after it the proof, which takes about two.
        budget = self.budget.quiet()
        if self.evaluations:
            budget.reserve(3 * self.seconds).check()
            budget = budget.reserve(2 * self.seconds)
        y, logits = np.split(x, [len(self.y)])
        rho = self.rho(logits)
        edge, piece, count = self.pieces.edge, self.pieces.piece, self.bare.num_edges
        weight = self._weights(rho, budget)
        share = self._by_edge(weight, budget)
        theta = self._couplings(y, weight, share, budget)
        values = self.pieces.evaluate(theta, budget=budget)
        budget.check()
        self.evaluations += 1
        self.seconds = self.budget.seconds() - started
        mean = np.zeros(count)
        for part in self._parts(self.budget):
            mean += np.bincount(edge[part], weight[part] * values.moments[part], count)
        mean /= np.where(share > 0, share, 1.0)
        bound = float(rho @ values.logs)
        # y or θ^r that grow far beyond the model's couplings would cancel in Σ ρ θ^r: such points
        # are compared with the rounding that a proof would have to add.
        slope, by_rho, size = np.empty(len(x)), values.logs.copy(), 0.0
        by_y = slope[: len(edge)]
        for part in self._parts(self.budget):
            spread = mean[edge[part]]
            by_y[part] = weight[part] * (values.moments[part] - spread)
            by_rho -= np.bincount(piece[part], spread * theta[part], len(rho))
            size += float(weight[part] @ (np.abs(theta[part]) + np.abs(y[part])))
        slope[len(edge) :] = rho * (by_rho - float(rho @ by_rho))
        safe = bound + float(rho @ values.errors) + 8 * EPSILON * len(rho) * size
        if safe < self.upper:
            self.upper = safe
            point = self._point(y, logits, UNLIMITED)
            self.y, self.logits, self.known = point[: len(y)], point[len(y) :], values
            self.theta, self.moments = theta, mean
            # The largest mean deviation of an edge's moment over its subgraphs, by weight.
            away = np.zeros(count)
            for part in self._parts(self.budget):
                away += np.bincount(edge[part], np.abs(by_y[part]), count)
            self.disagreement = float((away / np.maximum(share, 1e-300)).max(initial=0.0))
        budget.check()  # before the next step of the search; the point is kept
        return bound, slope

    def evaluate_start(self, finish: Budget | None = None) -> None:
        """Evaluate the starting point, whatever the clock says, or within a budget."""
        budget, self.budget = self.budget, self.budget.unlimited() if finish is None else finish
        try:
            self.value(self._point(self.y, self.logits, self.budget))
        finally:
            self.budget = budget

    def best_couplings(self) -> FloatArray:
        """Return θ^r of all subgraphs at the best point, flat."""
        return self.couplings(self.y, self.rho()) if self.theta is None else self.theta

    def certified(self, budget: Budget = UNLIMITED) -> float:
        """Return a proved upper bound on log Z of the model, at the best point.

        ``TimeoutError`` if the time is over before.
        """
        rho, theta = self.rho(), self.best_couplings()
        uppers = self.pieces.certify(theta, self.known)
        budget.check()
        # What Σ ρ θ^r misses of θ by rounding can change log Z by no more than its size.
        edge, piece, count = self.pieces.edge, self.pieces.piece, self.bare.num_edges
        total, size = np.zeros(count), np.zeros(count)
        for part in self._parts(budget):
            flow = rho[piece[part]] * theta[part]
            total += np.bincount(edge[part], flow, count)
            size += np.bincount(edge[part], np.abs(flow), count)
        miss = float(np.abs(total - self.bare.couplings).sum())
        rounding = EPSILON * (len(rho) + 4) * (float(size.sum()) + float(rho @ np.abs(uppers)))
        # The weights add up to one but for rounding: divided by their sum, each moves by that.
        rest = abs(float(rho.sum()) - 1.0) + EPSILON * len(rho)
        rounding += 2 * rest * (float(rho @ np.abs(uppers)) + float(size.sum()))
        bound = float(rho @ uppers) + miss + rounding + self.bare.constant
        return bound + 2 * EPSILON * (abs(bound) + abs(self.bare.constant))

    def proof(self) -> Proof:
        """Return the best point as plain arrays, for :mod:`planaris.verify` and for files."""
        return Proof(self.rho(), self.pieces.offsets, self.pieces.edge, self.best_couplings())

    # -- the search ---------------------------------------------------------------------------

    def minimise(self, max_iterations: int, tolerance: float = 2e-7) -> str:
        """Run L-BFGS from the best point; return why it stopped."""
        start = self.steps
        last: list[float] = []

        def after(_: Any) -> None:
            self.steps += 1
            self.trace.append(self.upper + self.bare.constant)
            if self.callback is not None:
                self.callback(self.upper + self.bare.constant)
            last.append(self.upper)
            if len(last) > 10 and last[-11] - last[-1] < tolerance * (1 + abs(last[-1])):
                raise _Converged

        x = self._point(self.y, self.logits, UNLIMITED)
        try:
            if max_iterations <= 0 or len(self.pieces) == 1:
                self.value(x)
                return "max_iterations" if max_iterations <= 0 else "optimal"
            self._search(x, max_iterations, after)
        except _Converged:
            return "optimal"
        except TimeoutError:
            return "time_limit"
        except MethodError:
            # A planar piece has grown couplings that no precision handles; the best point stays.
            return "precision"
        return "max_iterations" if self.steps - start >= max_iterations else "optimal"

    def _search(
        self, x: FloatArray, max_iterations: int, after: Callable[[FloatArray], None]
    ) -> None:
        """Take steps of L-BFGS until one of the functions called ends that by an exception."""
        from threadpoolctl import threadpool_limits

        # The optimiser's own products are short: threads only wait for each other there.
        with threadpool_limits(1):
            if len(x) > LARGE:  # SciPy looks at no clock during a step
                steps = MEMORY, max_iterations
                minimise_smooth(self._attempt, x, *steps, after=after, budget=self.budget)
                return
            from scipy import optimize

            solve: Any = optimize.minimize
            options = {"maxiter": max_iterations, "maxcor": MEMORY, "ftol": 1e-13, "gtol": 1e-9}
            solve(self.value, x, jac=True, method="L-BFGS-B", callback=after, options=options)

    def _attempt(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient; infinity where a planar piece has too large couplings."""
        try:
            return self.value(x)
        except MethodError:
            return math.inf, x

    def pruned(self, least: float = 1e-4) -> Decomposition:
        """Return the decomposition without subgraphs of next to no weight, if that is possible.

        What they contributed to Σ ρ θ^r moves to the others, so the bound stays valid; it is
        kept only if it is as good.
        """
        rho = self.rho()
        keep = np.flatnonzero(rho >= least)
        held = np.zeros(self.bare.num_edges, dtype=bool)
        for r in keep.tolist():
            held[self.pieces.subgraphs[r]] = True
        if len(keep) == len(rho) or not held[self.bare.couplings != 0].all():
            return self
        smaller = Decomposition(
            self.bare,
            [self.pieces.subgraphs[r] for r in keep.tolist()],
            callback=self.callback,
        )
        theta = self.couplings(self.y, rho)
        smaller.y = theta[np.isin(self.pieces.piece, keep)]
        smaller.logits = np.log(rho[keep])
        smaller.evaluate_start()
        smaller.budget = self.budget
        if smaller.upper > self.upper + 1e-3 * least * abs(self.upper):
            return self
        smaller.steps, smaller.evaluations = self.steps, self.evaluations + 1
        smaller.trace = self.trace
        return smaller

    def extended(
        self, subgraphs: list[LongArray], weight: float = 0.1, budget: Budget = UNLIMITED
    ) -> Decomposition:
        """Return the same bound with more subgraphs, which enter at ``weight`` in all.

        A new subgraph's y is the mean of θ^r of its edges, so that only its weight is new; the
        model's coupling where only subgraphs of next to no weight hold the edge, as θ^r is
        huge there.
        """
        rho = self.rho()
        theta = self.couplings(self.y, rho, budget)
        own = self._weights(rho, budget)
        budget.check()
        share, total = self._by_edge(own, budget), self._by_edge(own * theta, budget)
        budget.check()
        held = share > LEAST_SHARE
        mean = np.where(held, total / np.where(held, share, 1.0), self.bare.couplings)
        larger = Decomposition(
            self.bare,
            [*self.pieces.subgraphs, *subgraphs],
            budget=budget,
            callback=self.callback,
        )
        larger.budget = self.budget
        larger.y = np.concatenate([theta, *(mean[s] for s in subgraphs)])
        fresh = np.full(len(subgraphs), weight / max(len(subgraphs), 1))
        larger.logits = np.log(np.concatenate([(1 - weight) * rho, fresh]))
        larger.steps, larger.evaluations = self.steps, self.evaluations
        larger.trace = self.trace
        return larger


def restored(bare: BiasModel, proof: Proof, *, callback: Callback | None = None) -> Decomposition:
    """Return the decomposition that a proof states, evaluated for the model it is asked for."""
    begins, edges = np.asarray(proof.piece_offsets), np.asarray(proof.edges)
    if len(edges) and int(edges.max()) >= bare.num_edges:
        msg = (
            f"`starts` must be bounds of this model, which has {bare.num_edges} edges, but one "
            f"names edge {int(edges.max())}"
        )
        raise MethodError(msg)
    subgraphs = [edges[a:b] for a, b in itertools.pairwise(begins.tolist())]
    state = Decomposition(bare, subgraphs, callback=callback)
    state.y = np.array(proof.couplings, dtype=np.float64)
    state.logits = np.log(np.maximum(proof.weights, 1e-300))
    state.evaluate_start()
    return state


def joined(
    first: Decomposition, second: Decomposition, weight: float, budget: Budget = UNLIMITED
) -> Decomposition:
    """Return a decomposition over the subgraphs of both, ``weight`` of it being the first."""
    both = Decomposition(
        first.bare,
        [*first.pieces.subgraphs, *second.pieces.subgraphs],
        budget=budget,
        callback=first.callback,
    )
    rhos = first.rho(), second.rho()
    both.y = np.concatenate(
        [first.couplings(first.y, rhos[0]), second.couplings(second.y, rhos[1])]
    )
    both.logits = np.log(np.concatenate([weight * rhos[0], (1 - weight) * rhos[1]]))
    both.steps = first.steps + second.steps
    both.evaluations = first.evaluations + second.evaluations
    both.trace = [*first.trace, *second.trace]
    return both
