"""Bounds on log Z, and decompositions: proofs of wide models hold, and bound small ones."""

from __future__ import annotations

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from helpers.claims import claimed_log_partition
from helpers.clocks import TickClock
from planaris.bounds import map_bound
from planaris.bounds.labels.mini_buckets import elimination_order, mini_bucket_bound
from planaris.budget import use_clock
from planaris.errors import VerificationError
from planaris.relax import cycle_lp, entropy_bound
from planaris.result import Bounds, CutsetSum, LabelField, load_result
from planaris.selftest.models import KINDS
from planaris.verify import check_result
from planaris.verify.proofs.log_partition.forests import Forest, are_forests, forest_log_partitions
from planaris.verify.proofs.log_partition.label_sums import cutset_bound, label_field_bound
from planaris.verify.proofs.log_partition.mini_buckets import mini_bucket_bound as buckets_again
from planaris.verify.recompute.elimination import recompute


def lattice(size: int, seed: int = 0, *, field: float = 1.0, beta: float = 1.0) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    plain = pl.generate.square_lattice(size, size)
    fields = beta * field * rng.normal(size=size * size)
    return pl.IsingModel(plain.edges, beta * rng.normal(size=len(plain.edges)), fields)


def labelled(size: int, seed: int = 0, *, zeros: float = 0.0) -> pl.MarkovRandomField:
    rng = np.random.default_rng(seed)
    pairs = pl.generate.square_lattice(size, size).edges.tolist()
    factors = [((v,), rng.normal(size=3)) for v in range(size * size)]
    for pair in pairs:
        table = rng.normal(size=(3, 3))
        table[rng.random((3, 3)) < zeros] = -np.inf
        factors.append((tuple(pair), table))
    return pl.MarkovRandomField([3] * size * size, factors, log=True)


def dense(spins: int, seed: int = 0, *, fields: bool = True) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    edges = [(u, v) for v in range(spins) for u in range(v)]
    bias = rng.normal(size=spins) if fields else None
    return pl.IsingModel(edges, rng.normal(size=len(edges)) / 6, bias)


def hub(size: int) -> pl.IsingModel:
    """Return a lattice whose fields are couplings to one more spin."""
    model = lattice(size)
    last = np.column_stack([np.arange(size * size), np.full(size * size, size * size)])
    couplings = np.concatenate([model.couplings, model.fields])
    return pl.IsingModel(np.concatenate([model.edges, last]), couplings)


WIDE = [
    ("log_partition", method, lattice(28))
    for method in ("interval", "trw", "planar+tree", "trw+cycle", "mean-field")
]
WIDE += [("log_partition", m, dense(40)) for m in ("logdet", "trw+cycle", "interval", "pdc")]
WIDE += [("log_partition", m, dense(40, fields=False)) for m in ("logdet", "trw+cycle", "pdc")]
WIDE += [("log_partition", m, labelled(16)) for m in ("interval", "trw", "mean-field")]
WIDE += [("log_partition", m, labelled(16, zeros=0.1)) for m in ("interval", "trw")]
WIDE += [
    ("log_partition", "interval", hub(28)),
    ("log_partition", "interval", lattice(28, beta=30)),
]
WIDE += [
    ("ground_state", m, lattice(28))
    for m in ("auto", "qpbo", "pdc", "local-lp", "cycle-lp", "mplp", "branch-and-cut")
]
WIDE += [
    ("ground_state", m, labelled(16))
    for m in ("auto", "local-lp", "cycle-lp", "mplp", "branch-and-cut")
]


@pytest.mark.parametrize(("verb", "method", "model"), WIDE)
def test_what_is_too_wide_to_recompute_is_proved(verb, method, model, tmp_path) -> None:
    options = {"prove": True} if verb == "ground_state" else {}
    with use_clock(TickClock(1e-3)):
        getattr(pl, verb)(model, method, time_limit=0.7, **options).save(tmp_path / "r.json")
    saved = load_result(tmp_path / "r.json")
    report = check_result(model, saved)
    assert [finding.status for finding in report.findings if finding.claim != "energy"].count(
        "proved"
    ) == (1 if verb == "ground_state" else 2), report.findings
    if verb == "ground_state":
        worse = replace(saved, lower=saved.energy)
    else:
        top = saved.upper if np.isfinite(saved.upper) else saved.lower + 1.0
        worse = replace(saved, lower=top, value=top, upper=max(top, saved.upper))
    if worse.lower > saved.lower + 1e-6:
        assert not _accepted(model, worse)


def _accepted(model, result) -> bool:
    try:
        return check_result(model, result).proved
    except VerificationError:
        return False


@pytest.mark.parametrize("at_once", [1, 20, 10**6])
def test_graphs_side_by_side_are_told_apart(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planaris.verify.proofs.log_partition.forests._AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(np.ones((6, 6)), 1) > 0)
    graphs = [pairs[rng.random(len(pairs)) < 0.25] for _ in range(50)]
    expected = [not len(g) or nx.is_forest(nx.Graph(g.tolist())) for g in graphs]
    assert len(set(expected)) == 2
    assert are_forests(6, graphs) == expected
    assert are_forests(6, [pairs[[0, 0]], pairs[:1]]) == [False, True]
    assert are_forests(0, [pairs[:0]] * 2) == [True, True]


@pytest.mark.parametrize("seed", range(60))
def test_forests_are_summed_as_enumeration_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    edges = [(v, int(rng.integers(v))) for v in range(1, n) if rng.random() < 0.8]
    edges = [pair if rng.random() < 0.5 else pair[::-1] for pair in edges]
    nodes, tables = rng.normal(size=(n, k)), rng.normal(size=(len(edges), k, k))
    if k > 1:
        nodes[rng.integers(n), 0] = -np.inf
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    assert are_forests(n, [pairs]) == [True]
    values, slacks = forest_log_partitions(Forest(np.zeros(n, int), nodes, pairs, tables), 1)
    logs = [
        sum(nodes[v, x[v]] for v in range(n))
        + sum(table[x[u], x[v]] for (u, v), table in zip(edges, tables, strict=True))
        for x in itertools.product(range(k), repeat=n)
    ]
    assert abs(values[0] - np.logaddexp.reduce(logs)) <= slacks[0] + 1e-12
    assert slacks[0] < 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_labels_are_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, size=6)
    factors = []
    for _ in range(9):
        scope = rng.choice(6, size=int(rng.integers(1, 4)), replace=False)
        table = rng.normal(size=cards[scope])
        table[rng.random(table.shape) < 0.1] = -np.inf
        factors.append((tuple(scope.tolist()), table))
    model = pl.MarkovRandomField(cards, factors, log=True)
    truth = recompute(model, task="sum")
    assert truth is not None
    for entries in (1, 4, 12, 1000):
        found = mini_bucket_bound(model, elimination_order(model), entries)
        again = buckets_again(model, found.proof())
        assert again is not None
        assert again.value == pytest.approx(found.upper, abs=1e-9)
        assert truth.value <= again.value + again.slack
        if not found.splits and np.isfinite(truth.value):
            assert again.value == pytest.approx(truth.value, abs=1e-9)
    fixed = rng.choice(6, size=2, replace=False)
    every = np.array(list(itertools.product(*(range(k) for k in cards[fixed]))))
    some = every[: max(1, len(every) // 2)]
    for labels in (every, some):
        summed = cutset_bound(model, CutsetSum(fixed, labels))
        assert summed is not None
        assert summed.value <= truth.value + 1e-9
        if len(labels) == len(every) and np.isfinite(truth.value):
            assert summed.value == pytest.approx(truth.value, abs=1e-9)
    q = np.concatenate([rng.dirichlet(np.ones(k)) for k in cards])
    mean = label_field_bound(model, LabelField(q))
    assert mean is not None
    assert mean.value <= truth.value


@pytest.mark.parametrize("polytope", ["local", "cycle"])
@pytest.mark.parametrize("entropy", ["trw", "log-det"])
@pytest.mark.parametrize("seed", range(4))
def test_entropies_are_evaluated_as_the_solver_does(entropy, polytope, seed) -> None:
    model = dense(9, seed, fields=bool(seed % 2))
    found = entropy_bound(model, entropy=entropy, polytope=polytope)
    report = check_result(model, found)
    assert [finding.status for finding in report.findings] == ["proved", "proved"]
    tighter = replace(found, upper=found.upper - 1e-5, value=found.upper - 1e-5)
    with pytest.raises(VerificationError, match="upper end"):
        check_result(model, tighter)


def test_a_split_that_misses_something_pays_for_it() -> None:
    model = lattice(6)
    found = map_bound(model, max_rounds=10)
    proof = found.certificate
    assert check_result(model, found).findings[1].status == "proved"
    lighter = replace(proof, couplings=0.9 * np.asarray(proof.couplings))
    with pytest.raises(VerificationError):
        check_result(model, replace(found, certificate=lighter))


def test_a_planar_model_is_its_own_split() -> None:
    model = pl.generate.spin_glass(20, np.random.default_rng(3))
    found = pl.ground_state(model, "pdc")
    assert found.exact
    assert found.energy == pl.ground_state(model).energy
    assert check_result(model, found).findings[1].status == "proved"


@pytest.mark.parametrize("projection", ["single", "k", "full"])
def test_projected_cycles_are_proved(projection: str) -> None:
    rng = np.random.default_rng(1)
    pairs = [(u, v) for v in range(8) for u in range(v)]
    factors = [
        (pair, rng.normal(size=(3, 3))) for pair in [*pairs, *[(v, u) for u, v in pairs[:4]]]
    ]
    model = pl.MarkovRandomField([3] * 8, factors, log=True)
    found = cycle_lp(model, projection=projection, prove=True)
    assert found.lower == pytest.approx(cycle_lp(model, projection=projection).lower, abs=1e-6)
    assert check_result(model, found).findings[1].detail == "label-cycles"
    row = replace(found.certificate, odd=1 - np.asarray(found.certificate.odd))
    with pytest.raises(VerificationError):
        check_result(model, replace(found, certificate=row))


def test_proofs_of_labels_do_not_fit_other_models() -> None:
    small, large = labelled(3), labelled(4)
    for method in ("trw", "mean-field"):
        found = pl.log_partition(large, method)
        with pytest.raises(VerificationError):
            check_result(small, found)
    halves = claimed_log_partition(
        0.0, 0.0, 1e9, False, "x", certificate=Bounds(LabelField(np.ones(27)), None)
    )
    with pytest.raises(VerificationError, match="add up to one"):
        check_result(small, halves)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("limit", [0.01, 0.03, 0.1, 1.0])
@pytest.mark.parametrize("method", ["logdet", "trw+cycle"])
def test_entropies_of_ill_conditioned_moments_charge_for_it(method: str, limit: float) -> None:
    model = KINDS["degenerate"](np.random.default_rng([1624, 2026])).model  # many decades
    assert check_result(model, pl.log_partition(model, method, time_limit=limit)).proved
