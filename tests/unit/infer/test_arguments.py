"""What the verbs refuse, and in which words."""

import dimod
import networkx as nx
import numpy as np
import pytest

import planaris as pl

PAIR = pl.IsingModel([(0, 1)], [1.0])
VERBS = [pl.ground_state, pl.log_partition, pl.marginals, lambda model: pl.sample(model, 1)]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("given", "way"),
    [
        (nx.path_graph(3), "from_networkx"),
        (dimod.BinaryQuadraticModel("SPIN"), "from_bqm"),
        (np.eye(3), "from_matrix"),
        ("model.uai", "read_model"),
        ([(0, 1)], "IsingModel"),
        ([PAIR, PAIR], "solve_many"),
    ],
)
def test_what_is_no_model_is_refused_with_the_way_to_make_one(verb, given, way):
    with pytest.raises(pl.errors.ModelError, match=way):
        verb(given)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "1", np.array([1.0, 2.0])])
def test_time_limits_are_positive_numbers(limit):
    with pytest.raises(pl.errors.MethodError, match="time_limit"):
        pl.ground_state(PAIR, time_limit=limit)


@pytest.mark.parametrize("verb", [pl.ground_state, pl.log_partition, pl.marginals])
@pytest.mark.parametrize("limit", [0, -1, float("nan"), "1G"])
def test_memory_limits_are_positive_numbers(verb, limit):
    with pytest.raises(pl.errors.MethodError, match="memory_limit"):
        verb(PAIR, memory_limit=limit)


@pytest.mark.parametrize("verb", [pl.ground_state, pl.log_partition, pl.marginals])
def test_wrong_kinds_of_methods_and_embeddings_are_refused(verb):
    with pytest.raises(pl.errors.MethodError, match="`method` must be one of"):
        verb(PAIR, ["auto"])
    with pytest.raises(pl.errors.EmbeddingError, match="`embedding` must be an Embedding"):
        verb(PAIR, embedding="plane")


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("limit", [1e-3, 0.02])
def test_ground_states_that_elimination_is_late_for_are_intervals(limit, monkeypatch):
    # Elimination is taken for quick, and is not.
    def late(*args, **options):
        raise pl.errors.TimeLimitError("late", time_limit=limit)

    monkeypatch.setattr("planaris.treewidth.ground_state", late)
    monkeypatch.setattr("planaris.cuts.is_submodular", lambda model: False)
    rng = np.random.default_rng(0)
    k7 = [(u, v) for u in range(7) for v in range(u)]
    model = pl.IsingModel(k7, rng.standard_normal(21), rng.standard_normal(7))
    labels = pl.MarkovRandomField([3] * 7, [(pair, rng.random((3, 3))) for pair in k7])
    for any_model in (model, labels):
        best = pl.ground_state(any_model, "branch-and-cut").energy
        found = pl.ground_state(any_model, time_limit=limit)
        assert found.lower <= best + 1e-9
        assert best - 1e-9 <= found.energy


@pytest.mark.parametrize("count", [-1, 2.5, "2", None])
def test_numbers_of_samples_are_integers(count):
    with pytest.raises(pl.errors.ModelError, match="num_samples"):
        pl.sample(PAIR, count)


def test_a_seed_is_as_good_as_a_generator_everywhere():
    for_seed = pl.generate.spin_glass(5, 3)
    for_rng = pl.generate.spin_glass(5, np.random.default_rng(3))
    assert np.array_equal(for_seed.couplings, for_rng.couplings)
    plan = pl.plan(for_rng)
    drawn = [plan.sample(for_rng.couplings, 4, rng) for rng in (7, np.random.default_rng(7))]
    assert np.array_equal(*drawn)
    drawn = [pl.treewidth.sample(for_rng, 4, rng) for rng in (7, np.random.default_rng(7))]
    assert np.array_equal(*drawn)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("method", ["interval", "clamped"])
def test_bounds_tell_how_far_they_are(method):
    rng = np.random.default_rng(0)
    pairs = [(u, v) for u in range(32) for v in range(u)]
    dense = pl.IsingModel(pairs, rng.standard_normal(len(pairs)), rng.standard_normal(32))
    told = []
    pl.marginals(dense, method, time_limit=2.0, progress=told.append)
    assert told
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1


@pytest.mark.parametrize("verb", [pl.ground_state, pl.log_partition, pl.marginals])
def test_embeddings_are_embeddings(verb):
    with pytest.raises(pl.errors.EmbeddingError, match="must be an Embedding, got int"):
        verb(PAIR, embedding=3)


@pytest.mark.parametrize("rng", ["x", -1, 2.5])
def test_sources_of_randomness_are_generators_or_seeds(rng):
    with pytest.raises(pl.errors.ModelError, match="rng"):
        pl.sample(PAIR, 1, rng)


@pytest.mark.parametrize("count", [10**13, 10**20, 10**400])
@pytest.mark.parametrize("labels", [2, 3])
def test_more_samples_than_fit_into_the_memory_are_refused(count: int, labels: int) -> None:
    mrf = pl.MarkovRandomField([labels] * 2, [((0, 1), np.ones((labels, labels)))])
    with pytest.raises(pl.errors.TooLargeError, match="the array of samples"):
        pl.sample(mrf, count, 0)


def test_coupling_from_the_past_beside_huge_numbers() -> None:
    model = pl.IsingModel([(0, 1)], [1e300], fields=[1e300, 0.0])
    assert pl.sample(model, 2, 0, "coupling-from-the-past").tolist() == [[1, 1], [1, 1]]
