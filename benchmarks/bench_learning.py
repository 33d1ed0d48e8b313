"""Training planar CRFs at 100×100: ground state, gradient, bundle against subgradients.

Sizes come from ``PLANARIS_BENCH_SIDES`` (default ``50,100``). Run with ``pytest -s`` to see the
tables. Process times: they do not count what other programs do.
"""

from __future__ import annotations

import math
import os
import time

import numpy as np
import pytest

from planaris.generate import noisy_mask, shape_mask
from planaris.learn import PlanarCRF, image_instance
from planaris.learn.risks import Example, Risk, likelihood, margin

SIDES = [int(s) for s in os.environ.get("PLANARIS_BENCH_SIDES", "50,100").split(",")]
REPEATS = 5


def data(side, noise=5.0):
    rng = np.random.default_rng(side)
    mask = shape_mask((side, side), rng, split_corners=True)
    image = noisy_mask(mask, noise, rng)
    instance = image_instance(image, peg="corners")
    spins = np.where(mask, 1, -1).astype(np.int8).ravel()
    example = Example(instance.graph(), instance.all_features(), spins, np.ones(instance.num_edges))
    return image, mask, example


def least(function, repeats=REPEATS):
    """Return the least process time of several calls, after one that prepares the graph."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def test_one_step_of_everything(benchmark):
    weights = np.array([3.2, -3.2])
    print(f"\n{'side':>6} {'ground state':>13} {'violator':>10} {'gradient':>10}   milliseconds")
    rows = []
    for side in SIDES:
        _, _, example = data(side)
        couplings = example.features @ weights / 2
        row = (
            least(lambda e=example, c=couplings: e.graph.ground_state(c)),
            least(lambda e=example: margin([e], weights)),
            least(lambda e=example: likelihood([e], weights, 1)),
        )
        rows.append(row)
        print(f"{side:6} {1e3 * row[0]:13.1f} {1e3 * row[1]:10.1f} {1e3 * row[2]:10.1f}")
        (plane,) = margin([example], weights)
        assert plane.at(weights) >= -1e-9
    if len(SIDES) > 1:
        grown = [
            math.log(b / a) / math.log(SIDES[-1] ** 2 / SIDES[0] ** 2)
            for a, b in zip(rows[0], rows[-1], strict=True)
        ]
        print("grows as " + ", ".join(f"n^{g:.2f}" for g in grown))
    benchmark.pedantic(lambda: likelihood([example], weights, None), rounds=3)


@pytest.mark.parametrize("noise", [5.0, 8.0])
def test_margin_training_to_a_gap(noise, benchmark):
    side = SIDES[-1]
    image, mask, example = data(side, noise)
    begin = time.process_time()
    crf = PlanarCRF("margin", peg="corners", tol=1e-4).fit([image], [mask])
    seconds = time.process_time() - begin
    found = crf.training_
    assert found.converged
    assert 0 <= found.lower <= found.objective
    plain = PlanarCRF(
        "margin", peg="corners", optimizer="subgradient", max_iter=4 * len(found.history)
    ).fit([image], [mask])
    assert plain.training_.objective >= found.lower
    print(
        f"\n{side}×{side}, S/N 1:{noise:g}: gap {found.gap:.2g} of {found.objective:.6g} after "
        f"{len(found.history)} rounds, {seconds:.2f} s; subgradients reach "
        f"{plain.training_.objective:.6g} in {len(plain.training_.history)} rounds"
    )
    benchmark.pedantic(lambda: Risk(margin, [example])(crf.coef_), rounds=3)


def test_likelihood_training_to_a_gap(benchmark):
    side = SIDES[-1]
    image, mask, example = data(side)
    begin = time.process_time()
    crf = PlanarCRF(peg="corners", tol=1e-4).fit([image], [mask])
    seconds = time.process_time() - begin
    found = crf.training_
    assert found.converged
    slope = likelihood([example], crf.coef_, None)[0].slope + crf.coef_
    assert slope @ slope / 2 <= 1e-3 * max(1.0, found.objective)
    print(
        f"\n{side}×{side}: gap {found.gap:.2g} of {found.objective:.6g} after "
        f"{len(found.history)} rounds, {seconds:.2f} s"
    )
    benchmark.pedantic(lambda: likelihood([example], crf.coef_, None), rounds=3)
