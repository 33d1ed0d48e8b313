"""log Z and marginals by sums over cuts: against plain elimination and wrong claims."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import planaris as pl
from helpers.degenerate import SMALL
from helpers.trials import seeds
from planaris.embed import Embedding, torus_lattice
from planaris.errors import PlanarisError, VerificationError
from planaris.result import CutSum
from planaris.selftest.models import _planar
from planaris.verify import check_result
from planaris.verify.conversions import BareModel
from planaris.verify.recompute.cut_sums import edge_sum_by_cuts, log_partition_by_cuts
from planaris.verify.recompute.elimination import recompute


def recipe(found: pl.LogPartition | pl.Marginals) -> CutSum:
    assert found.certificate is not None
    return found.certificate.as_proof()


def plain(embedding: Embedding, spins: np.ndarray) -> CutSum:
    """Any state will do, and no sets."""
    none, no_values = np.zeros(0, dtype=np.int32), np.zeros(0)
    faces = {"walk": embedding.face_walk, "offsets": embedding.face_offsets}
    return CutSum(
        **faces, spins=spins, order=none, start=none, stop=none, parent=none, values=no_values
    )


@pytest.mark.parametrize("beta", [4.0, 40.0, 300.0, 1000.0])
@pytest.mark.parametrize("disorder", ["gaussian", "bimodal"])
def test_strips_agree_with_elimination(beta: float, disorder: str) -> None:
    lattice = pl.generate.square_lattice(9, 40)
    model = pl.generate.spin_glass(lattice, np.random.default_rng(1), disorder=disorder, beta=beta)
    found = pl.log_partition(model, "planar")
    again, truth = log_partition_by_cuts(model, recipe(found)), recompute(model, task="sum")
    assert again is not None
    assert abs(again.value - truth.value) <= again.slack + truth.slack
    assert again.slack <= 1e-12 * float(np.abs(model.couplings).sum())


@pytest.mark.parametrize("seed", range(40))
def test_random_planes_agree_with_elimination(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, edges, _ = _planar(rng)  # bridges and several components among them
    couplings = rng.normal(size=len(edges)) * rng.choice([0.0, 1e-9, 1.0, 30.0, 400.0], len(edges))
    field = np.zeros(n)
    field[: seed % 2] = 5.0
    model = pl.IsingModel(edges, couplings, field, num_spins=n, offset=-3.5)
    found = pl.log_partition(model, "planar")
    if found.certificate is None:  # no coupling is large
        assert np.abs(couplings).max(initial=0.0) <= 5.0
        return
    again, truth = log_partition_by_cuts(model, recipe(found)), recompute(model, task="sum")
    assert again is not None
    assert abs(again.value - truth.value) <= again.slack + truth.slack


@pytest.mark.parametrize("seed", seeds(6, 12))
@pytest.mark.parametrize("beta", [0.2, 1.0, 3.0, 10.0])
def test_any_state_gives_the_same_sum_on_a_torus(seed: int, beta: float) -> None:
    rng = np.random.default_rng(seed)
    surface = torus_lattice(3 + seed % 3, 4 + seed % 5)
    disorder = ("gaussian", "bimodal")[seed % 2]
    model = pl.generate.spin_glass(surface, rng, disorder=disorder, beta=beta)
    truth = recompute(model, task="sum", marginals=True)
    state = rng.choice([-1, 1], model.num_spins)
    for spins in (state, -state, np.ones(model.num_spins, dtype=int)):
        again = log_partition_by_cuts(model, plain(surface, spins))
        if again is not None:
            assert abs(again.value - truth.value) <= again.slack + truth.slack
        else:
            assert beta > 1.0, "warm tori can always be added up"


def test_a_torus_glued_to_a_plane_and_two_tori() -> None:
    """Genus 2, and several components."""
    rng = np.random.default_rng(2)
    one = torus_lattice(3, 4)
    for other in (
        torus_lattice(3, 3),
        Embedding.from_graph([(0, 1), (1, 2), (2, 0)], num_vertices=3),
    ):
        m, n = one.num_vertices, other.num_vertices
        both = Embedding(
            m + n,
            np.concatenate([one.edges, other.edges + m]),
            np.concatenate([one.rotation, other.rotation + 2 * one.num_edges]),
            np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]]),
        )
        model = pl.IsingModel(both.edges, rng.normal(size=both.num_edges), num_spins=m + n)
        truth = recompute(model, task="sum")
        again = log_partition_by_cuts(model, plain(both, rng.choice([-1, 1], m + n)))
        assert again is not None
        assert abs(again.value - truth.value) <= again.slack + truth.slack


@pytest.mark.parametrize(("genus", "beta"), [(0, 4.0), (0, 120.0), (1, 0.5), (1, 2.0)])
def test_edge_sums_agree_with_elimination(genus: int, beta: float) -> None:
    rng = np.random.default_rng(4)
    surface = torus_lattice(5, 9) if genus else pl.generate.square_lattice(7, 12)
    model = pl.generate.spin_glass(surface, rng, beta=beta)
    options = {"embedding": surface} if genus else {}
    found = pl.log_partition(model, "planar", **options)
    truth = recompute(model, task="sum", marginals=True)
    likely = np.array([t[0, 0] + t[1, 1] - t[0, 1] - t[1, 0] for t in truth.factor_marginals])
    weights = rng.normal(size=model.num_edges)
    again = edge_sum_by_cuts(recipe(found), BareModel.of(model), weights)
    assert again is not None
    assert abs(again.value - weights @ likely) <= again.slack + 1e-9


@pytest.mark.parametrize("name", SMALL)
def test_odd_models_are_right_or_not_judged(name: str) -> None:
    model = SMALL[name]()
    cold = pl.IsingModel(
        model.edges, 40 * model.couplings, 40 * model.fields, num_spins=model.num_spins
    )
    try:
        found = pl.log_partition(cold, "planar")
    except PlanarisError:
        return
    if found.certificate is None:
        return
    again, truth = log_partition_by_cuts(cold, recipe(found)), recompute(cold, task="sum")
    assert again is None or abs(again.value - truth.value) <= again.slack + truth.slack


def test_wide_and_cold_results_are_recomputed_and_false_ones_refused() -> None:
    """Neither elimination nor the determinant can say anything about these."""
    torus = torus_lattice(14, 14)
    field = np.zeros(26 * 26)
    field[:26] = np.random.default_rng(5).normal(size=26) * 30
    square = pl.generate.spin_glass(26, np.random.default_rng(0), beta=30.0)
    models = [
        (square, {}),
        (pl.IsingModel(square.edges, square.couplings, field), {}),
        (pl.generate.spin_glass(torus, np.random.default_rng(0), beta=2.0), {"embedding": torus}),
    ]
    for model, options in models:
        found = pl.log_partition(model, "planar", **options)
        (finding,) = check_result(model, found).findings
        assert finding.status == "recomputed"
        assert "cuts" in finding.detail
        off = 1e-6 * found.value
        ends = {"lower": found.lower + off, "upper": found.upper + off}
        wrong = replace(found, value=found.value + off, **ends)
        with pytest.raises(VerificationError, match="log Z is claimed"):
            check_result(model, wrong)
        likely = pl.marginals(model, "planar", **options)
        assert check_result(model, likely).findings[0].status == "recomputed"
        edges = np.array(likely.edges)
        at = int(np.argmin(np.abs(edges - 0.5)))  # the fit with spins leaves room there
        edges[at] += 1e-5
        with pytest.raises(VerificationError, match=r"some of them are wrong|must fit"):
            check_result(model, replace(likely, edges=edges))


def test_fields_of_two_labels_are_recomputed_too() -> None:
    square = pl.generate.spin_glass(26, np.random.default_rng(3), beta=20.0)
    model = pl.MarkovRandomField.from_ising(square)
    for answer in (pl.log_partition(model, "planar"), pl.marginals(model, "planar")):
        assert {finding.status for finding in check_result(model, answer).findings} == {
            "recomputed"
        }


def test_recipes_survive_files(tmp_path) -> None:
    model = pl.generate.spin_glass(26, np.random.default_rng(3), beta=20.0)
    for answer in (pl.log_partition(model, "planar"), pl.marginals(model, "planar")):
        answer.save(tmp_path / "r.json")
        again = pl.result.load_result(tmp_path / "r.json")
        assert check_result(model, again).findings[0].status == "recomputed"


def test_corrupt_recipes_are_refused_or_change_nothing() -> None:
    rng = np.random.default_rng(11)
    lattice = pl.generate.square_lattice(4, 7)
    model = pl.generate.spin_glass(lattice, rng, beta=25.0)
    honest, truth = recipe(pl.log_partition(model, "planar")), recompute(model, task="sum")
    refused = 0
    for _ in range(400):
        name = str(rng.choice([f.name for f in fields(CutSum)]))
        array = np.array(getattr(honest, name))
        at = rng.integers(len(array))
        array[at] = array[at] * float(rng.choice([0, -1, 3])) + int(rng.choice([-1, 0, 1, 100]))
        try:
            again = log_partition_by_cuts(model, replace(honest, **{name: array}))
        except VerificationError:
            refused += 1
            continue
        assert again is None or abs(again.value - truth.value) <= again.slack + truth.slack
    assert refused > 100


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"spins": [1, 1, 1]}, "every spin has a state"),
        ({"spins": [1, 0, 1, 1]}, "states are -1 and"),
        ({"walk": [0, 1, 2, 3, 4, 5]}, "walks use each half-edge once"),
        ({"values": [1.0]}, "sets have values"),
        ({"order": [9]}, "below 2"),
    ],
)
def test_broken_recipes_say_what_is_wrong(changes, what: str) -> None:
    model = pl.IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], [2.0, 2.0, 2.0, -2.0])
    honest = plain(Embedding.from_graph(model.edges, num_vertices=4), np.ones(4, dtype=int))
    assert log_partition_by_cuts(model, honest) is not None
    with pytest.raises(VerificationError, match=what):
        log_partition_by_cuts(model, replace(honest, **changes))


def test_walks_that_pinch_a_spin_are_refused() -> None:
    """Two triangles that share a spin, as if it were two spins: more sets would be even."""
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    model = pl.IsingModel(edges, [2.0, 2.0, -2.0, 2.0, 2.0, 2.0])
    honest = plain(Embedding.from_graph(model.edges, num_vertices=5), np.ones(5, dtype=int))
    assert log_partition_by_cuts(model, honest) is not None
    pinched = replace(
        honest,
        walk=np.array([0, 2, 4, 5, 3, 1, 6, 8, 10, 11, 9, 7]),
        offsets=np.array([0, 3, 6, 9, 12]),
    )
    with pytest.raises(VerificationError, match="close around every spin"):
        log_partition_by_cuts(model, pinched)


def test_deeply_nested_sets_are_not_followed_for_long() -> None:
    model = pl.generate.spin_glass(60, np.random.default_rng(0), beta=9.0)
    honest = recipe(pl.log_partition(model, "planar"))
    count = 3000
    nested = replace(
        honest,
        order=np.arange(count),
        start=np.arange(count),
        stop=np.full(count, count),
        parent=np.arange(count) - 1,
        values=np.full(count, 1e-9),
    )
    with pytest.raises(VerificationError, match="a lowest one"):
        log_partition_by_cuts(model, nested)


def test_cold_sums_need_a_state_that_is_proved_lowest() -> None:
    """Relative to others all eliminations may be wrong alike, here by up to 1.7e-3."""
    model = pl.generate.spin_glass(
        pl.generate.square_lattice(4, 7), np.random.default_rng(11), beta=25.0
    )
    honest = recipe(pl.log_partition(model, "planar"))
    assert log_partition_by_cuts(model, honest) is not None
    for v in range(28):
        spins = honest.spins.copy()
        spins[v] *= -1
        with pytest.raises(VerificationError, match="a lowest one"):
            log_partition_by_cuts(model, replace(honest, spins=spins))
    for sets in (
        {"values": 2 * honest.values},
        {"values": 0 * honest.values},
        {
            name: getattr(honest, name)[:0]
            for name in ("order", "start", "stop", "parent", "values")
        },
    ):
        with pytest.raises(VerificationError, match="a lowest one"):
            log_partition_by_cuts(model, replace(honest, **sets))
