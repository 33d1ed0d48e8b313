"""Two-step against optimal marginals on grids that no exact method reaches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planaris.experiments.figure import Result
from planaris.experiments.figures.noisy_labels.bands import (
    draw_band,
    error_of,
    mean_error_of,
    set_noise_axes,
    size_of,
)
from planaris.experiments.summaries import PALETTE, means
from planaris.recover import lower_bound
from planaris.recover.guarantees.error_bounds import LOWER_VALID
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes

THRESHOLD = 0.109
"""Edge noise above which labels from the edges of a large square lattice have no order."""


def draw_estimated(results: Sequence[Result]) -> Panels:
    """Draw the errors over the edge noise."""
    figure, axes = new_axes(size=3.6)
    draw_band(axes, results, "p", mean_error_of("two-step"), "two-step", PALETTE[0])
    draw_band(axes, results, "p", error_of("marginals"), "marginals", PALETTE[1])
    q, nodes = results[0].params["q"], results[0].params["size"] ** 2
    low = np.linspace(0.008, LOWER_VALID, 60)
    axes.plot(low, lower_bound(low, q, nodes) / nodes, ls=":", c="k", lw=1, label="(5/2)p²q")
    axes.axvline(THRESHOLD, ls="--", c="k", lw=1, label=f"p = {THRESHOLD}")
    set_noise_axes(axes, "two-step and optimal marginals", [0.01, 0.02, 0.04, 0.08, 0.16])
    axes.legend(fontsize=7)
    ps, two, _ = means(results, "p", mean_error_of("two-step"))
    _, best, _ = means(results, "p", error_of("marginals"))
    rows = [
        [p, sum(r.params["p"] == p for r in results), a, b, _seconds(results, p)]
        for p, a, b in zip(ps, two, best, strict=True)
    ]
    methods = sorted({r.record["method"]["marginals"] for r in results})
    return Panels(
        pictures=[Picture(f"{size_of(results)}, q = {q}: mean and 95 % band.", figure)],
        tables=[
            Table(
                f"Share of wrong labels, {size_of(results)}",
                ("p", "grids", "two-step", "marginals", "seconds of marginals"),
                rows,
            )
        ],
        verdicts=[_verdict(results, list(ps), list(two), list(best))],
        notes=[f"Marginals by {', '.join(methods)}; those of tensor networks are estimated."],
    )


def _seconds(results: Sequence[Result], p: float) -> float:
    return float(np.mean([r.record["seconds"]["marginals"] for r in results if r.params["p"] == p]))


def _verdict(
    results: Sequence[Result], ps: list[float], two: list[float], best: list[float]
) -> Verdict:
    gaps = [a - b for a, b in zip(two, best, strict=True)]
    enough = len(ps) >= 4 and len(results) >= 5 * len(ps)
    return Verdict(
        "The gap between two-step and marginals grows with the noise, on wide grids as well.",
        f"It is {gaps[0]:+.4f} at p = {ps[0]} and {gaps[-1]:+.4f} at p = {ps[-1]}.",
        bool(abs(gaps[0]) < 0.005 and gaps[-1] > gaps[0]) if enough else None,
        "the mean errors differ by less than .005 at the least p, and by more at the largest",
        "five grids at each of four edge noises or more: the full run",
    )
