"""Thresholds, calibration and post-selection of exact decoding and of matching."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.experiments.figure import Figure, Params, Record, Settings
from planaris.experiments.figures.quantum_codes.plot import plot
from planaris.typing import Array, BoolArray, FloatArray

DISTANCES = {9: 60_000, 15: 40_000, 25: 20_000, 35: 12_000}
"""Shots per probability of each distance."""

NOISE = (0.095, 0.1, 0.103, 0.106, 0.109, 0.112)
BLOCK = 4000
"""Shots of a trial."""

DISCARDED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Shares of shots that are discarded."""

BINS = (0.0, 0.002, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 0.998, 1.0)
"""Edges of the bins of posteriors."""

SOFT_SHOTS = 20_000
"""Shots of a trial of the soft output."""


def trials(settings: Settings) -> list[Params]:
    """Return blocks of shots of codes around their thresholds, and of two codes below."""
    quick = settings.quick
    listed: list[Params] = [
        {"part": "rates", "distance": d, "p": p, "seed": seed, "shots": BLOCK}
        for d, shots in DISTANCES.items()
        if not quick or d <= 15
        for seed in range(1 if quick else shots // BLOCK)
        for p in NOISE
    ]
    listed += [
        {"part": "soft", "code": code, "seed": seed, "shots": SOFT_SHOTS}
        for seed in range(1 if quick else 25)
        for code in ("surface", "repetition")
    ]
    return listed


def run(params: Params) -> Record:
    """Decode one block of shots."""
    return _run_rates(params) if params["part"] == "rates" else _run_soft(params)


def _run_rates(params: Params) -> Record:
    rng = np.random.default_rng([params["distance"], round(1e4 * params["p"]), params["seed"]])
    model, shots, flips = _sample(_surface(params["distance"], params["p"]), params["shots"], rng)
    flipped, matched, _ = _decode(model, shots)
    exact = np.minimum(flipped, 1.0 - flipped)
    other = matched * (1.0 - flipped) + (1.0 - matched) * flipped
    return {
        "shots": params["shots"],
        "exact": _moments(exact),
        "matching": _moments(other),
        "exact_errors": int(((flipped > 0.5) != flips).sum()),
    }


def _run_soft(params: Params) -> Record:
    rng = np.random.default_rng([params["code"] == "surface", params["seed"]])
    dem = _surface(11, 0.1) if params["code"] == "surface" else _repetition(9, 0.03)
    model, shots, flips = _sample(dem, params["shots"], rng)
    flipped, matched, gap = _decode(model, shots)
    place = np.digitize(flipped, BINS[1:-1])
    spread = flipped * (1.0 - flipped)
    bins = [
        [int(x.sum()), float(flipped[x].sum()), int(flips[x].sum()), float(spread[x].sum())]
        for x in (place == k for k in range(len(BINS) - 1))
    ]
    # The same predictions, so that only the order in which shots are discarded differs.
    wrong = (flipped > 0.5) != flips
    sure = np.abs(flipped - 0.5)
    return {
        "bins": bins,
        "by_posterior": _after_discarding(wrong, sure),
        "by_gap": _after_discarding(wrong, gap),
        "gap_bins": _gap_bins(gap, np.where(matched == 0.5, flips, matched > 0.5) != flips),
    }


def _gap_bins(gap: FloatArray, wrong: BoolArray) -> list[list[float]]:
    """Return, by gap: shots, what the gap claims, how many predictions of matching were wrong."""
    claimed = 1.0 / (1.0 + np.exp(gap))
    place = np.digitize(gap, (1e-6, 2.0, 4.0, 6.0, 8.0))
    return [
        [int(inside.sum()), float(claimed[inside].sum()), int(wrong[inside].sum())]
        for inside in (place == k for k in range(1, 6))
    ]


def _after_discarding(wrong: BoolArray, sure: FloatArray) -> list[int]:
    """Return how many wrong predictions are left after discarding the least sure shots."""
    order = np.argsort(sure, kind="stable")
    return [int(wrong[order[int(share * len(wrong)) :]].sum()) for share in DISCARDED]


def _moments(values: FloatArray) -> list[float]:
    return [float(values.sum()), float((values**2).sum())]


def _surface(distance: int, p: float) -> Any:
    from planaris.interop.stim import require_stim

    circuit = require_stim().Circuit.generated(
        "surface_code:rotated_memory_z",
        distance=distance,
        rounds=1,
        before_round_data_depolarization=1.5 * p,  # bit flips with probability p
    )
    return circuit.detector_error_model()


def _repetition(distance: int, p: float) -> Any:
    from planaris.interop.stim import require_stim

    circuit = require_stim().Circuit.generated(
        "repetition_code:memory",
        distance=distance,
        rounds=distance,
        after_clifford_depolarization=p,
        before_measure_flip_probability=p,
        after_reset_flip_probability=p,
        before_round_data_depolarization=p,
    )
    return circuit.detector_error_model()


def _sample(dem: Any, count: int, rng: np.random.Generator) -> tuple[Any, Array, BoolArray]:
    """Draw mechanisms, and return the model with detection events and the observable."""
    from planaris.decode.model import ErrorModel

    model = ErrorModel.from_stim(dem)
    flips = np.zeros((len(model.mechanisms), model.num_detectors + 1), dtype=np.float32)
    for row, m in zip(flips, model.mechanisms, strict=True):
        row[list(m.detectors)] = 1.0
        row[-1] = len(m.observables)
    chances = np.array([m.probability for m in model.mechanisms])
    errors = (rng.random((count, len(chances))) < chances).astype(np.float32)
    events = (errors @ flips) % 2 == 1
    return model, np.ascontiguousarray(events[:, :-1]), events[:, -1]


def _decode(model: Any, shots: Array) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(flipped), what matching says (½ for ties), and the gap."""
    from planaris.budget import Budget
    from planaris.decode.decoder import PlanarDecoder
    from planaris.kernels.decoding import packed_bits

    decoder = PlanarDecoder(model, threads=1)
    flipped = decoder.posterior(shots)[:, 0]
    coset, rows = decoder._cosets[0], packed_bits(shots)
    budget = Budget(threads=1)
    zero, one = (
        np.asarray(coset.class_matcher.match(rows, observable=c, budget=budget).weight)
        for c in (0, 1)
    )
    matched = np.where(np.abs(zero - one) < 1e-6, 0.5, one < zero)
    return flipped, np.asarray(matched, dtype=np.float64), np.abs(zero - one)


FIGURE = Figure(
    name="decoding",
    title="Exact decoding of quantum codes",
    paper="Dennis, Kitaev, Landahl and Preskill 2002; Bravyi, Suchara and Vargo 2014",
    claim=(
        "Independent bit flips of the surface code can be corrected up to a probability of .109 "
        "by the most likely logical class, and up to .103 by matching. The exact posterior says "
        "how often a prediction is wrong; the gap of matching is too sure of itself."
    ),
    version=1,
    trials=trials,
    run=run,
    plot=plot,
)
