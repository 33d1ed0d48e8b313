"""Batches of coupling vectors of one plan: checked, streamed in chunks, evaluated in the core.

A batch of one is evaluated by the same operations, so that the digits of a result depend on its
couplings alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from planaris.budget import Budget
from planaris.errors import MethodError, ModelError, naming_row
from planaris.kernels.plane_models import ModelRows, empty_rows, row_totals
from planaris.models.arrays import as_real
from planaris.models.base import energy_tolerance, exact_sum
from planaris.models.ising import MAX_TOTAL, IsingModel
from planaris.planar.ground_state import PlanarCertificate, least_unsatisfied
from planaris.planar.pfaffian.batch_results import GroundStates, LogPartitions, MarginalsBatch
from planaris.planar.pfaffian.enclosure import prove_log_partition, prove_marginals, prove_rows
from planaris.planar.pfaffian.estimate import EPSILON, SAFETY
from planaris.planar.pfaffian.evaluator import PfaffianEvaluator
from planaris.planar.pfaffian.single_model import log_partition_of, marginals_of
from planaris.result import GroundState, LogPartition, Marginals, Stats
from planaris.result.answers import log_partition_tolerance
from planaris.typing import ArrayLike, FloatArray

CHUNK_BYTES = 2**28
"""Couplings of so many bytes are handed to the core at a time: less, and sixteen threads would wait
for the last rows of every chunk."""

GAUGES = ("", "spin flips", "ground state", "ground state, ordered")
"""How ``stats`` name the gauge state behind a value."""


def as_couplings(couplings: ArrayLike, num_edges: int, threads: int = 1) -> FloatArray:
    """Return couplings as rows of finite numbers, one per edge; a number is that of all edges.

    >>> as_couplings(0.5, 2).tolist()
    [[0.5, 0.5]]
    """
    given: Any = couplings
    if isinstance(given, IsingModel):
        msg = "`couplings` must be numbers, one per edge, got an IsingModel; pass model.couplings"
        raise ModelError(msg)
    values = as_real("couplings", couplings)
    if values.ndim == 0:
        values = np.full(num_edges, values)
    if values.ndim > 2 or values.shape[-1] != num_edges:
        msg = f"`couplings` must have shape ({num_edges},) or (k, {num_edges}), got {values.shape}"
        raise ModelError(msg)
    rows = np.atleast_2d(values)
    # Certificates are found when they are asked for: what the caller may write into is copied.
    # Rows on disk are not.
    in_memory = isinstance(given, np.ndarray) and not isinstance(given, np.memmap)
    copied = in_memory and given.flags.writeable and np.may_share_memory(rows, given)
    copy = empty_rows(*rows.shape) if copied else None
    for first, part in _chunks(rows):
        into = None if copy is None else copy[first : first + len(part)]
        total = row_totals(part, into, threads=threads)
        if not (total <= MAX_TOTAL).all():
            _refuse(part, total, first, several=values.ndim > 1)
    return rows if copy is None else copy


def _refuse(rows: FloatArray, total: FloatArray, first: int, *, several: bool) -> NoReturn:
    """Raise an error that names the coupling that is not finite, or the row that overflows."""
    for row, edge in np.argwhere(~np.isfinite(rows))[:1].tolist():
        where = f"edge {edge} of row {first + row}" if several else f"edge {edge}"
        msg = f"`couplings` must be finite, got {rows[row, edge]} at {where}"
        raise ModelError(msg, index=edge, row=first + row)
    row = int(np.flatnonzero(~(total <= MAX_TOTAL))[0])
    where = f" in row {first + row}" if several else ""
    msg = (
        f"`couplings` must add up (in size) to at most {MAX_TOTAL:g}, got {total[row]:g}{where}: "
        "energies would overflow; scale the model down"
    )
    raise ModelError(msg, row=first + row)


def as_one_vector(couplings: ArrayLike, num_edges: int) -> FloatArray:
    """Return couplings where only one per edge is meant.

    >>> as_one_vector([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    values = as_couplings(couplings, num_edges)
    if np.ndim(couplings) > 1:
        msg = f"`couplings` must be one vector here, got shape {np.shape(couplings)}"
        raise ModelError(msg)
    one: FloatArray = values[0]
    return one


def _chunks(couplings: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield parts of a batch that fit in memory, each with the index of its first row."""
    rows = max(1, CHUNK_BYTES // max(8 * couplings.shape[1], 1))
    for first in range(0, len(couplings), rows):
        yield first, couplings[first : first + rows]


def _evaluate(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget, *, marginals: bool
) -> ModelRows:
    """Return what the core finds, all chunks together."""
    models = evaluator.models if evaluator.in_batches else None
    parts: list[ModelRows] = []
    for _, part in _chunks(couplings):
        if models is None or (parts and not parts[-1].complete):
            parts.append(ModelRows.none(len(part), part.shape[1], marginals))
            parts[-1] = replace(parts[-1], complete=models is None)
        else:
            parts.append(models.evaluate(part, marginals=marginals, budget=budget))
    return ModelRows.joined(parts or [ModelRows.none(0, couplings.shape[1], marginals)])


def log_partitions(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartitions:
    """Return log Z of every row; an interval where time did not suffice."""
    if budget.prove:
        return _proved_log_partitions(evaluator, couplings, budget)
    found = _evaluate(evaluator, couplings, budget, marginals=False)
    singles: dict[int, LogPartition] = {}
    for k in np.flatnonzero(found.route == 0).tolist():
        singles[k] = _single(evaluator, couplings[k], budget, found.complete)
    return _as_log_partitions(evaluator, couplings, found, singles)


def _errors(rows: ModelRows, values: FloatArray) -> FloatArray:
    """Return the errors of log Z that are stated."""
    errors: FloatArray = SAFETY * rows.error + EPSILON * (rows.size + 8.0 + np.abs(values))
    return errors


def _as_log_partitions(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    rows: ModelRows,
    singles: dict[int, LogPartition],
) -> LogPartitions:
    log_2 = evaluator.embedding.num_components * math.log(2.0)
    values = rows.log_sum + (rows.constant + log_2)
    errors = _errors(rows, values)

    def make(k: int) -> LogPartition:
        if k in singles:
            return singles[k]
        route, models = int(rows.route[k]), evaluator.models
        assert models is not None, "they evaluated the row"
        stats: Stats = {
            "precision": "double",
            "largest_front": models.largest_front,
            "multiplications": models.multiplications,
            "gauge": GAUGES[route],
        }
        return evaluator.around(
            float(values[k]),
            float(errors[k]),
            stats,
            certificate=evaluator.certificate(couplings[k]),
            excess=float(rows.log_sum[k]) + log_2 if route > 1 else None,
        )

    results = LogPartitions(len(couplings), make)
    results.values = values
    results.lower = np.nextafter(values - errors, -np.inf)
    results.upper = np.nextafter(values + errors, np.inf)
    results.proved = np.zeros(len(couplings), dtype=np.bool_)
    for k, one in singles.items():
        results.values[k], results.lower[k], results.upper[k] = one.value, one.lower, one.upper
        results.proved[k] = one.proved
    width = results.upper - results.lower
    results.exact = width <= log_partition_tolerance(evaluator.num_spins)
    return results


def _proved_log_partitions(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartitions:
    """Return proved intervals, and estimates of rows that have none."""
    if evaluator.models is None:
        none = ModelRows.none(len(couplings), couplings.shape[1], marginals=False)
        singles = {k: _proved(evaluator, row, budget) for k, row in enumerate(couplings)}
        return _as_log_partitions(evaluator, couplings, none, singles)
    chunks = (part for _, part in _chunks(couplings))
    found = prove_rows(evaluator, evaluator.models, couplings, chunks, budget)
    others = np.flatnonzero(~found.proved & ~found.late), np.flatnonzero(found.late)
    estimated = log_partitions(evaluator, couplings[others[0]], replace(budget, prove=False))
    unknown = late(evaluator, couplings[others[1]])
    place = np.zeros(len(couplings), dtype=np.int64)
    for rows in others:
        place[rows] = np.arange(len(rows))

    def make(k: int) -> LogPartition:
        if found.proved[k]:
            return found.result(k)
        if found.late[k]:
            return unknown[int(place[k])]
        return replace(estimated[int(place[k])], status=f"not proved: {found.reason(k)}")

    results = LogPartitions(len(couplings), make)
    results.values, results.lower, results.upper = (
        x.copy() for x in (found.rows.value, found.rows.lower, found.rows.upper)
    )
    for rows, known in zip(others, (estimated, unknown), strict=True):
        results.values[rows], results.lower[rows] = known.values, known.lower
        results.upper[rows] = known.upper
    results.proved = found.proved
    width = results.upper - results.lower
    results.exact = width <= log_partition_tolerance(evaluator.num_spins)
    return results


def _proved(evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget) -> LogPartition:
    """Return log Z with a proved interval, or an estimate that says why not."""
    try:
        found = prove_log_partition(evaluator, couplings, budget)
    except TimeoutError:
        return _late(evaluator, couplings)
    if isinstance(found, LogPartition):
        return found
    (estimate,) = log_partitions(evaluator, couplings[None], replace(budget, prove=False))
    return replace(estimate, status=f"not proved: {found}")


def _single(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget, in_time: bool
) -> LogPartition:
    """Return log Z of a row that the core has not evaluated."""
    if in_time:
        try:
            return log_partition_of(evaluator, couplings, budget)
        except TimeoutError:
            pass
    return _late(evaluator, couplings)


def _late(evaluator: PfaffianEvaluator, couplings: FloatArray) -> LogPartition:
    """Return what the state of all spins up says: it needs no elimination."""
    lower = evaluator.embedding.num_components * math.log(2.0) + exact_sum(couplings)
    return replace(evaluator.bounds(couplings, lower, {}), status="time_limit")


def late(evaluator: PfaffianEvaluator, couplings: FloatArray) -> LogPartitions:
    """Return what is known of every row without any elimination."""
    none = ModelRows.none(len(couplings), couplings.shape[1], marginals=False)
    singles = {k: _late(evaluator, row) for k, row in enumerate(couplings)}
    return _as_log_partitions(evaluator, couplings, none, singles)


def marginals(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> MarginalsBatch:
    """Return the edge marginals of every row."""
    if budget.prove:
        rows = ModelRows.none(len(couplings), couplings.shape[1], marginals=True)
        singles = {k: _proved_marginals(evaluator, J, budget) for k, J in enumerate(couplings)}
        return _as_marginals(evaluator, couplings, rows, singles)
    rows = _evaluate(evaluator, couplings, budget, marginals=True)
    if not rows.complete:
        raise TimeoutError
    singles = {}
    for k in np.flatnonzero(rows.route == 0).tolist():
        with naming_row(k, len(couplings)):
            singles[k] = marginals_of(evaluator, couplings[k], budget)
    return _as_marginals(evaluator, couplings, rows, singles)


def _proved_marginals(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> Marginals:
    """Return marginals with proved errors, or estimates that say why not."""
    found = prove_marginals(evaluator, couplings, budget)
    if isinstance(found, Marginals):
        return found
    (estimate,) = marginals(evaluator, couplings[None], replace(budget, prove=False))
    return replace(estimate, status=f"not proved: {found}")


def _as_marginals(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    rows: ModelRows,
    singles: dict[int, Marginals],
) -> MarginalsBatch:
    log_2 = evaluator.embedding.num_components * math.log(2.0)
    log_z = rows.log_sum + (rows.constant + log_2)
    doubts = _errors(rows, log_z)

    def make(k: int) -> Marginals:
        if k in singles:
            return singles[k]
        return Marginals(
            nodes=np.full(evaluator.num_spins, 0.5),
            edges=rows.equal[k],
            error=4 * float(rows.equal_error[k]) + 4 * EPSILON,
            log_partition=evaluator.around(float(log_z[k]), float(doubts[k]), {}),
            method="planar",
            proved=False,
            certificate=evaluator.certificate(couplings[k]),
            stats={"precision": "double", "gauge": GAUGES[int(rows.route[k])]},
        )

    results = MarginalsBatch(len(couplings), make)
    results.edges, results.log_z = rows.equal, log_z
    for k, one in singles.items():
        results.edges[k], results.log_z[k] = one.edges, one.log_z
    return results


def ground_states(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> GroundStates:
    """Return a ground state of every row."""
    embedding, models = evaluator.embedding, evaluator.models
    if evaluator.genus:
        msg = "`ground_states` needs a plane graph; `planaris.ground_state` bounds the others"
        raise MethodError(msg, genus=evaluator.genus)
    found = (
        []
        if models is None
        else [models.ground_states(part, budget=budget) for _, part in _chunks(couplings)]
    )
    spins = np.ones((len(couplings), evaluator.num_spins), dtype=np.int8)
    energies = np.zeros(len(couplings))
    if found:
        np.concatenate([states for states, _ in found], out=spins)
        np.concatenate([sums for _, sums in found], out=energies)

    def make(k: int) -> GroundState:
        u, v = embedding.edges.T
        signed = np.where(spins[k, u] == spins[k, v], couplings[k], -couplings[k])
        energy = 0.0 - exact_sum(signed)
        return GroundState(
            spins=spins[k],
            assignment=(spins[k] > 0).astype(np.int32),
            energy=energy,
            lower=energy,
            upper=energy,
            tolerance=energy_tolerance(np.abs(couplings[k])),
            method="planar",
            certificate=PlanarCertificate(embedding, least_unsatisfied(embedding, couplings[k])),
        )

    results = GroundStates(len(couplings), make)
    results.spins, results.energies = spins, energies
    return results
