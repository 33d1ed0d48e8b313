"""What the trials of the decoding figure show."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from planaris.experiments.figure import Result
from planaris.experiments.summaries import PALETTE
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes
from planaris.typing import FloatArray

PUBLISHED = {"exact": 0.109, "matching": 0.103}
"""Thresholds of the most likely class and of matching."""

ALLOWED = 0.001
"""How far from it a crossing of finite codes may lie, besides its error."""

NAMES = {"exact": "most likely class", "matching": "matching"}


class Rate(NamedTuple):
    """A logical error rate, the mean of posteriors, with its standard error."""

    value: float
    error: float


CROSSING = "the two largest distances cross as near to the published rate as errors allow"
MORE_RATES = "error rates around the crossing at distances of 25 and more: the full run"
SURER = "there are more errors than claimed, by three standard errors"
MORE_SHOTS = "more shots: the full run"


def plot(results: Sequence[Result]) -> Panels:
    """Draw logical error rates, calibration and post-selection."""
    rates = [result for result in results if result.params["part"] == "rates"]
    soft = [result for result in results if result.params["part"] == "soft"]
    pictures: list[Picture] = []
    tables: list[Table] = []
    verdicts: list[Verdict] = []
    if rates:
        pictures += [_draw_rates(rates, kind) for kind in NAMES]
        found = {kind: crossings(rates, kind) for kind in NAMES}
        rows = [
            [NAMES[kind], f"{a}, {b}", f"{at:.4f} ± {error:.4f}"]
            for kind, listed in found.items()
            for a, b, at, error in listed
        ]
        tables.append(Table("Crossings", ("decoder", "distances", "at p"), rows))
        verdicts += [_crossing_verdict(kind, listed) for kind, listed in found.items()]
    if soft:
        pictures += [_draw_calibration(soft), _draw_discarding(soft)]
        verdicts += [_calibration_verdict(soft), _gap_verdict(soft), _discarding_verdict(soft)]
    return Panels(pictures=pictures, tables=tables, verdicts=verdicts)


# -- thresholds -----------------------------------------------------------------------------


def gathered(results: Sequence[Result], kind: str) -> dict[int, dict[float, Rate]]:
    """Return logical error rates by distance and probability."""
    sums: dict[tuple[int, float], FloatArray] = {}
    for params, record in results:
        key = params["distance"], params["p"]
        row: FloatArray = np.array([*record[kind], record["shots"]], dtype=np.float64)
        sums[key] = sums[key] + row if key in sums else row
    rates: dict[int, dict[float, Rate]] = {}
    for (d, p), (total, squares, shots) in sorted(sums.items()):
        mean = total / shots
        error = np.sqrt(max(squares / shots - mean**2, 0.0) / shots)
        rates.setdefault(d, {})[p] = Rate(mean, error)
    return rates


def crossings(results: Sequence[Result], kind: str) -> list[tuple[int, int, float, float]]:
    """Return where the rates of neighbouring distances meet, with standard errors."""
    rates, found = gathered(results, kind), []
    for a, b in itertools.pairwise(rates):
        common = sorted(set(rates[a]) & set(rates[b]))
        if len(common) < 4:
            continue
        x = np.array(common)
        one, two = ([rates[d][p] for p in common] for d in (a, b))
        pairs = list(zip(one, two, strict=True))
        y = np.log([r.value for r in two]) - np.log([r.value for r in one])
        relative = [np.hypot(r.error / r.value, s.error / s.value) for r, s in pairs]
        centre = x.mean()
        weights = 1.0 / np.array(relative)
        line, covariance = np.polyfit(x - centre, y, 1, w=weights, cov="unscaled")
        if not line[0] > 0:
            continue
        root = -line[1] / line[0]
        at = np.array([root, 1.0])
        error = float(np.sqrt(at @ covariance @ at) / line[0])
        found.append((a, b, float(centre + root), error))
    return found


def _draw_rates(results: Sequence[Result], kind: str) -> Picture:
    figure, axes = new_axes(size=3.6)
    for (d, row), colour in zip(gathered(results, kind).items(), PALETTE, strict=False):
        bars = [2 * r.error for r in row.values()]
        values = [r.value for r in row.values()]
        axes.errorbar(
            list(row), values, bars, marker="o", ms=3, capsize=2, color=colour, label=f"d = {d}"
        )
    axes.axvline(PUBLISHED[kind], color="gray", ls=":", lw=1)
    axes.set(xlabel="probability of a bit flip", ylabel="logical error rate", title=NAMES[kind])
    axes.legend()
    return Picture(
        f"Rotated surface code, {NAMES[kind]}; dotted: published threshold; two standard errors.",
        figure,
    )


def _crossing_verdict(kind: str, listed: list[tuple[int, int, float, float]]) -> Verdict:
    claim = f"Threshold of {NAMES[kind]}: {PUBLISHED[kind]:.3f}."
    if not listed:
        return Verdict(
            claim, "Too few rates are stored to find a crossing.", None, CROSSING, MORE_RATES
        )
    a, b, at, error = listed[-1]
    near = abs(at - PUBLISHED[kind]) <= ALLOWED + 2 * error
    decided = near if error <= ALLOWED and b >= 25 else None
    text = f"Distances {a} and {b} cross at {at:.4f} ± {error:.4f}."
    return Verdict(claim, text, decided, CROSSING, MORE_RATES)


# -- soft output ----------------------------------------------------------------------------


def _total(soft: Sequence[Result], name: str, code: str | None = None) -> FloatArray:
    chosen = [r.record[name] for r in soft if code in (None, r.params["code"])]
    return np.asarray(np.sum(np.array(chosen, dtype=np.float64), axis=0))


def _draw_calibration(soft: Sequence[Result]) -> Picture:
    figure, axes = new_axes(size=3.6)
    axes.plot([0, 1], [0, 1], color="gray", lw=1, ls=":")
    for code, colour in zip(_codes(soft), PALETTE, strict=False):
        bins = _total(soft, "bins", code)
        bins = bins[bins[:, 0] > 0]
        error = 2 * np.sqrt(np.maximum(bins[:, 3], 1e-12)) / bins[:, 0]
        axes.errorbar(
            bins[:, 1] / bins[:, 0],
            bins[:, 2] / bins[:, 0],
            error,
            marker="o",
            ms=3,
            ls="none",
            color=colour,
            label=code,
        )
    axes.set(xlabel="posterior of a flip", ylabel="share of flips", title="calibration")
    axes.legend()
    return Picture("Shots by their exact posterior: how often the observable was flipped.", figure)


def _draw_discarding(soft: Sequence[Result]) -> Picture:
    from planaris.experiments.figures.quantum_codes.decoding import DISCARDED

    figure, axes = new_axes(size=3.6)
    for code, colour in zip(_codes(soft), PALETTE, strict=False):
        shots = sum(r.params["shots"] for r in soft if r.params["code"] == code)
        kept = shots * (1.0 - np.array(DISCARDED))
        for name, style in (("by_posterior", "-"), ("by_gap", "--")):
            label = f"{code}, {name.replace('_', ' ')}"
            wrong = _total(soft, name, code)
            axes.plot(DISCARDED, wrong / kept, style, marker="o", ms=3, color=colour, label=label)
    axes.set(xlabel="share discarded", ylabel="logical error rate", yscale="log")
    axes.set_title("post-selection")
    axes.legend(fontsize="small")
    return Picture("Errors among the shots that are kept.", figure)


def _codes(soft: Sequence[Result]) -> list[str]:
    return sorted({r.params["code"] for r in soft}, reverse=True)


def _calibration_verdict(soft: Sequence[Result]) -> Verdict:
    worst, shots, far = 0.0, 0, 0
    for code in _codes(soft):
        for count, expected, seen, variance in _total(soft, "bins", code):
            shots += int(count)
            if variance < 5.0:  # too few for a normal distribution
                continue
            z = abs(seen - expected) / np.sqrt(variance)
            worst, far = max(worst, z), far + int(z > 3.0)
    return Verdict(
        "The exact posterior is calibrated in every bin.",
        f"Over {shots} shots the largest deviation of a bin is {worst:.1f} standard errors.",
        far == 0 if shots >= 100_000 else None,
        "no bin is off by more than the standard errors allowed",
        "100,000 shots: the full run",
    )


def _gap_verdict(soft: Sequence[Result]) -> Verdict:
    count, claimed, wrong = _total(soft, "gap_bins")[1]
    if count < 100 or wrong < 20:
        return Verdict(
            "The gap of matching is too sure.", "Too few shots are stored.", None, SURER, MORE_SHOTS
        )
    ratio = wrong / claimed
    return Verdict(
        "The gap of matching is too sure.",
        f"Gaps from 2 to 4 claim {claimed / count:.1%} errors; there are {wrong / count:.1%}.",
        bool(ratio > 1.0 + 3.0 / np.sqrt(wrong)),
        SURER,
    )


def _discarding_verdict(soft: Sequence[Result]) -> Verdict:
    parts, holds = [], []
    for code in _codes(soft):
        by_gap, by_posterior = (_total(soft, n, code)[4] for n in ("by_gap", "by_posterior"))
        if min(by_gap, by_posterior) < 20:
            continue
        ratio = by_gap / by_posterior
        parts.append(f"{ratio:.2f} times fewer ({code})")
        holds.append(ratio > 1.0 + 3.0 / np.sqrt(by_posterior))
    text = ", ".join(parts) if parts else "too few errors are stored"
    found: Any = all(holds) if holds else None
    return Verdict(
        "Discarding a tenth of the shots by posterior leaves fewer errors than by gap.",
        f"Errors left: {text}.",
        found,
        "fewer are left for every code, beyond what chance explains",
        MORE_SHOTS,
    )
