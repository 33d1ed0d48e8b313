"""Linear programs with row generation: warm-started, with bounds safe from rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.errors import PlanarisError
from planaris.models.base import exact_sum
from planaris.relax.cut_form import UNIT
from planaris.typing import Array, BoolArray, FloatArray, IntArray

SLICE = 0.5
"""Seconds for which HiGHS runs without looking up; Python sees signals in between."""


ROWS_AT_ONCE = 2**15
"""Rows that are given to HiGHS between two looks at the clock."""


class GrowingLP:
    """Minimise ``cost @ x`` over boxed columns and rows that are added and purged.

    Solved by HiGHS's dual simplex method, warm-started. :meth:`safe_bound` does not trust the
    solver: it evaluates weak duality from the returned multipliers with all rounding charged.

    Parameters
    ----------
    cost, lower, upper : numpy.ndarray
        Of the columns; bounds must be finite.
    groups : numpy.ndarray, optional
        Number of a group for every column. The columns of a group are known to be
        non-negative and to sum to one; the safe bound then loses only the worst error of each
        group, not all of them.
    """

    def __init__(
        self,
        cost: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        *,
        groups: Array | None = None,
    ) -> None:
        import highspy

        solver: Any = highspy

        self.cost = np.array(cost)
        self.groups = groups
        self.lower, self.upper = np.array(lower), np.array(upper)
        self.offsets: IntArray = np.zeros(1, dtype=np.int32)
        self.columns: IntArray = np.zeros(0, dtype=np.int32)
        self.values: FloatArray = np.zeros(0)
        self.row_lower: FloatArray = np.zeros(0)
        self.row_upper: FloatArray = np.zeros(0)
        self.infinity = highspy.kHighsInf
        self.x: FloatArray = np.zeros(len(self.cost))
        self.row_dual: FloatArray = np.zeros(0)
        self.iterations = 0
        self.finish = UNLIMITED
        self.objective = 0.0
        """What the solver says the last minimum was; :meth:`safe_bound` is what is proved."""
        self._ok = solver.HighsModelStatus.kOptimal
        self._infeasible = solver.HighsModelStatus.kInfeasible
        self._stopped = (
            solver.HighsModelStatus.kTimeLimit,
            solver.HighsModelStatus.kIterationLimit,
            solver.HighsModelStatus.kObjectiveBound,
        )
        self._out_of_time = solver.HighsModelStatus.kTimeLimit
        self._basic = int(solver.HighsBasisStatus.kBasic)
        self._highs: Any = solver.Highs()
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
        ):
            self._highs.setOptionValue(name, value)
        count = len(self.cost)
        empty = np.zeros(0)
        # The solver sees costs of about one: it has absolute tolerances and no use for 1e300.
        largest = float(np.abs(self.cost).max(initial=0.0))
        self.scale = math.ldexp(1.0, math.frexp(largest)[1] - 1) if 0 < largest < np.inf else 1.0
        self._highs.addCols(
            count,
            self.cost / self.scale,
            self.lower,
            self.upper,
            0,
            np.zeros(count, np.int32),
            empty,
            empty,
        )

    @property
    def num_rows(self) -> int:
        """Number of rows now in the program."""
        return len(self.row_lower)

    def add_rows(
        self,
        offsets: Array,
        columns: Array,
        values: Array,
        row_lower: FloatArray,
        row_upper: FloatArray | None = None,
        *,
        budget: Budget = UNLIMITED,
    ) -> None:
        """Append rows in compressed form; ``row_upper`` defaults to none.

        ``TimeoutError`` when the time is over before; the program is of no use then.
        """
        count = len(row_lower)
        if row_upper is None:
            row_upper = np.full(count, self.infinity)
        begins = np.ascontiguousarray(offsets, dtype=np.int32)
        columns = np.ascontiguousarray(columns, dtype=np.int32)
        values = np.ascontiguousarray(values, dtype=np.float64)
        row_lower = np.ascontiguousarray(row_lower, dtype=np.float64)
        row_upper = np.ascontiguousarray(row_upper, dtype=np.float64)
        for first in range(0, count, ROWS_AT_ONCE):
            budget.check()
            last = min(first + ROWS_AT_ONCE, count)
            a, b = int(begins[first]), int(begins[last])
            self._highs.addRows(
                last - first,
                row_lower[first:last],
                row_upper[first:last],
                b - a,
                begins[first:last] - begins[first],
                columns[a:b],
                values[a:b],
            )
        budget.check()
        if self.num_rows:
            self.columns = np.concatenate([self.columns, columns])
            self.values = np.concatenate([self.values, values])
        else:  # the first rows are the most
            self.columns, self.values = columns, values
        budget.check()
        self.offsets = np.concatenate([self.offsets, offsets[1:] + self.offsets[-1]])
        self.row_lower = np.concatenate([self.row_lower, row_lower])
        self.row_upper = np.concatenate([self.row_upper, row_upper])
        self.row_dual = np.concatenate([self.row_dual, np.zeros(count)])

    def delete_rows(self, drop: BoolArray) -> None:
        """Remove the rows where ``drop`` is True."""
        where = np.flatnonzero(drop).astype(np.int32)
        if not len(where):
            return
        self._highs.deleteRows(len(where), where)
        lengths = np.diff(self.offsets)
        entries = np.repeat(~drop, lengths)
        self.columns, self.values = self.columns[entries], self.values[entries]
        kept = np.concatenate([[0], np.cumsum(lengths[~drop])])
        self.offsets = kept.astype(np.int32)
        self.row_lower, self.row_upper = self.row_lower[~drop], self.row_upper[~drop]
        self.row_dual = self.row_dual[~drop]

    def set_bounds(self, lower: FloatArray, upper: FloatArray) -> None:
        """Replace the bounds of all columns."""
        changed = np.flatnonzero((lower != self.lower) | (upper != self.upper)).astype(np.int32)
        if len(changed):
            low, high = lower[changed], upper[changed]
            self._highs.changeColsBounds(len(changed), changed, low, high)
            self.lower, self.upper = np.array(lower), np.array(upper)

    def solve(
        self,
        *,
        budget: Budget = UNLIMITED,
        iteration_limit: int | None = None,
        presolve: bool = False,
        answer_seconds: float | None = None,
    ) -> str:
        """Solve; return ``"optimal"``, ``"infeasible"`` or ``"stopped"``.

        ``answer_seconds`` are reserved for reading the solution and proving its bound. Both then
        look at the clock, and raise ``TimeoutError`` if they are not done long after the deadline.
        """
        self.finish = UNLIMITED if answer_seconds is None else budget.to_finish()
        if not self.num_rows:
            self.x = np.where(self.cost < 0, self.upper, self.lower)
            self.objective = float(self.cost @ self.x)
            return "optimal"
        highs = self._highs
        highs.setOptionValue("presolve", "on" if presolve else "off")
        highs.setOptionValue(
            "simplex_iteration_limit", 2**31 - 1 if iteration_limit is None else iteration_limit
        )
        # A presolved program starts afresh in every slice: longer ones let it come to an end.
        growth = 2.0 if presolve else 1.0
        status = self._run(budget.reserve(answer_seconds or 0.0), growth)
        self.finish = UNLIMITED if answer_seconds is None else budget.to_finish()
        info = highs.getInfo()
        self.objective = self.scale * float(info.objective_function_value)
        if status == self._infeasible:
            return "infeasible"
        if status == self._ok or status in self._stopped:
            self._read()
            return "optimal" if status == self._ok else "stopped"
        msg = f"the linear program could not be solved: HiGHS says {status}"
        raise PlanarisError(msg, status=str(status))

    def _read(self) -> None:
        """Read the solution, in steps: HiGHS gives lists of all its numbers."""
        solution = self._highs.getSolution()
        self.finish.check()
        listed = solution.col_value
        self.finish.check()
        x = np.clip(_as_array(listed), self.lower, self.upper)
        self.finish.check()
        listed = solution.row_dual
        self.finish.check()
        row_dual = self.scale * _as_array(listed)
        complete = len(row_dual) == self.num_rows
        self.x, self.row_dual = x, row_dual if complete else np.zeros(self.num_rows)

    def _run(self, budget: Budget, growth: float) -> Any:
        """Run HiGHS in slices, each from the basis of the one before: Ctrl-C comes in between."""
        highs, slice_seconds = self._highs, SLICE
        while True:
            seconds = min(max(budget.remaining(), 0.01), slice_seconds)
            highs.setOptionValue("time_limit", highs.getRunTime() + seconds)
            highs.run()
            self.iterations += max(int(highs.getInfo().simplex_iteration_count), 0)
            status = highs.getModelStatus()
            if budget.expired() or status != self._out_of_time:
                return status
            slice_seconds *= growth

    def basic_rows(self) -> BoolArray:
        """Return which rows are slack in the basis, so that they can go without harm."""
        status = self._highs.getBasis().row_status
        return np.asarray(np.fromiter(map(int, status), np.int8, len(status)) == self._basic)

    def get_basis(self) -> Any:
        """Return the current basis, for :meth:`set_basis`."""
        return self._highs.getBasis()

    def set_basis(self, basis: Any) -> None:
        """Start the next solve from a basis."""
        self._highs.setBasis(basis)

    def reduced_costs(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (multipliers of the rows, reduced costs, bound on their rounding errors)."""
        y = np.where(
            self.row_dual > 0,
            self.row_dual,
            np.where(self.row_upper < self.infinity, self.row_dual, 0.0),
        )
        y = np.where((y > 0) & (self.row_lower <= -self.infinity), 0.0, y)
        lengths = np.diff(self.offsets)
        products = self.values * np.repeat(y, lengths)
        count = len(self.cost)
        self.finish.check()
        pulled = np.bincount(self.columns, products, count)
        self.finish.check()
        costs = np.where(np.isinf(self.cost), 0.0, np.abs(self.cost))  # forbidden: nothing rounds
        size = np.bincount(self.columns, np.abs(products), count) + costs
        self.finish.check()
        terms = np.bincount(self.columns, minlength=count) + 3
        return np.asarray(y), self.cost - pulled, np.asarray(terms * size * (1.01 * UNIT))

    def safe_bound(self) -> float:
        """Return a number that is certainly no more than the program's minimum.

        Weak duality: for any multipliers ``y`` of the right signs,
        ``min >= Σ y_i b_i + Σ_j min over the box of (c - A'y)_j x_j``.
        """
        y, reduced, slop = self.reduced_costs()
        self.finish.check()
        sides = np.where(y > 0, self.row_lower, np.where(y < 0, self.row_upper, 0.0))
        if self.groups is not None:
            best = np.full(int(self.groups.max(initial=-1)) + 1, np.inf)
            np.minimum.at(best, self.groups, reduced - slop)
            return _sum_down(np.concatenate([y * sides, best]))
        self.finish.check()
        low, high = reduced - slop, reduced + slop
        # The minimum over the box of any reduced cost in [low, high].
        columns = np.minimum(
            np.minimum(low * self.lower, low * self.upper),
            np.minimum(high * self.lower, high * self.upper),
        )
        self.finish.check()
        return _sum_down(np.concatenate([y * sides, columns]))


def _as_array(numbers: list[float]) -> FloatArray:
    """Return the numbers of a list, sooner than :func:`numpy.asarray` does."""
    return np.fromiter(numbers, np.float64, len(numbers))


def _sum_down(terms: FloatArray) -> float:
    """Return a sum of products, certainly not above the true one."""
    total = exact_sum(terms)
    rounding = 2 * UNIT * (exact_sum(np.abs(terms)) + abs(total))
    return total - rounding * 1.01
