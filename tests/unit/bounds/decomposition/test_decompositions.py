"""Trees and planar subgraphs: against the convex program, the cycle LP, and each other."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from helpers.clocks import TickClock
from planaris import IsingModel, plan
from planaris import log_partition as pl_log_partition
from planaris.bounds import clamped_marginals, interval, map_bound, mean_field, pdc, trw
from planaris.bounds.decomposition.trees import TreeMixture, grow_trees, tree_decomposition
from planaris.bounds.mean_field_clusters import PlanarCore, planar_clusters
from planaris.budget import control, use_clock
from planaris.errors import MethodError
from planaris.generate import spin_glass, square_lattice
from planaris.kernels.graph import colour_classes, is_planar
from planaris.kernels.relaxations import Forest
from planaris.models.bias_spin import fields2bias
from planaris.reference import enumerate_states
from planaris.relax import cycle_lp, entropy_bound
from planaris.subgraphs.bias_model import as_bias_model
from planaris.subgraphs.convex_combination import Decomposition
from planaris.subgraphs.families import (
    cluster_family,
    lattice_family,
    lattice_shape,
    planar_family,
    spanning_forest,
    strip_family,
    tree_family,
)

K5 = [(u, v) for u in range(5) for v in range(u)]


def lattice(rng: np.random.Generator, rows: int, columns: int, field: float) -> IsingModel:
    graph = square_lattice(rows, columns)
    return IsingModel(
        graph.edges,
        rng.uniform(-1, 1, len(graph.edges)),
        rng.uniform(-field, field, graph.num_vertices),
    )


def test_trees_reach_the_convex_program(rng: np.random.Generator) -> None:
    """The same bound by another route: Newton on a barrier over the local polytope."""
    model = lattice(rng, 3, 3, 0.5)
    ours = trw(model, max_rounds=40, max_iterations=3000, tolerance=1e-9)
    theirs = entropy_bound(model, polytope="local", rho="optimal", tolerance=1e-6)
    assert ours.upper == pytest.approx(theirs.upper, abs=3e-3)
    # And at the very ρ that ours ended with, both must agree.
    same = entropy_bound(model, polytope="local", rho=ours.stats["rho"], tolerance=1e-7)
    assert ours.upper == pytest.approx(same.upper, abs=1e-3)
    assert np.abs(ours.stats["nodes"] - same.stats["nodes"]).max() < 0.02


def test_gradient_is_the_derivative(rng: np.random.Generator) -> None:
    bare = as_bias_model(lattice(rng, 3, 3, 1.0))
    state = Decomposition(bare, lattice_family(bare, (3, 3)) + tree_family(bare))
    x = rng.normal(size=len(state.y) + len(state.logits)) * 0.3
    _, gradient = state.value(x)
    for k in rng.choice(len(x), 12, replace=False):
        step = np.zeros(len(x))
        step[k] = 1e-5
        slope = (state.value(x + step)[0] - state.value(x - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-7)


def test_lattice_families_are_planar_and_cover(rng: np.random.Generator) -> None:
    model = lattice(rng, 5, 6, 1.0)
    bare = as_bias_model(model)
    assert lattice_shape(bare) == (5, 6)
    for family in (
        lattice_family(bare, (5, 6)),
        lattice_family(bare, (5, 6), stride=2),
        strip_family(bare, (5, 6), 2),
        planar_family(bare, rng),
    ):
        held = np.zeros(bare.num_edges, dtype=bool)
        for members in family:
            held[members] = True
            assert is_planar(bare.num_spins, np.ascontiguousarray(bare.edges[members]))
        assert held.all()
    for family in (tree_family(bare), cluster_family(bare, 3, rng)):
        assert np.unique(np.concatenate(family)).size == bare.num_edges


def test_other_graphs_are_no_lattices() -> None:
    assert lattice_shape(as_bias_model(IsingModel(K5, 1.0))) is None
    ladder = IsingModel([(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)], 1.0)
    assert lattice_shape(as_bias_model(ladder)) is None


def test_spanning_forests_take_the_heaviest_edges(rng: np.random.Generator) -> None:
    import networkx as nx

    bare = as_bias_model(IsingModel(K5, rng.normal(size=10), rng.normal(size=5)))
    weight = rng.random(bare.num_edges)
    tree = spanning_forest(bare, weight)
    graph = nx.Graph()
    for e in range(10):
        graph.add_edge(*bare.edges[e].tolist(), weight=weight[e])
    best = nx.maximum_spanning_tree(graph).size("weight")
    assert weight[tree[tree < 10]].sum() == pytest.approx(best)


def test_map_bound_equals_the_cycle_lp(rng: np.random.Generator) -> None:
    """K5 without each edge in turn: every triangle, the chordless cycles, is in a subgraph."""
    all_but_one = [[e for e in range(10) if e != left] for left in range(10)]
    for _ in range(5):
        model = IsingModel(K5, rng.normal(size=10))
        ours = map_bound(model, subgraphs=all_but_one)
        theirs = cycle_lp(model)
        assert ours.lower == pytest.approx(theirs.lower, abs=1e-5)
        minimum = enumerate_states(model).energy
        assert ours.lower - 1e-9 <= minimum <= ours.energy + 1e-9


@pytest.mark.parametrize("subgraphs", [[], [[]]])
def test_map_bound_without_subgraphs_is_the_sum_of_sizes(subgraphs: list[list[int]]) -> None:
    model = spin_glass(3, 1)
    least = -np.abs(model.couplings).sum()
    assert map_bound(model, subgraphs=subgraphs).lower == pytest.approx(least, rel=1e-12)


def test_map_bound_with_fields_is_a_bound(rng: np.random.Generator) -> None:
    model = lattice(rng, 3, 4, 1.0)
    found = map_bound(model)
    minimum = enumerate_states(model).energy
    assert found.lower <= minimum + 1e-9
    assert found.energy >= minimum - 1e-9


def test_messages_between_planar_pieces_close_the_gap(rng: np.random.Generator) -> None:
    """The bound equals the energy of a state, by ground states of the pieces alone."""
    closed = 0
    for _ in range(4):
        model = lattice(rng, 4, 4, 0.5)
        found = map_bound(model)
        minimum = enumerate_states(model).energy
        assert found.lower <= minimum + 1e-9
        assert found.energy == pytest.approx(minimum)
        if found.exact:
            closed += 1
            assert found.lower == pytest.approx(minimum, abs=model.energy_tolerance)
            assert found.certificate.check(model).lower == pytest.approx(found.lower, abs=1e-8)
    assert closed >= 3
    odd = IsingModel(K5, -0.3)  # the cycle LP is not tight: no messages can close it
    assert not map_bound(odd, subgraphs=[[e for e in range(10) if e != k] for k in range(10)]).exact


def test_published_lattice_family_has_components_and_a_looser_bound(
    rng: np.random.Generator,
) -> None:
    model = lattice(rng, 4, 5, 1.0)
    bare = as_bias_model(model)
    family = lattice_family(bare, (4, 5), bridges=False)
    assert np.all(np.bincount(np.concatenate(family), minlength=bare.num_edges) > 0)
    for members in family[:-1]:
        assert is_planar(bare.num_spins, np.ascontiguousarray(bare.edges[members]))
        inner = members[members < model.num_edges]
        graph = nx.Graph(bare.edges[inner].tolist())
        assert nx.number_connected_components(graph) in (2, 3)
    truth = enumerate_states(model).log_partition
    published, bridged = (pdc(model, subgraphs=name).upper for name in ("components", "lattice"))
    assert truth <= bridged <= published + 1e-6


def test_clamped_marginals_enclose(rng: np.random.Generator) -> None:
    model = IsingModel(K5, rng.normal(size=10), rng.normal(size=5))
    truth = enumerate_states(model).nodes
    rough = clamped_marginals(model)
    tight = clamped_marginals(model, [0, 3], bound=interval)
    assert np.all(rough.lower <= truth + 1e-9)
    assert np.all(rough.upper >= truth - 1e-9)
    assert tight.nodes == pytest.approx(truth[[0, 3]], abs=1e-9)


def test_given_subgraphs_are_checked() -> None:
    model = IsingModel(K5, 1.0)
    with pytest.raises(MethodError, match="hold every edge"):
        pdc(model, subgraphs=[[0, 1, 2]])
    with pytest.raises(MethodError, match="name edges 0 to 9"):
        pdc(model, subgraphs=[[0, 10]])
    with pytest.raises(MethodError, match="square lattice"):
        pdc(model, subgraphs="lattice")
    with pytest.raises(MethodError, match="must be one of"):
        pdc(model, subgraphs="stars")


def test_given_forests_may_hold_no_field() -> None:
    """Beside a subgraph that is no forest and holds all fields: it ended in a TypeError."""
    model = IsingModel(K5, 0.5, [1.0, 0.0, 0.0, 0.0, 0.0])
    truth = enumerate_states(model).log_partition
    found = pdc(model, subgraphs=[[0, 1, 2, 3, 4, 5, 10], [6, 7, 8, 9]])
    assert found.lower <= truth <= found.upper


def test_time_limits_are_kept(rng: np.random.Generator) -> None:
    model = lattice(rng, 16, 16, 1.0)
    with use_clock(TickClock(0.01)) as clock:
        found = pdc(model, time_limit=0.5)
    assert found.stats["status"] == "time_limit"
    assert clock.now < 1.0  # looks after the time was over: half a second is promised
    assert found.lower < found.upper


def test_mean_field_clusters_are_checked_and_help(rng: np.random.Generator) -> None:
    model = lattice(rng, 4, 4, 0.5)
    truth = enumerate_states(model).log_partition
    naive = mean_field(model, clusters="spins").lower
    columns = [np.arange(k, 16, 4) for k in range(4)]
    chains = mean_field(model, clusters=columns).lower
    whole = mean_field(model, clusters=[np.arange(16)]).lower
    assert naive < chains < whole <= truth
    assert whole == pytest.approx(truth, abs=1e-9)
    with pytest.raises(MethodError, match="each of the 16 spins once"):
        mean_field(model, clusters=[np.arange(15)])


@pytest.mark.usefixtures("ticking")
def test_a_hub_is_held(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with its fields as couplings to a spin gets the interval it had with fields."""
    monkeypatch.setattr("planaris.bounds.best_interval.EXACT_SHARE", -1.0)
    model = lattice(rng, 4, 4, 1.0)
    joined, _ = fields2bias(model)
    truth = enumerate_states(model).log_partition + np.log(2.0)
    found = interval(joined, 2.0)
    assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
    assert found.gap < 4.0  # trees alone; the clock may be slow


def test_forests_match_enumeration(rng: np.random.Generator) -> None:
    edges = np.array([(0, 1), (3, 1), (4, 3), (5, 6)], dtype=np.int32)
    couplings, fields = rng.normal(size=4), rng.normal(size=7)
    forest = Forest(7, edges, *control(None))
    logs, spins, pairs = forest.evaluate(couplings, fields, *control(None))
    np.testing.assert_array_equal(forest.log_values(couplings, fields), logs)
    truth = enumerate_states(IsingModel(edges, couplings, fields))
    assert logs.sum() == pytest.approx(truth.log_partition, abs=1e-12)
    assert (1 + spins) / 2 == pytest.approx(truth.nodes, abs=1e-12)
    assert (1 + pairs) / 2 == pytest.approx(truth.edges, abs=1e-12)


def test_messages_reach_what_the_optimiser_reaches(rng: np.random.Generator) -> None:
    model = lattice(rng, 6, 6, 0.5)
    bare = as_bias_model(model)
    messages, status = tree_decomposition(bare)
    assert status in ("optimal", "max_iterations")
    slow, _ = grow_trees(bare, max_iterations=500, max_rounds=12, tolerance=2e-7)
    assert messages.upper <= slow.upper + 1e-3
    assert messages.disagreement < 1e-5 < slow.disagreement


def test_messages_split_the_model_wherever_they_stop(rng: np.random.Generator) -> None:
    """The mean of the trees' couplings is the model, whatever the messages are."""
    model = lattice(rng, 4, 4, 1.0)
    mixture = TreeMixture(as_bias_model(model))
    truth = enumerate_states(model).log_partition
    for _ in range(5):
        mixture.messages = rng.normal(size=len(mixture.messages))
        mixture.add(mixture.best_tree()[1], 0.3)
        state = mixture.decomposition()
        weights = state.rho()[state.pieces.piece]
        mean = np.bincount(state.pieces.edge, weights * state.y, state.bare.num_edges)
        assert mean == pytest.approx(state.bare.couplings, abs=1e-12)
        assert (found := state.certified()) >= truth
        state.known = None  # computed again
        assert state.certified() == found


def test_unsettled_messages_are_finished_by_the_optimiser(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = as_bias_model(lattice(rng, 5, 5, 0.5))
    best = tree_decomposition(bare)[0].upper
    monkeypatch.setattr(TreeMixture, "sweep", lambda *_: False)
    found, status = tree_decomposition(bare, max_iterations=300)
    assert status in ("optimal", "max_iterations")
    assert abs(found.upper - best) <= 0.01


def test_a_planar_core_covers_a_torus_but_two_rings(rng: np.random.Generator) -> None:
    at = np.arange(64).reshape(8, 8)
    pairs = [np.column_stack([at.ravel(), np.roll(at, -1, axis).ravel()]) for axis in (0, 1)]
    model = IsingModel(np.concatenate(pairs), rng.normal(size=128))
    sizes = [len(spins) for spins in planar_clusters(model, 2)]
    assert sizes[0] >= 49 - 4
    assert sum(sizes) == 64
    planar = mean_field(model, clusters="planar", width=2)
    small = mean_field(model, clusters="width", width=2)
    truth = pl_log_partition(model).value
    assert small.lower < planar.lower <= truth


def test_planar_cores_give_what_elimination_gives(rng: np.random.Generator) -> None:
    """The same cluster by both routes: a grid with a field along its border."""
    graph = square_lattice(3, 4)
    fields = np.zeros(12)
    fields[:4] = rng.normal(size=4)
    model = IsingModel(graph.edges, rng.normal(size=len(graph.edges)), fields)
    everything, rim = np.arange(12), fields != 0
    joined = np.concatenate([model.edges, np.column_stack([np.arange(4), np.full(4, 12)])])
    core = PlanarCore(everything, model, np.flatnonzero(rim), plan((13, joined)))
    found, truth = core.solve(fields), enumerate_states(model)
    assert found.log == pytest.approx(truth.log_partition, abs=1e-9)
    assert (1 + found.means[:4]) / 2 == pytest.approx(truth.nodes[:4], abs=1e-8)
    assert np.isnan(found.means[4:]).all()
    assert (1 + core.pairs(fields)) / 2 == pytest.approx(truth.edges, abs=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_colours_have_no_edges_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    pairs = np.array([(u, v) for v in range(n) for u in range(v)], dtype=np.int32).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < rng.random()]
    classes = colour_classes(n, edges)
    assert np.array_equal(np.sort(np.concatenate(classes)), np.arange(n))
    colour = np.zeros(n, dtype=int)
    for k, members in enumerate(classes):
        colour[members] = k
    assert not np.any(colour[edges[:, 0]] == colour[edges[:, 1]])
    assert len(colour_classes(64, square_lattice(8, 8).edges)) == 2
