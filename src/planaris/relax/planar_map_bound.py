"""A bound on the lowest energy by planar decomposition (GJ06 section 7).

max_s Σ θ s s <= Σ_r max_s Σ φ^r s s whenever Σ_r φ^r = θ. The best split is the dual of maximising
θ·τ over moments τ that agree with some distribution on every subgraph; on planar subgraphs those
are given by cycle inequalities, so with every chordless cycle in some subgraph it is the cycle LP.

Splits of log Z(β θ) / β are smooth in φ, and at low temperature as good: they are found first, one
temperature after the other. Messages between the subgraphs then make the best state known optimal
in all of them, where that can be; column generation closes what is left.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from planaris import planar, treewidth
from planaris.budget import UNLIMITED, Budget, TimeLimit
from planaris.embed import Embedding
from planaris.errors import MethodError
from planaris.kernels.graph import is_planar
from planaris.models import IsingModel
from planaris.models.arrays import compact
from planaris.relax.cut_form import energy_quantum
from planaris.relax.planar_messages import exchange_messages
from planaris.result import GroundState, SplitProof
from planaris.subgraphs.bias_model import EPSILON, BiasModel, as_bias_model
from planaris.subgraphs.convex_combination import Decomposition
from planaris.subgraphs.families import planar_subgraphs
from planaris.typing import ArrayLike, BoolArray, FloatArray, Int8Array, LongArray

COOLING = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Inverse temperatures, in units of the mean coupling, at which splits are found in turn."""

COOLING_STEPS = 150
"""Most steps of the optimiser at each of them."""

NEARLY = 0.02
"""Bounds this near to the weight of a state, relatively, may be closed by messages."""

ENTRY_SECONDS = 1e-6
"""What the program takes per entry before it looks at the clock."""


def map_bound(
    model: IsingModel,
    *,
    subgraphs: str | list[ArrayLike] = "auto",
    max_rounds: int = 20,
    tolerance: float = 1e-7,
    time_limit: TimeLimit = None,
    rng: np.random.Generator | None = None,
) -> GroundState:
    """Bound the lowest energy from below by ground states of planar subgraphs.

    Parameters
    ----------
    model, subgraphs, time_limit, rng
        As for :func:`planaris.bounds.pdc`.
    max_rounds : int
        Most rounds of column generation; each solves every subgraph once.
    tolerance : float
        Stop when the split is this close to the best one, relative to the energies.

    Returns
    -------
    GroundState
        ``lower`` holds at any stop; ``spins`` is the best of the subgraphs' ground states.
        ``exact`` as for :func:`planaris.relax.branch_and_cut`.

    Examples
    --------
    >>> k5 = IsingModel([(u, v) for u in range(5) for v in range(u)], -0.3)
    >>> all_but_one = [[e for e in range(10) if e != left] for left in range(10)]
    >>> found = map_bound(k5, subgraphs=all_but_one)
    >>> round(found.lower, 4), round(found.energy, 4)  # the cycle LP gives -1 too
    (-1.0, -0.6)
    """
    budget = Budget.of(time_limit)
    bare = as_bias_model(model)
    if not np.any(bare.couplings):
        spins = np.ones(model.num_spins, dtype=np.int8)
        energy = float(model.energy(spins))
        return GroundState.of(model, spins, energy, method="map-bound")
    half = budget.share(0.6)
    try:
        with budget.for_structure():
            family = _whole_if_planar(bare) if subgraphs == "auto" else []
        family = family or planar_subgraphs(bare, subgraphs, rng, budget=half)
        # Of a single edge its size is known, as it is of all that no subgraph holds.
        family = [members for members in family if len(members)] or [np.zeros(1, np.int64)]
        master = _Master(bare, family, budget, setup=budget)
    except TimeoutError:  # the sizes of all couplings are all that can be said
        family, budget = [np.arange(bare.num_edges)], budget.within(0.0)
        master = _Master(bare, family, budget, setup=UNLIMITED)
    master.price()
    master.cool(budget.share(0.5))
    master.exchange(budget.share(0.5))
    rounds = 0
    while rounds < max_rounds and not master.closed(tolerance) and master.solve():
        master.price()
        rounds += 1
    size = float(np.abs(bare.couplings).sum())
    slack = 64 * EPSILON * len(family) * (size + abs(model.offset)) + master.missed
    lower = -master.best - model.offset - slack
    spins = _model_state(model, bare, master.best_state, budget)
    energy = float(model.energy(spins))
    between = lower > energy - energy_quantum(model) * (1 - 1e-6)  # no energy lies there
    return GroundState.of(
        model,
        spins,
        energy if between else lower,
        method="map-bound",
        rounds=rounds,
        seconds=budget.seconds(),
        certificate=master.proof(budget.to_finish()),
    )


def _whole_if_planar(bare: BiasModel) -> list[LongArray]:
    """Return one subgraph that holds every coupling, if that is planar."""
    members = np.flatnonzero(bare.couplings)
    edges = np.ascontiguousarray(bare.edges[members])
    return [members] if is_planar(bare.num_spins, edges) else []


class _Master:
    """Mixtures of states on every subgraph that agree on shared edges, by column generation."""

    def __init__(
        self, bare: BiasModel, family: list[LongArray], budget: Budget, setup: Budget
    ) -> None:
        self.bare, self.family, self.budget = bare, family, budget
        self.count = np.zeros(bare.num_edges, dtype=np.int64)
        fresh: list[BoolArray] = []
        """Edges of every subgraph that no subgraph before it holds."""
        for members in family:
            setup.check()
            fresh.append(self.count[members] == 0)
            self.count[members] += 1
        self.fresh = fresh
        share = bare.couplings / np.maximum(self.count, 1)
        self.split = self._completed([share[s] for s in family], setup)
        self.best_split = self.split
        self.best_proofs: list[Any] = [None] * len(family)
        self.columns: list[list[Any]] = [[] for _ in family]
        self.states: list[Int8Array] = []
        self.weights: list[float] = []
        """Σ J s s of every state."""
        self.best, self.value = math.inf, -math.inf
        self.plans = []
        for members in family:
            setup.check()
            self.plans.append(_state_solver(bare, members, budget))
        # One state of the whole model, in every mixture, makes the master feasible.
        start = np.ones(bare.num_spins, dtype=np.int8)
        self.add_state(_improved(bare, start, budget.share(0.1)))

    def add_state(self, spins: Int8Array) -> None:
        """Give every subgraph this state of the whole model as a column."""
        agree = self._take_state(spins)
        for columns, members in zip(self.columns, self.family, strict=True):
            columns.append(agree[members])

    def _take_state(self, spins: Int8Array) -> Int8Array:
        """Take note of a state; return s_u s_v of every edge."""
        u, v = self.bare.edges.T
        agree: Int8Array = spins[u] * spins[v]
        self.states.append(spins)
        self.weights.append(float(self.bare.couplings @ agree))
        return agree

    @property
    def best_state(self) -> Int8Array:
        """The state of largest weight."""
        return self.states[int(np.argmax(self.weights))]

    def cool(self, budget: Budget) -> None:
        """Try the splits of log Z at lower and lower temperature."""
        unit = float(np.abs(self.bare.couplings[np.flatnonzero(self.bare.couplings)]).mean())
        state, last = None, math.inf
        for beta in COOLING if len(self.family) > 1 else ():
            if not math.isfinite(beta / unit):  # subnormal couplings
                return
            cold = replace(self.bare, couplings=self.bare.couplings * (beta / unit))
            try:
                fresh = Decomposition(cold, self.family, budget=budget)
                if state is not None:
                    fresh.y, fresh.logits = state.y * (beta / last), state.logits
                status = fresh.minimise(COOLING_STEPS, 1e-6)
            except (MethodError, TimeoutError):  # not planar, too cold, or too late
                return
            state, last, before = fresh, beta, self.best
            rho, theta = state.rho(), state.couplings(state.y, state.rho())
            parts = np.split(theta, state.pieces.offsets[1:-1])
            split = [part * (w * (unit / beta)) for part, w in zip(parts, rho, strict=True)]
            if not self._balance(split):
                return
            self.price()
            if status in ("time_limit", "precision") or before - self.best < 1e-9 * abs(before):
                return

    def exchange(self, budget: Budget) -> None:
        """Let subgraphs exchange couplings until all agree on the best state known, if they can."""
        best = _improved(self.bare, self.best_state, budget.share(0.1))
        self.add_state(best)
        weight = self.weights[-1]
        if self.best - weight > NEARLY * (1 + abs(self.best)) or budget.expired():
            return
        args = self.bare, self.family, self.plans, self.best_split, best
        split = exchange_messages(*args, budget)
        if split is not None and self._balance(split):
            self.price()

    def closed(self, tolerance: float) -> bool:
        """Return whether no split is much better, or some state has the energy of the bound."""
        best = max(self.weights[-50:])
        return bool(self.best - max(self.value, best) <= tolerance * (1 + abs(self.best)))

    def price(self) -> None:
        """Solve every subgraph for the present split: a bound, and a new column each.

        When the time is over, the sizes of a subgraph's couplings bound what is left.
        """
        total = 0.0
        proofs: list[Any] = [None] * len(self.plans)
        for r, solve in enumerate(self.plans):
            if self.budget.expired():
                total += float(np.abs(self.split[r]).sum()) * (1 + 1e-12)
                continue
            try:
                value, moments, spins, proofs[r] = solve(self.split[r])
            except TimeoutError:
                total += float(np.abs(self.split[r]).sum()) * (1 + 1e-12)
                continue
            total += value
            self.columns[r].append(moments)
            self._take_state(spins)
        if total < self.best:
            self.best, self.best_split, self.best_proofs = total, self.split, proofs

    def proof(self, budget: Budget) -> SplitProof | None:
        """Return the best split, and what bounds its pieces; None long after the deadline."""
        offsets = np.cumsum([0, *map(len, self.family)])
        edges, couplings = np.empty(offsets[-1], dtype=np.int64), np.empty(offsets[-1])
        for r, (members, part) in enumerate(zip(self.family, self.best_split, strict=True)):
            if budget.expired():
                return None
            own = slice(offsets[r], offsets[r + 1])
            edges[own], couplings[own] = members, part
        return SplitProof(
            piece_offsets=offsets, edges=edges, couplings=couplings, proofs=self.best_proofs
        )

    def solve(self) -> bool:
        """Maximise θ·τ over mixtures of the columns; the duals are the next split.

        They are pulled towards the best split so far, which keeps them from jumping. Returns
        False when there was no time for it.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        # A third: the program is assembled before, and subgraphs are solved after it.
        left = self.budget.remaining() / 3
        entries = sum(
            len(members) * (len(columns) + 1)
            for members, columns in zip(self.family, self.columns, strict=True)
        )
        if left <= ENTRY_SECONDS * entries:
            return False

        m = self.bare.num_edges
        rows, columns, values, kinds = [], [], [], []
        place = 0
        offset = 0
        for r, members in enumerate(self.family):
            for moments in self.columns[r]:
                rows += [offset + np.arange(len(members))]
                columns += [np.full(len(members), m + place)]
                values += [moments]
                kinds.append(r)
                place += 1
            rows.append(offset + np.arange(len(members)))
            columns.append(members)
            values.append(-np.ones(len(members)))
            offset += len(members)
        # One row per subgraph: its mixture adds up to one.
        rows.append(offset + np.array(kinds))
        columns.append(m + np.arange(place))
        values.append(np.ones(place))
        matrix = coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(offset + len(self.family), m + place),
        )
        right = np.concatenate([np.zeros(offset), np.ones(len(self.family))])
        cost = np.concatenate([-self.bare.couplings, np.zeros(place)])
        solver: Any = linprog
        found = solver(
            cost,
            A_eq=matrix.tocsr(),
            b_eq=right,
            bounds=[(None, None)] * m + [(0.0, None)] * place,
            method="highs",
            options={} if left == math.inf else {"time_limit": left},
        )
        if found.status != 0:
            return False
        self.value = -float(found.fun)
        duals = np.asarray(found.eqlin.marginals)[:offset]
        ends = np.cumsum([len(s) for s in self.family])
        raw = np.split(duals, ends[:-1])
        return self._balance([0.5 * a + 0.5 * b for a, b in zip(raw, self.best_split, strict=True)])

    def _balance(self, split: list[FloatArray]) -> bool:
        """Take a split, what is missing from θ being shared out evenly; False without the time."""
        try:
            miss = self._missing(split, self.budget) / np.maximum(self.count, 1)
            balanced = []
            for part, members in zip(split, self.family, strict=True):
                self.budget.check()
                balanced.append(part + miss[members])
            self.split = self._completed(balanced, self.budget)
        except TimeoutError:
            return False
        return True

    def _missing(self, split: list[FloatArray], budget: Budget) -> FloatArray:
        """Return θ - Σ_r φ^r of every edge: what rounding leaves."""
        total = np.zeros(self.bare.num_edges)
        for part, members in zip(split, self.family, strict=True):
            budget.check()
            total[members] += part
        return np.asarray(self.bare.couplings - total)

    def _completed(self, split: list[FloatArray], budget: Budget) -> list[FloatArray]:
        """Return the split with what is missing given to the first subgraph of every edge.

        Sums of subnormal numbers are exact, so nothing is missing from those.
        """
        missing = self._missing(split, budget)
        for part, members, fresh in zip(split, self.family, self.fresh, strict=True):
            budget.check()
            part += np.where(fresh, missing[members], 0.0)
        return split

    @property
    def missed(self) -> float:
        """How much the best split leaves out, over all edges: no state has more of it."""
        return float(np.abs(self._missing(self.best_split, UNLIMITED)).sum())


def _state_solver(bare: BiasModel, members: LongArray, budget: Budget) -> Any:
    """Return a function from couplings to (largest weight, s_u s_v of a best state, it, proof)."""
    spins, edges = compact(bare.edges[members], bare.num_spins)

    @cache
    def plane() -> Embedding | None:
        with budget.for_structure():
            return Embedding.if_planar(edges, num_vertices=len(spins))

    def solve(couplings: FloatArray) -> tuple[float, FloatArray, Int8Array, Any]:
        part = IsingModel(edges, couplings, num_spins=len(spins))
        embedding = plane()
        if embedding is None:
            found = treewidth.ground_state(part)
        else:
            found = planar.ground_state(part, embedding=embedding, time_limit=budget.quiet())
        full = np.ones(bare.num_spins, dtype=np.int8)
        full[spins] = found.spins
        s = found.spins.astype(np.float64)
        return -found.lower, s[edges[:, 0]] * s[edges[:, 1]], full, found.certificate

    return solve


def _improved(bare: BiasModel, spins: Int8Array, budget: Budget) -> Int8Array:
    from planaris.kernels.relaxations import improve_spins

    edges = np.ascontiguousarray(bare.edges)
    return improve_spins(
        bare.num_spins,
        edges,
        bare.couplings,
        spins,
        tabu_steps=4 * bare.num_spins,
        budget=budget,
    )


def _model_state(model: IsingModel, bare: BiasModel, best: Int8Array, budget: Budget) -> Int8Array:
    """Return a state of the model, after a local search."""
    spins = _improved(bare, best, budget)
    return (spins[:-1] * spins[-1]).astype(np.int8) if model.has_fields else spins
