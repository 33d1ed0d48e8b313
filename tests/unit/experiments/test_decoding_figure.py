"""The figure on quantum codes: its soft output, and verdicts on records whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from planaris.experiments.figure import Result
from planaris.experiments.figures.quantum_codes.decoding import BINS, DISCARDED, FIGURE
from planaris.experiments.figures.quantum_codes.plot import crossings, plot

SHOTS = 10**6


def rates(threshold, distances=(15, 25, 35)):
    """Results whose rates are .1 at the threshold and fall with the distance below it."""
    results = []
    for d in distances:
        for p in (0.095, 0.1, 0.103, 0.106, 0.109, 0.112):
            rate = 0.1 * np.exp(3 * d * (p - threshold))
            moments = [SHOTS * rate, SHOTS * (rate**2 + 1e-4)]
            record = {"shots": SHOTS, "exact": moments, "matching": moments}
            results.append(Result({"part": "rates", "distance": d, "p": p}, record))
    return results


@pytest.mark.parametrize("threshold", [0.1, 0.103, 0.1085])
def test_rates_cross_at_their_threshold(threshold):
    found = crossings(rates(threshold), "exact")
    assert [(a, b) for a, b, _, _ in found] == [(15, 25), (25, 35)]
    for _, _, at, error in found:
        assert abs(at - threshold) < 1e-9  # logarithms of the rates are linear in p
        assert error < 1e-3
    assert not crossings(rates(threshold, distances=(9,)), "exact")


def test_a_threshold_is_confirmed_only_where_it_was_published():
    exact, matching = plot(rates(0.109)).verdicts
    assert exact.holds
    assert matching.holds is False
    small = plot(rates(0.109, distances=(9, 15))).verdicts
    assert all(verdict.holds is None for verdict in small)


def soft(scale=1.0, gap=1.3):
    """Results of many shots: ``scale`` and ``gap`` times as many flips and errors as claimed."""
    middles = (np.array(BINS[:-1]) + BINS[1:]) / 2
    claimed = 20_000 * middles
    bins = np.column_stack(
        [np.full(len(middles), 20_000), claimed, scale * claimed, claimed * (1 - middles)]
    )
    left = 2000.0 * (1.0 - np.array(DISCARDED)) ** 5
    record = {
        "bins": bins.tolist(),
        "by_posterior": left.tolist(),
        "by_gap": (gap * left).tolist(),
        "gap_bins": [[10_000, 1000, 1000 * gap]] * 5,
    }
    return [
        Result({"part": "soft", "code": code, "shots": 280_000}, record)
        for code in ("surface", "repetition")
    ]


def test_calibration_and_the_gap_are_judged_by_their_errors():
    assert [verdict.holds for verdict in plot(soft()).verdicts] == [True, True, True]
    assert [verdict.holds for verdict in plot(soft(scale=1.05)).verdicts] == [False, True, True]
    assert [verdict.holds for verdict in plot(soft(gap=1.0)).verdicts] == [True, False, False]


@pytest.mark.parametrize("code", ["surface", "repetition"])
def test_shots_are_counted_once_and_discarded_by_their_doubt(code):
    params = {"part": "soft", "code": code, "seed": 0, "shots": 400}
    record = FIGURE.run(params)
    bins = np.array(record["bins"])
    assert bins[:, 0].sum() == 400
    middle = (bins[:, 1] + 1e-9) / np.maximum(bins[:, 0], 1)
    used = bins[:, 0] > 0
    assert np.all(middle[used] >= np.array(BINS[:-1])[used])
    assert np.all(middle[used] <= np.array(BINS[1:])[used] + 1e-9)
    by_posterior, by_gap = record["by_posterior"], record["by_gap"]
    assert by_posterior[0] == by_gap[0]  # none discarded: the same predictions
    assert by_posterior == sorted(by_posterior, reverse=True)
    verdicts = plot([Result(params, record)]).verdicts
    assert verdicts[0].holds is None  # too few shots
