"""Trees with semidefinite multipliers: they prove what enumeration finds, and nothing more."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import planaris as pl
from planaris.errors import VerificationError
from planaris.relax import branch_and_cut
from planaris.result import SemidefiniteTree, load_result
from planaris.selftest.tampering.corruption import _complete
from planaris.verify import check_result
from planaris.verify.proofs.energy.ground_state import proved_bound
from planaris.verify.proofs.energy.semidefinite import lowest_eigenvalue, semidefinite_bound


def solve(model: pl.IsingModel, **options: float) -> pl.GroundState:
    return branch_and_cut(model, prove=True, bound="semidefinite", **options)


@pytest.mark.parametrize("seed", range(24))
def test_bounds_hold_and_are_as_good_as_claimed(seed: int, tmp_path) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    edges = np.array([(u, v) for u in range(n) for v in range(u) if rng.random() < 0.8])
    count = len(edges)
    couplings = rng.normal(size=count) if seed % 3 else rng.choice([-1.0, 0.0, 1.0], count)
    fields = None if seed % 2 else rng.normal(size=n)
    scale = 10.0 ** rng.integers(-8, 8)
    model = pl.IsingModel(edges.reshape(-1, 2), scale * couplings, fields, num_spins=n, offset=1.5)
    found = solve(model, gap=float(scale * (seed % 4)))
    found.save(tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    report = check_result(model, again)
    assert [finding.detail for finding in report.findings[1:]] == ["semidefinite-tree"]
    assert report.proved
    bound = proved_bound(model, again.certificate, 0.0)
    least = pl.ground_state(model, "brute-force").energy
    assert bound is not None
    assert bound.value <= least + 1e-12 * (abs(least) + 1)
    if not found.exact:
        slack = model.energy_tolerance + bound.units * np.spacing(abs(found.lower))
        assert bound.value >= found.lower - slack


def test_a_part_and_a_field_of_two_labels_are_proved() -> None:
    dense = _complete(34, 1, whole=True)
    tail = [(0, 34), (34, 35), (35, 0)]
    model = pl.IsingModel(
        [*dense.edges.tolist(), *tail], [*dense.couplings, 1.0, 1.0, -1.0], num_spins=36
    )
    found = pl.ground_state(model, prove=True)
    assert found.method == "branch-and-cut+planar"
    assert check_result(model, found).findings[1].detail == "semidefinite-tree, t-join"
    field = pl.MarkovRandomField.from_ising(_complete(16, 1, whole=True))
    best = branch_and_cut(field, prove=True)
    report = check_result(field, best)
    assert report.findings[1].status == "proved"
    assert "semidefinite-tree" in report.findings[1].detail


@pytest.mark.usefixtures("ticking")
def test_a_search_cut_short_proves_its_interval() -> None:
    rng = np.random.default_rng(3)
    edges = [(u, v) for u in range(60) for v in range(u)]
    model = pl.IsingModel(edges, rng.normal(size=len(edges)))
    found = branch_and_cut(model, prove=True, time_limit=0.5)
    assert not found.exact
    assert check_result(model, found).findings[1].status == "proved"


@cache
def branched() -> tuple[pl.IsingModel, pl.GroundState]:
    """Return a model whose proof is a root with two leaves; which one does depends on rounding."""
    for seed in range(5, 30):
        model = _complete(9, seed)
        found = solve(model)
        if len(found.certificate.pair) == 3:
            return model, found
    pytest.fail("no tree of three nodes")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: {"diagonal": p.diagonal + np.arange(len(p.diagonal)) % 2}, "gap"),
        (lambda p: {"multipliers": p.multipliers - 0.1}, ">= 0"),
        (lambda p: {"multipliers": p.multipliers * 1.5}, "gap"),
        (lambda p: {"signs": p.signs * 2}, "±1"),
        (lambda p: {"signs": np.hstack([p.signs[:, :2], -p.signs[:, 2:]])}, "gap"),
        (lambda p: {"triangles": np.minimum(p.triangles, 0)}, "three groups"),
        (lambda p: {"triangles": np.where(p.triangles < 0, -1, 9)}, "three groups"),
        (lambda p: {"triangles": p.triangles + 9}, "±1"),
        (lambda p: {"child": np.array([[1, 1], [-1, -1], [-1, -1]])}, "tree"),
        (lambda p: {"pair": p.pair * 0 - 1}, "one number per group"),
        (lambda p: {"pair": np.abs(p.pair) + 20}, "two groups"),
        (lambda p: {"diagonal_offsets": p.diagonal_offsets[:-1]}, "run"),
        (lambda p: {"diagonal": p.diagonal * np.nan}, "finite"),
    ],
)
def test_what_proves_nothing_is_refused(change, words: str) -> None:
    model, found = branched()
    assert check_result(model, found).proved
    broken = replace(found, certificate=replace(found.certificate, **change(found.certificate)))
    with pytest.raises(VerificationError, match=words):
        check_result(model, broken)


def pentagon(**changes: object) -> float:
    """Return the bound of five spins that want to disagree, by the pentagon inequality alone."""
    edges = np.array(list(itertools.combinations(range(5), 2)))
    numbers: dict[str, object] = {
        "pair": [[-1, -1]],
        "child": [[-1, -1]],
        "diagonal_offsets": [0, 5],
        "diagonal": np.zeros(5),
        "triangle_offsets": [0, 2],
        "triangles": [[0, 1, 2, 3, 4], [0, 1, 2, -1, -1]],
        "signs": [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]],
        "multipliers": [1.0, 0.0],
    }
    return semidefinite_bound(edges, -np.ones(10), SemidefiniteTree(**{**numbers, **changes}))


def test_larger_cliques_prove_what_triangles_cannot() -> None:
    assert pentagon() == pytest.approx(-2.0)  # the minimum: two against three
    alone = np.arange(5)[None]
    assert pentagon(
        triangles=alone, signs=alone * 0 + 1, multipliers=[1.0], triangle_offsets=[0, 1]
    ) == pytest.approx(-2.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"triangles": [[0, 1, 2, 3, 3], [0, 1, 2, -1, -1]]}, "three groups"),
        ({"triangles": [[0, 1, 2, 3, 5], [0, 1, 2, -1, -1]]}, "three groups"),
        ({"triangles": [[0, 1, 2, 3, -2], [0, 1, 2, -1, -1]]}, "three groups"),
        ({"signs": [[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]}, "±1"),
        ({"signs": [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]}, "±1"),
        (
            {"triangles": [[0, 1, 2, 3, -1]] * 2, "signs": [[1, 1, 1, 1, 0]] * 2},
            "odd number",
        ),
        (
            {"triangles": [[0, -1, -1, -1, -1]] * 2, "signs": [[1, 0, 0, 0, 0]] * 2},
            "three groups",
        ),
        ({"signs": [[1, 1, 1], [1, 1, 1]]}, "groups, signs"),
    ],
)
def test_cliques_that_say_nothing_are_refused(changes, words: str) -> None:
    with pytest.raises(VerificationError, match=words):
        pentagon(**changes)


def test_the_least_eigenvalue_is_never_overrated() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 60):
        for _ in range(20):
            tall = rng.integers(-3, 4, (n, max(n - 1, 1))).astype(float)
            gram = tall @ tall.T  # whole numbers: exact, and singular for n > 1
            scale = 2.0 ** rng.integers(-300, 300)
            found = lowest_eigenvalue(scale * (gram - 2 * np.eye(n)))
            true = -2.0 if n > 1 else gram[0, 0] - 2.0
            assert scale * (true - 1e-9) <= found <= scale * true


def test_nothing_to_bound_is_bounded_by_zero() -> None:
    nothing = SemidefiniteTree([[-1, -1]], [[-1, -1]], [0, 1], [0.0], [0, 0], [], [], [])
    assert semidefinite_bound(np.zeros((0, 2), int), np.zeros(0), nothing) == 0.0
