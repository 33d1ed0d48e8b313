"""Proved intervals of log Z of many models on one plane graph, by one call of the core.

See docs/theory/rigour.md. Which bounds a row is tried with, and all digits of its result, depend
on its couplings alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planaris.budget import Budget
from planaris.kernels.plane_models import PlaneModels, ProvedRows
from planaris.planar.pfaffian.enclosure import LARGEST_COUPLING, narrow, too_wide
from planaris.planar.pfaffian.evaluator import PfaffianEvaluator
from planaris.result import LogPartition, Stats
from planaris.result.answers import log_partition_tolerance
from planaris.typing import BoolArray, FloatArray

WAYS = (("", ""), ("double-double", "sweep"), ("double", "radii"), ("double-double", "radii"))
"""Precision and bound, as ``stats`` name them, behind the ways of :class:`ProvedRows`."""


@dataclass(frozen=True, eq=False)
class ProvedBatch:
    """What is proved of every row of couplings.

    Attributes
    ----------
    evaluator : PfaffianEvaluator
        Of the graph.
    couplings : numpy.ndarray
        One row per model.
    rows : ProvedRows
        The narrowest intervals that were found.
    proved, late : numpy.ndarray
        Whether that of a row counts as exact, and whether there was no time for it.
    """

    evaluator: PfaffianEvaluator
    couplings: FloatArray
    rows: ProvedRows
    proved: BoolArray
    late: BoolArray

    def result(self, k: int) -> LogPartition:
        """Return log Z of a row that is proved."""
        rows = self.rows
        precision, bound = WAYS[int(rows.way[k])]
        stats: Stats = {
            "precision": precision,
            "bound": bound,
            "error": float(rows.error[k]),
            "entries": float(rows.entries[k]),
            "elimination": float(rows.elimination[k]),
            "largest_front": int(rows.largest_front[k]),
        }
        return LogPartition.between(
            float(rows.lower[k]),
            float(rows.upper[k]),
            value=float(rows.value[k]),
            num_variables=self.evaluator.num_spins,
            method="planar",
            proved=True,
            excess=None if np.isnan(rows.excess[k]) else float(rows.excess[k]),
            certificate=self.evaluator.certificate(self.couplings[k]),
            stats=stats,
        )

    def reason(self, k: int) -> str:
        """Return why a row is not proved."""
        if np.abs(self.couplings[k]).max(initial=0.0) > LARGEST_COUPLING:
            return f"couplings larger than {LARGEST_COUPLING:g}"
        width = self.rows.upper[k] - self.rows.lower[k]
        return too_wide(float(width) if self.rows.way[k] else None)


def prove_rows(
    evaluator: PfaffianEvaluator,
    models: PlaneModels,
    couplings: FloatArray,
    chunks: Iterable[FloatArray],
    budget: Budget,
) -> ProvedBatch:
    """Return what can be proved of every row, given in chunks, a call of the core each.

    Threads take a row each, as many as there is memory for; they share rows of large graphs.
    """
    fitting = max(1, int(budget.bytes() // max(evaluator.memory("proofs"), 1.0)))
    parts = [ProvedRows.none(0)]
    for chunk in chunks:
        if not parts[-1].tried.all():  # time is over
            parts.append(ProvedRows.none(len(chunk)))
            continue
        together = len(chunk) == 1 or not evaluator.in_batches
        part = models.prove(
            chunk,
            evaluator.embedding.num_components,
            narrow(evaluator),
            threads=budget.workers() if together else min(budget.workers(), fitting),
            share_rows=not together,
            budget=budget,
        )
        parts.append(part)
    rows = ProvedRows.joined(parts)
    tolerance = log_partition_tolerance(evaluator.num_spins)
    proved = (rows.way != 0) & (rows.upper - rows.lower <= tolerance)
    return ProvedBatch(evaluator, couplings, rows, proved, ~proved & ~rows.tried)
