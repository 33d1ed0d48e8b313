"""Two-step recovery on grids of a million nodes."""

from __future__ import annotations

from functools import partial

import numpy as np

from planaris.experiments.figure import Result
from planaris.experiments.figures.noisy_labels.bands import (
    draw_band_of,
    fit_exponent,
    isolated_error,
    size_of,
)
from planaris.experiments.summaries import PALETTE
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes


def draw_large(results: list[Result]) -> Panels:
    """Draw the errors over the square of the noise, with the time that they took."""
    ps = sorted({r.params["p"] for r in results})
    rows = [_row(p, [r for r in results if r.params["p"] == p]) for p in ps]
    header = ("p", "grids", "error / p²", "ties at random", "seconds")
    return Panels(
        pictures=[_picture(results, ps)],
        tables=[Table(f"Two-step on {size_of(results)}", header, rows)],
        verdicts=[
            _exponent_verdict(results, ps, float(np.mean([row[3] for row in rows[:3]]))),
            _time_verdict(results),
        ],
        notes=[
            (
                "At 10⁶ nodes ties are broken by perturbing the couplings: twofold ties fall "
                "evenly, larger families not uniformly."
            )
        ],
    )


def _scaled(kind: str, result: Result) -> float:
    return float(result.record[kind]["two-step"] / result.params["p"] ** 2)


def _picture(results: list[Result], ps: list[float]) -> Picture:
    figure, axes = new_axes(size=3.6)
    for kind, label, colour in (
        ("error", "the solver's choice", PALETTE[0]),
        ("mean_error", "ties at random", "#7a8793"),
    ):
        draw_band_of(axes, results, "p", partial(_scaled, kind), label, colour)
    size = results[0].params["size"]
    isolated = [isolated_error(size, p) / p**2 for p in ps]
    axes.plot(ps, isolated, ls=":", c="k", lw=1, label="single flips")
    axes.axhline(3.0, ls="--", c="k", lw=1, label="3")
    axes.set(title="two-step error / p²", xlabel="edge noise p", ylabel="error / p²", ylim=(0, 6))
    axes.legend(fontsize=7)
    return Picture(f"Two-step on {size_of(results)}: mean and 95 % band.", figure)


def _row(p: float, results: list[Result]) -> list[float]:
    return [
        p,
        len(results),
        float(np.mean([_scaled("error", r) for r in results])),
        float(np.mean([_scaled("mean_error", r) for r in results])),
        float(np.mean([r.record["seconds"]["two-step"] for r in results])),
    ]


def _exponent_verdict(results: list[Result], ps: list[float], least: float) -> Verdict:
    exponent, half = fit_exponent(results, "mean_error")
    return Verdict(
        "The error grows as p², with constant near 3 (6p² ambiguous nodes, half wrong).",
        f"Error ∝ p^{exponent:.2f} ± {half:.2f} (95 %) over p = {ps[0]} … {ps[-1]}; "
        f"error/p² = {least:.2f} at the smallest p.",
        bool(abs(exponent - 2) < 0.2 and 2.5 < least < 3.6) if len(ps) >= 3 else None,
        "the fitted exponent is within .2 of 2 and the constant between 2.5 and 3.6",
        "grids at three edge noises or more",
    )


def _time_verdict(results: list[Result]) -> Verdict:
    seconds, processor = (
        max(r.record["seconds"].get(name, 0.0) for r in results)
        for name in ("two-step", "processor")
    )
    return Verdict(
        "Two-step on a million nodes takes seconds.",
        f"At most {seconds:.1f} s, {processor:.1f} s of them on the processor, with proof.",
        bool(processor <= 5.0),
        "no grid takes more than five seconds of processor",
    )
