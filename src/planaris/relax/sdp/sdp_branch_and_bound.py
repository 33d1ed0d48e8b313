"""Branch and bound with semidefinite bounds, for dense models of up to a few hundred spins."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.relax.cut_form import UNIT, CutForm
from planaris.relax.sdp.cliques import Cliques
from planaris.relax.sdp.semidefinite_bound import SemidefiniteBound
from planaris.typing import FloatArray, Int8Array

ALPHA = (0.02, 1e-3)
"""First and last weight of the regularisation, in units of the largest coupling."""

ROUNDS_PER_NODE = 10
"""Rounds of cuts of a typical node."""

MAX_LEVELS = 6.0
"""Most levels of the tree below a node, in the estimate of what a better bound would save."""

FIRST_GAIN = 0.3
"""Assumed gain of the first branching, as a share of the gap at the root."""

DOUBT = 4
"""How strongly undecided pairs are preferred to strongly coupled ones when a node is split."""

TINY = 1e-300
"""Marks pairs whose score is zero as pairs."""

LOOK_BACK = 3
"""Rounds over which the rate is taken; single ones may gain nothing."""


@dataclass(order=True)
class DenseNode:
    """Spins merged into signed groups; multipliers to start from."""

    bound: float
    order: int
    groups: FloatArray = field(compare=False)
    diagonal: FloatArray | None = field(compare=False, default=None)
    cliques: Cliques | None = field(compare=False, default=None)
    alpha: float = field(compare=False, default=ALPHA[0])


class DenseSearch:
    """Best-bound search; a branch says that two groups are equal or opposite."""

    def __init__(self, form: CutForm, *, gap: float, seed: int, budget: Budget = UNLIMITED) -> None:
        self.form, self.gap, self.budget = form, gap, budget
        self.rng = np.random.default_rng(seed)
        n = form.num_spins
        self.cost = np.zeros((n, n))
        u, v = form.edges[:, 0], form.edges[:, 1]
        self.cost[u, v] = self.cost[v, u] = -form.couplings / 2
        # A power of two near the couplings; the matrix is kept in this unit, so that its
        # squares neither overflow nor vanish.
        largest = float(np.abs(form.couplings).max(initial=0.0))
        self.unit = math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0 else 1.0
        self.cost /= self.unit
        # `base` is the energy of all spins equal; <C, 11'> is its part in the matrix.
        self.shift = form.base - self.unit * float(self.cost.sum())
        self.slop = form.error + 4 * n * UNIT * self.unit * float(np.abs(self.cost).sum())
        self.lower, self.energy = -np.inf, np.inf
        self.finished = np.inf
        self.state: Int8Array = np.ones(form.model.num_spins, dtype=np.int8)
        self.trace: list[dict[str, float]] = []
        self.nodes = self.evaluations = 0
        self.branchings, self.gain = 0, 0.0  # children bounded so far, and what that gained
        self.open: list[DenseNode] = []
        self.counter = itertools.count()

    def offer(self, spins: Int8Array) -> None:
        """Improve a state of the reduced model locally and keep the best."""
        steps = 4 * self.form.num_spins
        better = self.form.improve(np.ascontiguousarray(spins, dtype=np.int8), tabu_steps=steps)
        state = self.form.spins_of(better)
        energy = self.form.energy_of(state)
        if energy < self.energy:
            self.energy, self.state = energy, state

    def closed(self, lower: float) -> bool:
        """Return whether no state can be better than the best one, given a lower bound."""
        return self.form.is_closed(lower, self.energy)

    def proved(self) -> float:
        """Return the lower end of the interval."""
        return self.form.proved_end(self.state, self.energy, self.lower)

    def search(self, budget: Budget) -> str:
        """Run until the tree is empty, the gap is reached or time is up."""
        self.budget, n = budget, self.form.num_spins
        start = budget.share(0.2)
        for k in range(10):
            if k and start.expired():
                break
            self.offer(self.rng.choice(np.array([-1, 1], dtype=np.int8), n))
        self.open = [DenseNode(-np.inf, next(self.counter), self.first_groups())]
        with _one_blas_thread():
            while self.open:
                node = heapq.heappop(self.open)
                self.process(node)
                bounds = [self.open[0].bound] if self.open else []
                self.lower = min([*bounds, self.finished, self.energy])
                self.record()
                budget.report()
                if self.open and self.budget.expired():
                    return "time_limit"
                if self.open and self.energy - self.lower <= self.gap:
                    return "gap"
        return "optimal"

    def first_groups(self) -> FloatArray:
        """Return every spin as a group of its own; those without couplings join the first."""
        used = np.unique(self.form.edges[self.form.couplings != 0])
        groups = np.zeros((self.form.num_spins, max(len(used), 1)))
        groups[:, 0] = 1.0
        groups[used, 0] = 0.0
        groups[used, np.arange(len(used))] = 1.0
        return groups

    def proof(self) -> Any:
        """Return no certificate: the multipliers of the leaves are not kept."""
        return None

    def keep(self, node: DenseNode, engine: SemidefiniteBound, bound: float) -> None:
        """Take note of what bounds a node, in searches that keep a certificate."""

    def keep_child(self, node: DenseNode, pair: tuple[int, int], child: DenseNode) -> None:
        """Take note of a part in which a pair of groups is joined."""

    def record(self) -> None:
        """Add a line to the trace."""
        self.trace.append(
            {
                "round": self.nodes,
                "lower": self.form.absolute(self.lower),
                "upper": self.form.absolute(self.energy),
                "open": len(self.open),
                "seconds": self.budget.seconds(),
            }
        )

    def process(self, node: DenseNode) -> None:
        """Bound a node, then close or split it."""
        if self.closed(node.bound):
            self.finished = min(self.finished, node.bound)
            return
        self.nodes += 1
        cost = node.groups.T @ self.cost @ node.groups
        inner = float(np.trace(cost))
        np.fill_diagonal(cost, 0.0)
        fixed = self.shift + self.unit * inner
        if len(cost) <= 2:
            signs = np.ones(len(cost))
            if len(cost) == 2 and cost[0, 1] > 0:
                signs[1] = -1
            self.offer((node.groups @ signs).astype(np.int8))
            exact = fixed + self.unit * float(signs @ cost @ signs) - self.slop
            self.keep(node, SemidefiniteBound(cost), exact)  # its first multipliers are the best
            self.finished = min(self.finished, max(exact, node.bound))
            return
        engine = SemidefiniteBound(cost, node.diagonal, node.cliques)
        engine.alpha = node.alpha
        bound = self.raise_bound(engine, fixed)
        self.keep(node, engine, bound)
        bound = max(node.bound, bound)
        if node.diagonal is not None:
            self.branchings += 1
            self.gain += (bound - node.bound) / self.unit
        self.round(engine, node)
        self.evaluations += engine.evaluations
        if self.closed(bound):
            self.finished = min(self.finished, bound)
            return
        self.split(node, engine, bound)

    def raise_bound(self, engine: SemidefiniteBound, fixed: float) -> float:
        """Ascend, add cliques, lower α, until closed or not worth it."""
        margin = self.form.quantum * (1 - 2e-6) if self.form.quantum else self.form.resolution / 2
        target = (self.energy - margin - fixed + self.slop) / self.unit
        last, history = ALPHA[1], [-np.inf] * LOOK_BACK
        while True:
            history.append(engine.lower)
            engine.ascend(target, 30, self.budget)
            if engine.lower >= target or self.budget.expired():
                break
            try:
                added = engine.tighten(self.budget)
            except TimeoutError:
                break
            settled = engine.alpha <= last
            gained = (engine.lower - history[-LOOK_BACK]) / LOOK_BACK
            slow = gained < self.worthwhile_gain(target - engine.lower)
            if settled and (slow or not added):
                break
            engine.alpha = max(engine.alpha * 0.5, last)
        return fixed + self.unit * engine.lower - self.slop

    def worthwhile_gain(self, gap: float) -> float:
        """Return the gain of a round that pays for it, in units.

        A tree in which every branching gains Δ has about 2^(gap / Δ) nodes below this one; a gain g
        saves a share g log 2 / Δ of them.
        """
        step = FIRST_GAIN * gap if self.branchings == 0 else self.gain / self.branchings
        step = max(step, gap / MAX_LEVELS)
        return step / (ROUNDS_PER_NODE * math.log(2) * math.exp2(gap / step))

    def round(self, engine: SemidefiniteBound, node: DenseNode) -> None:
        """Cut the vectors of X by random hyperplanes."""
        values, vectors = np.linalg.eigh(engine.x)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        for k in range(5):
            if k and self.budget.expired():
                break
            side = np.where(factor @ self.rng.normal(size=len(values)) < 0, -1.0, 1.0)
            self.offer((node.groups @ side).astype(np.int8))

    def split(self, node: DenseNode, engine: SemidefiniteBound, bound: float) -> None:
        """Branch on a pair of strongly coupled groups about which X is undecided."""
        strength = np.abs(engine.cost).sum(1)
        doubt = np.maximum(1.0 - np.abs(engine.x), 0.0) ** DOUBT
        score = np.triu((strength[:, None] + strength) * doubt + TINY, 1)
        i, j = (int(k) for k in np.unravel_index(np.argmax(score), score.shape))
        pulled = engine.cost - engine.pull(engine.cliques.weight)
        for sign in (1, -1):
            groups = np.delete(node.groups, j, axis=1)
            groups[:, i] += sign * node.groups[:, j]
            # What keeps Z = C - Diag λ - T'γ positive semidefinite under the merge.
            diagonal = np.delete(engine.diagonal, j)
            diagonal[i] += engine.diagonal[j] - 2 * sign * pulled[i, j]
            cliques = engine.cliques.contract(i, j, sign)
            order = next(self.counter)
            child = DenseNode(bound, order, groups, diagonal, cliques, 4 * ALPHA[1])
            heapq.heappush(self.open, child)
            self.keep_child(node, (i, j), child)


def is_dense(form: CutForm) -> bool:
    """Return whether semidefinite bounds pay: linear ones are weak on dense graphs."""
    n = form.num_spins
    return 16 <= n <= 300 and len(form.edges) > 0.3 * n * (n - 1) / 2


def is_small(form: CutForm) -> bool:
    """Return whether semidefinite bounds are quick, and linear ones weak when they are slow."""
    n = form.num_spins
    return 16 <= n <= 150 and len(form.edges) > 3 * n


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Hold the linear algebra to one thread: the matrices are too small to share out."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
