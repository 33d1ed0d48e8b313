"""Proofs made to deceive: numbers so large that sums overflow or rounding hides the claim."""

from __future__ import annotations

import contextlib
import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.claims import claimed_state
from helpers.trials import trials
from planaris.errors import VerificationError
from planaris.result import Bounds, CutTree, LabelTrees, LogPartition, MeanField, MiniBuckets
from planaris.result.files import _decode, save_result
from planaris.selftest.rationals import Truth
from planaris.selftest.tampering.corruption import KINDS, number_places, solve_kind
from planaris.verify import check_certificate, check_result
from planaris.verify.proofs.energy.ground_state import require_lower
from planaris.verify.proofs.log_partition.label_sums import label_trees_bound
from planaris.verify.proofs.log_partition.mini_buckets import mini_bucket_bound
from planaris.verify.proofs.log_partition.partition_bounds import check_interval
from planaris.verify.recompute.elimination import recompute
from planaris.verify.results import _check_bound


def test_a_leaf_without_a_bound_proves_nothing() -> None:
    # Multipliers that overflow must not take a leaf, here the one of the minimum, out of sight.
    triangle = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, 1.0])
    forged = CutTree(
        offsets=np.array([0, 3]),
        edges=np.array([0, 1, 2]),
        odd=np.array([1, 0, 0]),
        branch_edge=np.array([0, -1, -1]),
        child=np.array([[1, 2], [-1, -1], [-1, -1]]),
        row_offsets=np.array([0, 0, 2, 3]),
        rows=np.array([0, 0, 0]),
        multipliers=np.array([1.7e308, 1.7e308, 2.0]),
    )
    spins = np.array([1, -1, 1], dtype=np.int8)
    worse = claimed_state(spins, 1.0, 1.0, 1.0, True, "branch-and-cut", {}, forged)
    with np.errstate(all="ignore"), pytest.raises(VerificationError, match="is a number"):
        check_certificate(triangle, worse)


@pytest.mark.usefixtures("ticking")
def test_rounding_of_huge_numbers_hides_no_claim() -> None:
    # A distribution with fields of 1e30 has errors of rounding that any lower end fits in.
    edges = [(u, v) for u in range(40) for v in range(u)]
    model = pl.IsingModel(edges, 0.01)
    honest = pl.log_partition(model, "pdc", time_limit=5.0)
    bounds = honest.certificate
    assert check_result(model, honest).proved
    forged = replace(bounds, lower=MeanField(np.zeros(0, dtype=int), np.full(40, 1e30)))
    claim = replace(honest, lower=honest.upper, value=honest.upper, certificate=forged)
    assert check_result(model, claim).findings[0].status == "unproved"


@pytest.mark.usefixtures("ticking")
def test_couplings_beside_larger_ones_prove_no_false_lower_end() -> None:
    # Probabilities of the small ones were off by what their logarithms were rounded by, and the
    # large ones, which they do not hold, were multiplied with them.
    rng = np.random.default_rng(3)
    proved = 0
    for _ in range(trials(150, 1500)):
        n, small, large = (
            int(rng.integers(3, 7)),
            10 ** rng.uniform(3, 5.5),
            10 ** rng.uniform(4, 7),
        )
        path = [(v, v + 1) for v in range(n - 1)]
        others = [(u, v) for u in range(n) for v in range(u + 2, n)]
        sizes = np.repeat([small, large], [len(path), len(others)])
        model = pl.IsingModel(path + others, sizes * rng.uniform(0.5, 1, len(sizes)))
        proof = Bounds(MeanField(np.arange(n - 1), np.zeros(n)), None)
        lower = proof.check(model).lower
        assert Fraction(lower) <= Fraction(Truth(model).log_partition)
        claim = LogPartition(value=lower, lower=lower, upper=np.inf, method="", certificate=proof)
        proved += check_interval(model, claim)[0].status == "proved"
    assert proved


def test_numbers_that_overflow_are_refused() -> None:
    edges = [(u, v) for u in range(40) for v in range(u)]
    model = pl.IsingModel(edges, 0.01)
    honest = pl.log_partition(model, "pdc", time_limit=5.0)
    upper = honest.certificate.upper
    huge = replace(upper, couplings=np.full(len(upper.couplings), 1e308))
    claim = replace(honest, certificate=replace(honest.certificate, upper=huge))
    with pytest.raises(VerificationError):
        check_result(model, claim)


HUGE = [1e8, 1e16, 1e30, 1e150, 1e300, 1.7e308]


def forge(value: Any, rng: np.random.Generator) -> Any:
    """Return a proof with a few of its numbers replaced, mostly by huge ones."""
    body = copy.deepcopy(value)
    places = number_places(body)
    pattern = rng.integers(3)
    field = places[rng.integers(len(places))][:-1]
    for place in [places[k] for k in rng.integers(0, len(places), rng.integers(1, 4))]:
        at = body
        for key in place[:-1]:
            at = at[key]
        if isinstance(at[place[-1]], int):
            at[place[-1]] += int(rng.choice([-1, 1, 1000]))
        else:
            at[place[-1]] = float(rng.choice([-1, 1])) * float(rng.choice(HUGE))
    if pattern == 0:  # a whole array of one number
        at = body
        for key in field:
            at = at[key]
        if isinstance(at, list) and all(isinstance(entry, float) for entry in at):
            at[:] = [float(rng.choice([-1, 1]) * rng.choice(HUGE))] * len(at)
    return body


@pytest.mark.parametrize(
    "kind",
    [
        "flow of a relaxation",
        "cycles",
        "cut tree",
        "semidefinite tree",
        "labels",
        "label cycles",
        "split",
        "decomposition",
        "trees",
        "entropy of trees",
        "entropy of a Gaussian",
        "lowest energy",
        "trees of labels",
        "independent labels",
        "cutset and buckets",
    ],
)
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_no_forged_proof_supports_a_false_claim(kind: str, end: str, tmp_path: Path) -> None:
    """The claim is false by 0.01; oracles that know are not asked, only the proof."""
    model, honest = KINDS[kind][0], solve_kind(kind)
    save_result(honest, tmp_path / "r.json")
    proof = json.loads((tmp_path / "r.json").read_bytes())["body"]["certificate"]
    rng = np.random.default_rng(5)
    states = not isinstance(honest, LogPartition)
    if (states and end == "upper") or not (states or proof[end]):
        return  # an upper end is a state; or nothing is claimed of this one
    truth = recompute(model, task="max" if states else "sum")
    assert truth is not None
    for _ in range(60 if kind == "trees" else trials(60, 300)):
        try:
            forged = _decode(forge(proof if states else proof[end], rng))
        except (ValueError, TypeError, KeyError, OverflowError):
            continue
        with np.errstate(all="ignore"), contextlib.suppress(ValueError, ArithmeticError):
            if states:
                lower = 0.01 - truth.value
                claim = replace(honest, lower=lower, tolerance=-1.0, certificate=forged)
                assert not supports(model, claim), forged
            else:
                ends = {"lower": truth.value + 0.01, "upper": truth.value - 0.01}
                bounds = Bounds(**{"lower": None, "upper": None, end: forged})
                claim = replace(honest, **ends, certificate=bounds)
                found = check_interval(model, claim)
                assert all(finding.status != "proved" for finding in found), forged


def supports(model: Any, claim: Any) -> bool:
    if isinstance(model, pl.IsingModel):
        return check_certificate(model, claim)
    return _check_bound(model, claim, recompute=False)[0] == "proved"


def test_a_unit_out_of_range_takes_no_memory() -> None:
    model = pl.generate.spin_glass(4, np.random.default_rng(0))
    honest = pl.ground_state(model)
    (part,) = honest.certificate
    forged = replace(part, proof=replace(part.proof.as_proof(), exponent=-544669384685))
    with pytest.raises(VerificationError, match="out of range"):
        check_certificate(model, replace(honest, certificate=[forged]))


# -- claims that an elimination must refuse --------------------------------------------------------


def test_differences_below_the_range_of_tolerances_count() -> None:
    model = pl.IsingModel([(0, 1), (1, 2)], [1e-316, -1e-318], fields=[0.0, 1e-317, 0.0])
    honest = pl.ground_state(model)
    assert honest.tolerance == 0.0
    assert check_result(model, honest).proved
    energy = float(model.energy([1, -1, -1]))
    worse = claimed_state([1, -1, -1], energy, energy, energy, True, "by hand")
    with pytest.raises(VerificationError, match="a gap of"):
        check_result(model, worse)


def test_a_state_that_is_forbidden_is_no_minimum_of_a_model_that_allows_others() -> None:
    # Both labels differ in nothing but that one has no weight.
    model = pl.MarkovRandomField([2], [((0,), [1.0, 0.0])])
    assert check_result(model, pl.ground_state(model)).proved
    never = claimed_state([1], np.inf, np.inf, np.inf, False, "by hand")
    assert never.exact
    with pytest.raises(VerificationError, match="a state has energy 0"):
        check_result(model, never)


def test_a_proof_that_nothing_is_allowed_does_not_go_with_a_state() -> None:
    model = pl.MarkovRandomField([2], [((0,), [1.0, 2.0])])
    state = claimed_state([-1], 0.0, 0.0, 0.0, True, "by hand")
    with pytest.raises(VerificationError, match="infinite is proved"):
        require_lower(model, state, -np.inf, -np.inf, "infinite is proved")


def constants_that_cancel() -> pl.MarkovRandomField:
    factors = [((), 1e17), ((), 1.0), ((), -1e17), ((0, 1), [[1.0, 2.0], [3.0, 5.0]])]
    return pl.MarkovRandomField([2, 2], factors, log=True)


@pytest.mark.parametrize("verb", [pl.ground_state, pl.log_partition])
def test_constants_that_cancel_are_added_up_exactly(verb: Any) -> None:
    model = constants_that_cancel()
    honest = verb(model)
    assert check_result(model, honest).proved
    off = 1.0 if verb is pl.ground_state else -1.0
    ends = {"lower": honest.lower + off, "upper": honest.upper + off, "certificate": None}
    name = "energy" if verb is pl.ground_state else "value"
    with pytest.raises(VerificationError):
        check_result(model, replace(honest, **ends, **{name: getattr(honest, name) + off}))


def test_the_rounding_of_merged_factors_is_charged() -> None:
    # Three tables of one variable add up to (1, 0), but (1e17 + 1) - 1e17 is 0 in doubles.
    model = pl.MarkovRandomField(
        [2, 2],
        [((0,), [1e17, 0]), ((0,), [1.0, 0]), ((0,), [-1e17, 0]), ((0, 1), np.zeros((2, 2)))],
        log=True,
    )
    truth = np.log(2 * (np.e + 1))
    trees = LabelTrees(
        edges=np.array([[0, 1]]),
        weights=np.array([1.0]),
        tree_offsets=np.array([0, 1]),
        tree_edges=np.array([0]),
        messages=np.zeros(4),
    )
    buckets = MiniBuckets(
        order=np.array([0, 1]), group_offsets=np.array([0, 4, 5]), groups=np.zeros(5, dtype=int)
    )
    for found in (label_trees_bound(model, trees), mini_bucket_bound(model, buckets)):
        assert found is not None
        assert found.value + found.slack >= truth


def test_marginals_beside_penalties_are_not_held_against_rounded_couplings() -> None:
    # As couplings, half differences of 1e17 and 0.3, the labels would say nothing of 0.3.
    tables = [((2, 0), [[-1e17, 0.3], [-1e17, 0.0]]), ((0, 2), [[-1.0, -1.0], [1.0, -1.0]])]
    tables += [((1, 2), [[1.0, -1.0], [-1.0, 1.0]]), ((1, 2), [[0.0, 0.0], [-1.0, -1.0]])]
    model = pl.MarkovRandomField([2, 2, 2], tables, log=True)
    found = pl.marginals(model, "brute-force")
    assert found.exact
    assert check_result(model, found)
