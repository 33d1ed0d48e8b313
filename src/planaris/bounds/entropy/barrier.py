"""Newton's method on a log barrier over relaxations of the marginal polytope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from planaris.bounds.entropy.entropies import (
    DENSE_SIZE,
    SIGNS,
    LogDetEntropy,
    TreeEntropy,
    log_det,
    log_det_slope,
    moment_matrix,
    moment_places,
)
from planaris.bounds.entropy.newton_systems import NewtonSystems
from planaris.budget import UNLIMITED
from planaris.kernels.relaxations import CycleCuts
from planaris.typing import FloatArray, IntArray

FAR = 0.5
"""Slack from which a cycle is far from binding."""


class Polytope:
    """Moments z with ``rows @ z <= sides`` and, if ``psd``, M1(z) positive semidefinite."""

    def __init__(self, n: int, pairs: IntArray, *, psd: bool) -> None:
        self.n, self.pairs, self.psd = n, pairs, psd
        count = n + len(pairs)
        # 4 P(s_u, s_v) >= 0 for every pair; |E s_v| <= 1 for spins without one.
        place = np.column_stack([pairs, n + np.arange(len(pairs))])
        columns = np.repeat(place, 4, axis=0).ravel()
        values = np.tile(-SIGNS, (len(pairs), 1)).ravel()
        begins = np.arange(0, len(values) + 1, 3)
        local = scipy.sparse.csr_array((values, columns, begins), shape=(4 * len(pairs), count))
        alone = np.flatnonzero(np.bincount(pairs.ravel(), minlength=n) == 0)
        at = np.tile(alone, 2)
        sign = np.repeat([1.0, -1.0], len(alone))
        box = scipy.sparse.csr_array((sign, (np.arange(len(at)), at)), shape=(len(at), count))
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack([local, box])) if len(at) else local
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

    def add_rows(self, rows: Any, sides: FloatArray) -> None:
        """Add any rows ``rows @ z <= sides``."""
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack([self.rows, rows]))
        self.sides = np.concatenate([self.sides, sides])

    def drop_slack(self, z: FloatArray, keep_first: int) -> None:
        """Remove cycles that are far from binding."""
        slack = self.sides - self.rows @ z
        keep = (slack < FAR) | (np.arange(len(slack)) < keep_first)
        self.rows, self.sides = (
            scipy.sparse.csr_array(self.rows[np.flatnonzero(keep)]),
            self.sides[keep],
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """What gave a bound: the point of the tangent, and the multipliers of the rows."""

    z: FloatArray
    duals: FloatArray
    rows: Any


class BarrierSolver:
    """Maximise ``θ·z + H(z)`` over a polytope by Newton's method on a log barrier.

    ``upper`` bounds the maximum at any time: H is concave, so it lies below its tangent at
    the current point, and the multipliers of the barrier bound the tangent over the polytope.
    So it may stop anywhere.
    """

    def __init__(
        self, theta: FloatArray, entropy: TreeEntropy | LogDetEntropy, polytope: Polytope
    ) -> None:
        self.theta, self.entropy, self.polytope = theta, entropy, polytope
        self.z = np.zeros(len(theta))
        self.upper, self.value = np.inf, -np.inf
        self.evidence: Evidence | None = None
        self.steps, self.budget, self.systems = 0, UNLIMITED, NewtonSystems()
        # A first guess, for dense and for sparse factorisations; then as measured.
        dense = polytope.psd or isinstance(entropy, LogDetEntropy)
        size = float(len(theta))
        self.step_seconds = 1.5e-10 * size**3 if dense else 3e-7 * size**1.5

    def late(self) -> bool:
        """Return whether the time is up, or too short for another step."""
        return self.budget.remaining() < self.step_seconds

    def _barrier(self, z: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray | None]:
        """Return Σ log slack (+ log det M1), its gradient, the slacks, and M1's gradient."""
        p = self.polytope
        slack = p.sides - p.rows @ z
        if slack.min(initial=1.0) <= 0:
            return -np.inf, slack, slack, None
        value = float(np.log(slack).sum())
        gradient = -(p.rows.T @ (1 / slack))
        inner = None
        if p.psd:
            matrix = moment_matrix(p.n, p.pairs, z)
            inside, inner = log_det_slope(matrix, *moment_places(p.n, p.pairs))
            value, gradient = value + inside, gradient + inner
        return value, gradient, slack, inner

    def _curvature(self) -> Any:
        """Return the second derivatives of log det M1 at the current point."""
        p = self.polytope
        return log_det(moment_matrix(p.n, p.pairs, self.z), *moment_places(p.n, p.pairs))[2]

    def maximise(self, tolerance: float, *, start: float = 1.0) -> None:
        """Follow the central path until the duality gap is at most ``tolerance``."""
        weight = start
        count = len(self.polytope.sides) + (self.polytope.n + 1 if self.polytope.psd else 0)
        while True:
            # The residual of the Newton steps enters the bound, so end them well at the end.
            self._center(weight, 1e-7 if count * weight < 0.5 * tolerance else 0.02)
            done = self.upper - self.value <= tolerance or count * weight < 0.05 * tolerance
            if done or self.late():
                return
            weight *= 0.15

    def _center(self, weight: float, precision: float) -> None:
        for _ in range(60):
            started = self.budget.seconds()
            if self.late():
                break
            try:
                f, g, h = self.entropy(self.z)
                self.budget.check()
                b, gb, slack, inner = self._barrier(self.z)
                gradient = self.theta + g + weight * gb
                scaled = _scale_rows(self.polytope.rows, 1 / slack)
                self.budget.check()
                curve: Any = -h + weight * (scaled.T @ scaled)
                if inner is not None:
                    curve = curve - weight * self._curvature()
                self.budget.check()
                step = self.systems.solve(curve, gradient, self.budget)
                self.budget.check()
            except (TimeoutError, OverflowError):
                break
            self.steps += 1
            decrement = float(gradient @ step)
            total = float(self.theta @ self.z) + f + weight * b
            length = 1.0
            for _ in range(60):
                trial = self.z + length * step
                bt = self._barrier(trial)[0]
                if bt > -np.inf:
                    value = float(self.theta @ trial) + self.entropy.slope(trial)[0] + weight * bt
                    if value >= total + 0.1 * length * decrement - 1e-12 * abs(total):
                        break
                length /= 2
            else:
                break
            self.z = trial
            self.step_seconds = self.budget.seconds() - started
            if decrement < precision * weight or self.late():
                break
        self._bound(weight)

    def _bound(self, weight: float) -> None:
        f, g = self.entropy.slope(self.z)
        _, _, slack, inner = self._barrier(self.z)
        p, gradient = self.polytope, self.theta + g
        duals = weight / slack
        rest = gradient - p.rows.T @ duals
        most = float(duals @ p.sides)
        if inner is not None:
            # M1(z) = 1 + Σ z E is positive semidefinite, and so is its multiplier t M1^-1.
            rest = rest + weight * inner
            matrix = moment_matrix(p.n, p.pairs, self.z)
            most += weight * float(np.trace(np.linalg.inv(matrix)))
        self.value = float(self.theta @ self.z) + f
        # |z| <= 1 bounds what the multipliers leave over.
        bound = self.value - float(gradient @ self.z) + most + float(np.abs(rest).sum())
        bound += 1e-13 * (abs(most) + float(np.abs(gradient).sum()) + abs(self.value))
        bound += self.entropy.rounding(self.z)
        if bound < self.upper:
            self.upper = bound
            self.evidence = None if p.psd else Evidence(self.z, duals, p.rows)

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


def _scale_rows(rows: Any, scale: FloatArray) -> Any:
    """Return the rows times a factor each, dense if they are short."""
    if rows.shape[1] <= DENSE_SIZE:
        return rows.toarray() * scale[:, None]
    return rows.multiply(scale[:, None])
