"""Upper bounds on log Z: concave entropies over outer bounds of the marginal polytope (SJ07)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from planaris.errors import MethodError, TooLargeError
from planaris.kernels.cuts import CycleCuts, improve_spins, separate_cycles
from planaris.models import IsingModel
from planaris.relax.cut_form import with_field_spin
from planaris.relax.entropies import (
    SIGNS,
    Derivatives,
    LogDetEntropy,
    TreeEntropy,
    heaviest_tree,
    log_det,
    moment_matrix,
    moment_places,
    uniform_tree_probabilities,
)
from planaris.result import LogPartition
from planaris.typing import FloatArray, IntArray

POLYTOPES = ("local", "psd", "cycle", "marginal")
MAX_MARGINAL_SPINS = 14
MAX_LOG_DET_SPINS = 60


class Polytope:
    """Moments z with ``rows @ z <= sides`` and, if ``psd``, M1(z) positive semidefinite."""

    def __init__(self, n: int, pairs: IntArray, *, psd: bool) -> None:
        self.n, self.pairs, self.psd = n, pairs, psd
        count = n + len(pairs)
        # 4 P(s_u, s_v) >= 0 for every pair; |E s_v| <= 1 for spins without one.
        index = np.repeat(np.arange(4 * len(pairs)), 3)
        place = np.column_stack([pairs, n + np.arange(len(pairs))])
        columns = np.repeat(place, 4, axis=0).ravel()
        values = np.tile(-SIGNS, (len(pairs), 1)).ravel()
        local = scipy.sparse.csr_array((values, (index, columns)), shape=(4 * len(pairs), count))
        alone = np.flatnonzero(np.bincount(pairs.ravel(), minlength=n) == 0)
        at = np.tile(alone, 2)
        sign = np.repeat([1.0, -1.0], len(alone))
        box = scipy.sparse.csr_array((sign, (np.arange(len(at)), at)), shape=(len(at), count))
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack([local, box]))
        self.sides = np.ones(self.rows.shape[0])

    def add_cycles(self, cuts: CycleCuts) -> None:
        """Add Σ_{C-F} E s_u s_v - Σ_F E s_u s_v <= |C| - 2."""
        lengths = np.diff(cuts.offsets)
        rows = np.repeat(np.arange(len(cuts)), lengths)
        shape = (len(cuts), self.rows.shape[1])
        fresh = scipy.sparse.csr_array(
            (1.0 - 2.0 * cuts.odd, (rows, self.n + cuts.edges)), shape=shape
        )
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack([self.rows, fresh]))
        self.sides = np.concatenate([self.sides, lengths - 2.0])

    def drop_slack(self, z: FloatArray, keep_first: int, room: float) -> None:
        """Remove cycles that are far from binding."""
        slack = self.sides - self.rows @ z
        keep = (slack < room) | (np.arange(len(slack)) < keep_first)
        self.rows, self.sides = (
            scipy.sparse.csr_array(self.rows[np.flatnonzero(keep)]),
            self.sides[keep],
        )


class BarrierSolver:
    """Maximise ``θ·z + H(z)`` over a polytope by Newton's method on a log barrier.

    ``upper`` bounds the maximum at any time: H is concave, so it lies below its tangent at
    the current point, and the multipliers of the barrier bound the tangent over the polytope.
    """

    def __init__(
        self, theta: FloatArray, entropy: Callable[[FloatArray], Derivatives], polytope: Polytope
    ) -> None:
        self.theta, self.entropy, self.polytope = theta, entropy, polytope
        self.z = np.zeros(len(theta))
        self.upper, self.value = np.inf, -np.inf
        self.steps = 0

    def _barrier(self, z: FloatArray) -> tuple[float, FloatArray, FloatArray, Derivatives | None]:
        """Return Σ log slack (+ log det M1), its gradient, the slacks, and M1's derivatives."""
        p = self.polytope
        slack = p.sides - p.rows @ z
        if slack.min(initial=1.0) <= 0:
            return -np.inf, slack, slack, None
        value = float(np.log(slack).sum())
        gradient = -(p.rows.T @ (1 / slack))
        inner = None
        if p.psd:
            inner = log_det(moment_matrix(p.n, p.pairs, z), *moment_places(p.n, p.pairs))
            value, gradient = value + inner[0], gradient + inner[1]
        return value, gradient, slack, inner

    def maximise(self, tolerance: float, *, start: float = 1.0) -> None:
        """Follow the central path until the duality gap is at most ``tolerance``."""
        weight = start
        count = len(self.polytope.sides) + (self.polytope.n + 1 if self.polytope.psd else 0)
        while True:
            # The residual of the Newton steps enters the bound, so end them well at the end.
            self._center(weight, 1e-7 if count * weight < 0.5 * tolerance else 0.02)
            if self.upper - self.value <= tolerance or count * weight < 0.05 * tolerance:
                return
            weight *= 0.15

    def _center(self, weight: float, precision: float) -> None:
        for _ in range(60):
            f, g, h = self.entropy(self.z)
            b, gb, slack, inner = self._barrier(self.z)
            gradient = self.theta + g + weight * gb
            scaled = self.polytope.rows.multiply(1 / slack[:, None])
            curve: Any = -h + weight * (scaled.T @ scaled)
            if inner is not None:
                curve = curve - weight * inner[2]
            step = _solve(curve, gradient)
            self.steps += 1
            decrement = float(gradient @ step)
            total = float(self.theta @ self.z) + f + weight * b
            length = 1.0
            for _ in range(60):
                trial = self.z + length * step
                bt = self._barrier(trial)[0]
                if bt > -np.inf:
                    value = float(self.theta @ trial) + self.entropy(trial)[0] + weight * bt
                    if value >= total + 0.1 * length * decrement - 1e-12 * abs(total):
                        break
                length /= 2
            else:
                break
            self.z = trial
            if decrement < precision * weight:
                break
        self._bound(weight)

    def _bound(self, weight: float) -> None:
        f, g, _ = self.entropy(self.z)
        _, _, slack, inner = self._barrier(self.z)
        p, gradient = self.polytope, self.theta + g
        duals = weight / slack
        rest = gradient - p.rows.T @ duals
        most = float(duals @ p.sides)
        if inner is not None:
            # M1(z) = 1 + Σ z E is positive semidefinite, and so is its multiplier t M1^-1.
            rest = rest + weight * inner[1]
            matrix = moment_matrix(p.n, p.pairs, self.z)
            most += weight * float(np.trace(np.linalg.inv(matrix)))
        self.value = float(self.theta @ self.z) + f
        # |z| <= 1 bounds what the multipliers leave over.
        bound = self.value - float(gradient @ self.z) + most + float(np.abs(rest).sum())
        bound += 1e-13 * (abs(most) + float(np.abs(gradient).sum()) + abs(self.value))
        self.upper = min(self.upper, bound)

    def restart(self) -> None:
        """Move towards the centre until all rows are slack again, for new rows."""
        self.upper = np.inf
        while self._barrier(self.z)[0] == -np.inf or (
            (self.polytope.sides - self.polytope.rows @ self.z).min(initial=1.0) < 1e-3
        ):
            self.z = 0.9 * self.z
            if np.abs(self.z).max(initial=0.0) < 1e-6:
                self.z[:] = 0.0
                return


def _solve(curve: Any, gradient: FloatArray) -> FloatArray:
    """Solve a symmetric positive definite system, sparse or dense."""
    if isinstance(curve, np.ndarray) or curve.shape[0] <= 120:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        dense = curve if isinstance(curve, np.ndarray) else curve.toarray()
        scale = 1 / np.sqrt(np.maximum(np.diagonal(dense), 1e-300))
        scaled = dense * scale * scale[:, None]
        scaled[np.diag_indices(len(scale))] += 1e-14
        try:
            return np.asarray(scale * cho_solve(cho_factor(scaled), scale * gradient))
        except LinAlgError:
            return np.asarray(scale * np.linalg.lstsq(scaled, scale * gradient, rcond=None)[0])
    from scipy.sparse.linalg import splu

    return np.asarray(splu(curve.tocsc(), diag_pivot_thresh=0.0).solve(gradient))


class VertexSolver:
    """Maximise ``θ·z + H(z)`` over the marginal polytope itself, by weights of all states."""

    def __init__(
        self, theta: FloatArray, entropy: Callable[[FloatArray], Derivatives], vertices: FloatArray
    ) -> None:
        self.theta, self.entropy, self.vertices = theta, entropy, vertices
        self.weights = np.full(len(vertices), 1 / len(vertices))
        self.upper, self.value = np.inf, -np.inf
        self.z = self.weights @ vertices
        self.steps = 0

    def maximise(self, tolerance: float) -> None:
        """Barrier on the weights; Newton steps by the Woodbury formula."""
        weight = 1.0
        while True:
            for _ in range(60):
                if self._newton(weight) < 0.02 * weight:
                    break
            self._bound()
            if self.upper - self.value <= tolerance or len(self.weights) * weight < tolerance / 50:
                return
            weight *= 0.2

    def _objective(self, weights: FloatArray, weight: float) -> float:
        z = weights @ self.vertices
        return float(self.theta @ z) + self.entropy(z)[0] + weight * float(np.log(weights).sum())

    def _newton(self, weight: float) -> float:
        _, g, h = self.entropy(self.z)
        hessian = h if isinstance(h, np.ndarray) else h.toarray()
        gradient = self.vertices @ (self.theta + g) + weight / self.weights
        inverse = self.weights**2 / weight
        # (D + V B V')^-1 with B = -H, D diagonal: only as large as the moments.
        thin = self.vertices * inverse[:, None]
        # With B = R R': R (1 + R' V' D^-1 V R)^-1 R', all eigenvalues inside at least one.
        values, vectors = np.linalg.eigh(-hessian)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        inside = np.eye(len(hessian)) + root.T @ (self.vertices.T @ thin) @ root
        factor = np.linalg.cholesky(inside)

        def apply(x: FloatArray) -> FloatArray:
            y = np.linalg.solve(factor.T, np.linalg.solve(factor, root.T @ (thin.T @ x)))
            return np.asarray(inverse * x - thin @ (root @ y))

        ones = np.ones(len(self.weights))
        left, right = apply(gradient), apply(ones)
        step = left - right * (left.sum() / right.sum())
        decrement = float(gradient @ step)
        self.steps += 1
        before = self._objective(self.weights, weight)
        length = 1.0
        falling = step < 0
        if falling.any():
            length = min(1.0, 0.95 * float((-self.weights[falling] / step[falling]).min()))
        for _ in range(50):
            trial = self.weights + length * step
            if self._objective(trial, weight) >= before + 0.1 * length * decrement - 1e-12:
                self.weights = trial / trial.sum()
                self.z = self.weights @ self.vertices
                return decrement
            length /= 2
        return 0.0

    def _bound(self) -> None:
        f, g, _ = self.entropy(self.z)
        gradient = self.theta + g
        self.value = float(self.theta @ self.z) + f
        most = float((self.vertices @ gradient).max())
        bound = self.value - float(gradient @ self.z) + most
        self.upper = min(self.upper, bound + 1e-13 * (1 + abs(bound)))


def entropy_bound(
    model: IsingModel,
    *,
    entropy: str = "trw",
    polytope: str = "cycle",
    rho: FloatArray | str = "uniform",
    tolerance: float = 1e-4,
    max_rounds: int = 50,
    time_limit: float | None = None,
    threads: int | None = None,
) -> LogPartition:
    """Bound log Z from above by an entropy bound over an outer bound of the marginal polytope.

    Parameters
    ----------
    model : IsingModel
        Any model; ``"log-det"`` takes up to 60 spins, ``polytope="marginal"`` up to 14.
    entropy : {"trw", "log-det"}
        Tree-reweighted entropy, or that of a Gaussian.
    polytope : {"local", "psd", "cycle", "marginal"}
        LOCAL, LOCAL with a positive semidefinite moment matrix, LOCAL with all cycle
        inequalities (SJ07 Algorithm 1), or the marginal polytope itself.
    rho : numpy.ndarray, "uniform" or "optimal"
        Edge appearance probabilities of the tree-reweighted entropy: given, of the uniform
        spanning tree, or optimised over the spanning tree polytope.
    tolerance : float
        Largest duality gap of each program.
    max_rounds : int
        Most rounds of cycle cuts (and of improvements of ``rho``).
    time_limit : float, optional
        Seconds; the bound found by then is returned.
    threads : int, optional
        Threads for the separation.

    Returns
    -------
    LogPartition
        ``upper`` holds at any stop; ``lower`` is the log weight of the best state found.
        ``stats`` has the pseudomarginals ``nodes`` (P(s = +1)) and ``edges`` (P(s_u = s_v)),
        ``gap``, ``rho`` and ``trace``, one line per round.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bound = entropy_bound(triangle)
    >>> bool(2.797846 <= bound.upper < 3.0)
    True
    """
    for name, given, allowed in (
        ("entropy", entropy, ("trw", "log-det")),
        ("polytope", polytope, POLYTOPES),
    ):
        if given not in allowed:
            msg = f"`{name}` must be one of {allowed}, got {given!r}"
            raise MethodError(msg)
    program = EntropyProgram(model, entropy, polytope, tolerance=tolerance, threads=threads)
    limit = np.inf if time_limit is None else time_limit
    if isinstance(rho, str):
        rho_values = uniform_tree_probabilities(model.num_spins, model.edges)
    else:
        rho_values = np.asarray(rho, dtype=np.float64)
    program.set_rho(rho_values)
    status = program.solve(max_rounds=max_rounds, limit=limit)
    if isinstance(rho, str) and rho == "optimal" and entropy == "trw":
        status = program.improve_rho(max_rounds=max_rounds, limit=limit)
    return program.result(status)


class EntropyProgram:
    """One model, one entropy, one polytope; cuts and ρ improve in turns."""

    def __init__(
        self,
        model: IsingModel,
        entropy: str,
        polytope: str,
        *,
        tolerance: float,
        threads: int | None = None,
    ) -> None:
        self.model, self.kind, self.polytope_name = model, entropy, polytope
        self.tolerance, self.threads = tolerance, threads
        self.started = time.monotonic()
        n = model.num_spins
        full = entropy == "log-det" or polytope == "psd"
        _check_size(n, full=full, marginal=polytope == "marginal")
        self.pairs = _all_pairs(n, model.edges) if full else model.edges
        self.theta = np.zeros(n + len(self.pairs))
        self.theta[:n] = model.fields
        self.theta[n : n + model.num_edges] = model.couplings
        self.polytope = Polytope(n, self.pairs, psd=polytope == "psd")
        self.local_rows = len(self.polytope.sides)
        self.rho: FloatArray = np.zeros(len(self.pairs))
        self.upper, self.gap = np.inf, np.inf
        self.z: FloatArray = np.zeros(len(self.theta))
        self.trace: list[dict[str, float]] = []
        self.rounds = 0

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started

    def set_rho(self, rho: FloatArray) -> None:
        """Set the edge appearance probabilities; pairs that are no edges get none."""
        self.rho = np.zeros(len(self.pairs))
        self.rho[: self.model.num_edges] = rho[: self.model.num_edges]

    def entropy(self) -> Callable[[FloatArray], Derivatives]:
        """Return the entropy of the present ρ."""
        n = self.model.num_spins
        if self.kind == "log-det":
            return LogDetEntropy(n, self.pairs)
        return TreeEntropy(n, self.pairs, self.rho)

    def solve(self, *, max_rounds: int, limit: float) -> str:
        """Maximise, cut, and repeat (SJ07 Algorithm 1)."""
        solver: BarrierSolver | VertexSolver
        if self.polytope_name == "marginal":
            solver = VertexSolver(self.theta, self.entropy(), _vertices(self.model, self.pairs))
            solver.maximise(self.tolerance)
            self._take(solver, 0)
            return "optimal"
        solver = BarrierSolver(self.theta, self.entropy(), self.polytope)
        solver.z = 0.9 * self.z
        solver.restart()
        # Cuts need no precise point; the last rounds get one.
        precise = self.polytope_name != "cycle"
        for rounds in itertools.count():
            tolerance = self.tolerance if precise else max(20 * self.tolerance, 1e-2)
            solver.maximise(tolerance, start=1.0 if rounds == 0 else 0.02)
            if self.polytope_name != "cycle":
                self._take(solver, 0)
                return "optimal"
            x = np.ascontiguousarray((1 - solver.z[self.model.num_spins :]) / 2)
            cuts = self.separate(x)
            if not len(cuts) and not precise:
                precise = True
                solver.maximise(self.tolerance, start=1e-3)
                x = np.ascontiguousarray((1 - solver.z[self.model.num_spins :]) / 2)
                cuts = self.separate(x)
            self._take(solver, len(cuts))
            if not len(cuts):
                return "optimal"
            if rounds >= max_rounds:
                return "max_rounds"
            if self.seconds() > limit:
                return "time_limit"
            self.polytope.drop_slack(solver.z, self.local_rows, 0.5)
            self.polytope.add_cycles(cuts)
            solver.restart()
        raise AssertionError

    def separate(self, x: FloatArray) -> CycleCuts:
        """Find violated cycles; the quick search alone suffices while it finds some."""
        return separate_cycles(
            self.model.num_spins, self.pairs, x, min_violation=1e-3, threads=self.threads
        )

    def _take(self, solver: BarrierSolver | VertexSolver, cuts: int) -> None:
        self.z, self.gap = solver.z, solver.upper - solver.value
        self.value = solver.value
        self.upper = min(self.upper, solver.upper)
        self.trace.append(
            {
                "round": self.rounds,
                "upper": self.upper + self.model.offset,
                "gap": self.gap,
                "cuts": cuts,
                "rows": len(self.polytope.sides),
                "seconds": self.seconds(),
                "nodes": (1 + self.z[: self.model.num_spins]) / 2,  # type: ignore[dict-item]
            }
        )
        self.rounds += 1

    def improve_rho(self, *, max_rounds: int, limit: float) -> str:
        """Conditional gradient on ρ: the bound falls along the tree of most information."""
        n = self.model.num_spins
        for k in range(max_rounds):
            if self.seconds() > limit:
                return "time_limit"
            edges, rho = self.model.edges, self.rho[: self.model.num_edges]
            information = TreeEntropy(n, self.pairs, self.rho).information(self.z)[: len(edges)]
            tree = heaviest_tree(n, edges, information)
            room = float(information @ (tree - rho))
            if room < 10 * self.tolerance:
                return "optimal"
            best, old = self.upper, rho
            step = 2.0 / (k + 4)
            for _ in range(4):
                self.set_rho((1 - step) * old + step * tree)
                self.solve(max_rounds=max_rounds, limit=limit)
                if self.upper < best:
                    break
                step /= 4
            else:
                self.set_rho(old)
                return "optimal"
        return "max_rounds"

    def result(self, status: str) -> LogPartition:
        """Return the bound with its pseudomarginals."""
        model = self.model
        n = model.num_spins
        edges, couplings = with_field_spin(model)
        start = np.append(np.where(self.z[:n] < 0, -1, 1), 1).astype(np.int8)
        state = improve_spins(n + 1, edges, couplings, start, tabu_steps=4 * n)
        lower = float(model.log_weight((state[:-1] * state[-1]).astype(np.int8)))
        upper = self.upper + model.offset
        return LogPartition(
            value=upper,
            lower=min(lower, upper),
            upper=upper,
            exact=False,
            method="trw" if self.kind == "trw" else "logdet",
            stats={
                "status": status,
                "nodes": (1 + self.z[:n]) / 2,
                "edges": (1 + self.z[n : n + model.num_edges]) / 2,
                "gap": self.gap,
                "rho": self.rho[: model.num_edges],
                "polytope": self.polytope_name,
                "rounds": self.rounds - 1,
                "seconds": self.seconds(),
                "trace": self.trace,
            },
        )


def _check_size(n: int, *, full: bool, marginal: bool) -> None:
    if marginal and n > MAX_MARGINAL_SPINS:
        msg = (
            f"`polytope='marginal'` lists all states, so it takes at most {MAX_MARGINAL_SPINS} "
            f"spins, got {n}; use polytope='cycle'"
        )
        raise TooLargeError(msg, bytes_needed=8 * 2**n * n * n)
    if full and n > MAX_LOG_DET_SPINS:
        msg = (
            f"the moment matrix of all pairs is taken for at most {MAX_LOG_DET_SPINS} spins, "
            f"got {n}; use entropy='trw' with polytope='cycle'"
        )
        raise TooLargeError(msg, bytes_needed=8 * (n * n // 2) ** 2)


def _all_pairs(n: int, edges: IntArray) -> IntArray:
    """Return the edges, in their order, then all other pairs."""
    missing = np.ones((n, n), dtype=bool)
    missing[edges[:, 0], edges[:, 1]] = missing[edges[:, 1], edges[:, 0]] = False
    rest = np.argwhere(np.triu(missing, 1)).astype(np.int32)
    return np.ascontiguousarray(np.concatenate([edges, rest]))


def _vertices(model: IsingModel, pairs: IntArray) -> FloatArray:
    """Return the moments of all states, one row each."""
    n = model.num_spins
    states = np.array(list(itertools.product([1.0, -1.0], repeat=n))).reshape(-1, n)
    return np.concatenate([states, states[:, pairs[:, 0]] * states[:, pairs[:, 1]]], axis=1)
