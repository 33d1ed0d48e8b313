from __future__ import annotations

import copy
import itertools
import pickle

import dimod
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from planaris import IsingModel
from planaris.errors import ModelError, PlanarisError
from planaris.reference.brute_force import all_states

TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def energy_by_hand(edges, couplings, fields, offset, state):  # type: ignore[no-untyped-def]
    total = offset + sum(h * s for h, s in zip(fields, state, strict=True))
    for (u, v), j in zip(edges, couplings, strict=True):
        total += j * state[u] * state[v]
    return -total


# -- the sign, once and for all ---------------------------------------------------------------


@given(st.integers(0, 5), st.integers(0, 2**32))
def test_energy_is_what_the_first_line_says(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = list(itertools.permutations(range(n), 2))  # parallel edges, both directions
    edges = [pairs[k] for k in rng.integers(0, len(pairs), 6)] if pairs else []
    couplings, fields, offset = rng.normal(size=len(edges)), rng.normal(size=n), rng.normal()
    model = IsingModel(edges, couplings, fields, num_spins=n, offset=offset)
    assert len({frozenset(e) for e in model.edges.tolist()}) == model.num_edges
    states = all_states(n)
    wanted = [energy_by_hand(edges, couplings, fields, offset, s) for s in states.tolist()]
    np.testing.assert_allclose(model.energy(states), wanted, atol=1e-12)
    np.testing.assert_allclose(model.log_weight(states), -np.array(wanted), atol=1e-12)
    if n:
        assert model.energy(states[0]) == pytest.approx(wanted[0], abs=1e-12)
    batch = model.energy(np.broadcast_to(states, (2, 3, *states.shape)))
    assert batch.shape == (2, 3, len(states))


def test_zero_one_and_isolated_spins() -> None:
    assert IsingModel([], []).num_spins == 0
    assert IsingModel([], [], offset=2.0).energy(np.zeros((3, 0))).tolist() == [-2.0] * 3
    assert IsingModel([], [], [3.0]).energy([[1], [-1]]).tolist() == [-3.0, 3.0]
    lonely = IsingModel(np.zeros((0, 2)), [], num_spins=4)
    assert lonely.energy(np.ones(4)) == 0
    assert IsingModel([(0, 1)], [1.0], num_spins=5).num_spins == 5


def test_numbers_stand_for_all_edges_and_spins() -> None:
    model = IsingModel(TRIANGLE, 2.0, 1.0, num_spins=3)
    assert model.couplings.tolist() == [2.0] * 3
    assert model.fields.tolist() == [1.0] * 3
    assert IsingModel(TRIANGLE, 2.0, 1.0).num_spins == 3


def test_parallel_edges_add_at_the_place_of_the_first() -> None:
    model = IsingModel([(2, 1), (0, 1), (1, 2), (1, 0)], [1.0, 2.0, 3.0, -2.0])
    assert model.edges.tolist() == [[2, 1], [0, 1]]
    assert model.couplings.tolist() == [4.0, 0.0]


# -- named constructors -----------------------------------------------------------------------


def test_from_couplings() -> None:
    model = IsingModel.from_couplings({("a", "b"): 1.0, ("b", "a"): 2.0}, {"c": 4.0})
    assert model.labels == ["a", "b", "c"]
    assert model.energy([1, 1, 1]) == -7.0
    assert isinstance(IsingModel.from_couplings({(0, 1): 1.0}).labels, range)
    assert IsingModel.from_couplings({}).num_spins == 0


@pytest.mark.parametrize("bad", [{"ab": 1.0}, {("a", "b", "c"): 1.0}, {("a", "b"): "x"}, {5: 1.0}])
def test_bad_dictionaries(bad: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(ModelError):
        IsingModel.from_couplings(bad)
    with pytest.raises(ModelError):
        IsingModel.from_qubo(bad)
    with pytest.raises(ModelError):
        IsingModel.from_couplings({("a", "b"): 1.0}, {"a": "x"})  # type: ignore[dict-item]
    with pytest.raises(ModelError):
        IsingModel.from_couplings({("a", "a"): 1.0})
    with pytest.raises(ModelError):
        IsingModel.from_qubo({("a", "b"): np.nan})


def test_from_disagreement_costs(rng: np.random.Generator) -> None:
    costs = rng.normal(size=3)
    model = IsingModel.from_disagreement_costs(TRIANGLE, costs)
    for s in all_states(3):
        wanted = sum(c for (u, v), c in zip(TRIANGLE, costs, strict=True) if s[u] != s[v])
        assert model.energy(s) == pytest.approx(wanted, abs=1e-12)
    assert IsingModel.from_disagreement_costs(TRIANGLE, 2.0).energy([1, 1, -1]) == 4.0
    assert IsingModel.from_disagreement_costs([], []).num_spins == 0


def test_from_binary_energy(rng: np.random.Generator) -> None:
    edges = [*TRIANGLE, (2, 0)]
    nodes, pairs = rng.normal(size=(3, 2)), rng.normal(size=(4, 2, 2))
    model = IsingModel.from_binary_energy(nodes, edges, pairs)
    for s in all_states(3):
        y = (s + 1) // 2
        wanted = sum(nodes[v, y[v]] for v in range(3))
        wanted += sum(pairs[k, y[u], y[v]] for k, (u, v) in enumerate(edges))
        assert model.energy(s) == pytest.approx(wanted, abs=1e-12)
    assert IsingModel.from_binary_energy([], [], []).num_spins == 0
    for bad in ([1.0, 2.0], [[1.0, 2.0, 3.0]], np.zeros((2, 2, 2))):
        with pytest.raises(ModelError, match="node_costs"):
            IsingModel.from_binary_energy(bad, [], [])
    with pytest.raises(ModelError, match="pair_costs"):
        IsingModel.from_binary_energy(nodes, edges, pairs[:2])
    with pytest.raises(ModelError, match="node_costs"):
        IsingModel.from_binary_energy([[0.0, np.nan]], [], [])


def test_networkx_there_and_back() -> None:
    graph = nx.MultiGraph()
    graph.add_node("z", bias=0.5, pos=(0, 0))
    graph.add_node("a", pos=(1, 0))
    graph.add_edge("z", "a", weight=2.0)
    graph.add_edge("a", "z")  # the default weight is one
    model = IsingModel.from_networkx(graph)
    assert model.labels == ["z", "a"]
    assert model.couplings.tolist() == [3.0]
    assert model.fields.tolist() == [0.5, 0.0]
    assert model.positions is not None
    again = IsingModel.from_networkx(model.to_networkx())
    assert again.edges.tolist() == model.edges.tolist()
    assert again.couplings.tolist() == [3.0]
    assert again.labels == ["z", "a"]
    assert again.positions is not None
    assert IsingModel.from_networkx(graph, pos={"z": (0, 0)}).positions is None
    assert IsingModel.from_networkx(nx.Graph()).num_spins == 0


def test_networkx_positions_take_linear_time() -> None:
    graph = nx.path_graph(20_000)
    nx.set_node_attributes(graph, {v: (v, 0) for v in graph}, "pos")
    assert IsingModel.from_networkx(graph).num_edges == 19_999


def test_matrices_there_and_back(rng: np.random.Generator) -> None:
    upper = np.triu(rng.normal(size=(5, 5)), 1)
    for matrix in (
        upper,
        upper + upper.T,
        sp.coo_array(upper),
        sp.csr_matrix(upper + upper.T),
        (upper + upper.T).tolist(),
    ):
        model = IsingModel.from_matrix(matrix, np.ones(5))
        s = np.array([1, -1, 1, 1, -1])
        assert model.energy(s) == pytest.approx(-(s @ upper @ s) - s.sum(), abs=1e-12)
        assert np.array_equal(model.to_matrix().toarray(), upper + upper.T)
    assert IsingModel.from_matrix(np.zeros((0, 0))).num_spins == 0
    assert IsingModel.from_matrix(sp.csr_array((4, 4))).num_spins == 4


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((2, 3)),
        np.eye(2),
        [[0, 1], [2, 0]],
        [[0, 1], [np.nan, 0]],
        [[0, 0], [np.nan, 0]],
        [[0, np.inf], [np.inf, 0]],
        [[0, 1j], [1j, 0]],
        [["a", "b"], ["c", "d"]],
        [[0, 1], [2]],
    ],
)
def test_bad_matrices(matrix: object) -> None:
    with pytest.raises(ModelError):
        IsingModel.from_matrix(matrix)


def test_from_qubo() -> None:
    qubo = {("a", "a"): 1.5, ("a", "b"): -2.0, ("b", "a"): 0.5, ("c", "c"): -1.0}
    model = IsingModel.from_qubo(qubo, offset=3.0, beta=0.5)
    for s in all_states(3):
        x = dict(zip(model.labels, (s + 1) // 2, strict=True))
        wanted = 3.0 + sum(q * x[u] * x[v] for (u, v), q in qubo.items())
        assert model.energy(s) == pytest.approx(0.5 * wanted, abs=1e-12)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_dimod_there_and_back(vartype: str) -> None:
    bqm = dimod.BinaryQuadraticModel(
        {"a": 1.0, "b": -2.0, "c": 0.0}, {("a", "b"): 0.5, ("b", "c"): -1.5}, 4.0, vartype
    )
    model = IsingModel.from_bqm(bqm, beta=2.0)
    spins = all_states(3)
    values = spins if vartype == "SPIN" else (spins + 1) // 2
    wanted = bqm.energies((values, list(model.labels)))
    np.testing.assert_allclose(model.energy(spins), 2.0 * wanted, atol=1e-12)
    back = model.to_bqm()
    assert list(back.variables) == list(model.labels)
    np.testing.assert_allclose(
        back.energies((spins, list(model.labels))), model.energy(spins), atol=1e-12
    )
    assert IsingModel.from_bqm(dimod.BinaryQuadraticModel("SPIN")).num_spins == 0


def test_from_image() -> None:
    fields = np.arange(6.0).reshape(2, 3)
    right, down = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0, 7.0]])
    model = IsingModel.from_image(fields, right, down)
    found = dict(zip(map(tuple, model.edges.tolist()), model.couplings.tolist(), strict=True))
    assert found == {(0, 1): 1, (1, 2): 2, (3, 4): 3, (4, 5): 4, (0, 3): 5, (1, 4): 6, (2, 5): 7}
    assert model.fields.tolist() == fields.ravel().tolist()
    assert model.positions is not None
    assert model.positions[4].tolist() == [1.0, -1.0]
    for shape in ((0, 0), (0, 3), (1, 1), (1, 4), (3, 1)):
        assert IsingModel.from_image(np.zeros(shape), 1.0, 1.0).num_spins == np.prod(shape)
    for bad in (np.zeros((2, 3)), np.zeros((3, 2)), [1.0, 2.0]):
        with pytest.raises(ModelError, match="right"):
            IsingModel.from_image(fields, bad, 1.0)
    with pytest.raises(ModelError, match="fields"):
        IsingModel.from_image(np.zeros(4), 1.0, 1.0)


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "couplings", "options", "words"),
    [
        ([(0, 1)], [np.nan], {}, r"`couplings` must be finite, got nan at edge 0 = \(0, 1\)"),
        ([(0, 1)], [np.inf], {}, "must be finite, got inf"),
        ([(0, 1)], ["x"], {}, "`couplings` must hold real numbers"),
        ([(0, 1)], [1j], {}, "`couplings` must hold real numbers"),
        ([(0, 1)], [[1.0]], {}, r"`couplings` must have shape \(1,\), got \(1, 1\)"),
        ([(0, 1)], [1.0, 2.0], {}, r"must have shape \(1,\), got \(2,\)"),
        ([(0, 1)], [1.0], {"fields": [0.0, np.nan]}, "`fields` must be finite, got nan at entry 1"),
        ([(0, 1)], [1.0], {"fields": [0.0]}, "got .0, 1. at row 0; pass num_spins="),
        ([(0, 1)], [1.0], {"fields": ["a", "b"]}, "`fields` must hold real numbers"),
        (
            [(0, 1)],
            [1.0],
            {"fields": [1.0] * 3, "num_spins": 2},
            r"`fields` must have shape \(2,\)",
        ),
        ([(0, 2)], [1.0], {"num_spins": 2}, "must name spins 0 to 1"),
        ([(0, -1)], [1.0], {}, r"got \(0, -1\) at row 0"),
        ([(0, 1), (1, 1)], [1.0, 1.0], {}, r"self-loop \(1, 1\) at row 1"),
        ([(0, 1, 2)], [1.0], {}, r"`edges` must have shape \(m, 2\), got \(1, 3\)"),
        ([0, 1], [1.0], {}, r"shape \(m, 2\), got \(2,\)"),
        ([(0, 1), (1,)], [1.0], {}, "`edges` must be an array"),
        ([(0.5, 1)], [1.0], {"num_spins": 2}, "`edges` must hold integers"),
        ([(0, np.nan)], [1.0], {"num_spins": 2}, "`edges` must hold integers"),
        ([("a", "b")], [1.0], {}, "`edges` must hold integers"),
        (np.zeros((0, 3)), [], {}, "`edges` must have shape"),
        ([(0, 2**40)], [1.0], {}, "`num_spins` must lie between"),
        ([], [], {"num_spins": -1}, "`num_spins` must lie between"),
        ([], [], {"num_spins": 2.5}, "`num_spins` must be an integer, got 2.5"),
        ([], [], {"offset": np.nan}, "`offset` must be finite"),
        ([], [], {"offset": "x"}, "`offset` must hold real numbers"),
        ([(0, 1)], [1.0], {"labels": ["a"]}, "must name spins 0 to 0"),
        ([(0, 1)], [1.0], {"labels": ["a"], "num_spins": 2}, "`labels` must name all 2 spins"),
        ([(0, 1)], [1.0], {"labels": ["a", "a"]}, "`labels` must be different, got 'a' twice"),
        ([(0, 1)], [1.0], {"labels": [[], []], "num_spins": 2}, "`labels` must be hashable"),
        ([(0, 1)], [1.0], {"positions": [(0, 0), (0, np.inf)]}, "`positions` must be finite"),
        ([(0, 1)], [1.0], {"positions": [(0, 0, 0)] * 2}, r"`positions` must have shape \(2, 2\)"),
        ([(0, 1)], [1.0], {"positions": [("a", "b")] * 2}, "`positions` must hold real numbers"),
    ],
)
def test_bad_input(edges: object, couplings: object, options: dict, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ModelError, match=words):
        IsingModel(edges, couplings, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edges", "couplings", "options"),
    [
        ([(0, 1), (1, 0)], [1e308, 1e308], {}),
        ([(0, 1), (1, 0)], [1.5e308, -1.0], {}),
        ([(0, 1), (1, 2)], [1e308, 1e308], {}),
        ([(0, 1)], [1e308], {"fields": [1e308, 0.0]}),
        ([], [], {"offset": 1e308}),
    ],
)
def test_energies_cannot_overflow(edges: object, couplings: object, options: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(ModelError, match="overflow"):
        IsingModel(edges, couplings, **options)  # type: ignore[arg-type]


def test_extreme_couplings_are_kept() -> None:
    model = IsingModel(TRIANGLE, [1e300, 1e-300, 5e-324])
    assert model.couplings.tolist() == [1e300, 1e-300, 5e-324]


@pytest.mark.parametrize(
    "states", [[1, 1], [1, 1, 0], [1, 1, 2], [1, 1, np.nan], [1, 1, 1j], ["a", "b", "c"], 1, []]
)
def test_bad_states(states: object) -> None:
    with pytest.raises(ModelError, match="states"):
        IsingModel(TRIANGLE, 1.0).energy(states)  # type: ignore[arg-type]


@given(st.data())
def test_whatever_is_given_is_a_model_or_a_planaris_error(data: st.DataObject) -> None:
    odd = st.sampled_from([0, 1, 2, -1, 1.0, 0.5, np.nan, np.inf, 1e308, None, "x", 2**70, True])
    edges = data.draw(st.lists(st.lists(odd, min_size=0, max_size=3), max_size=3))
    couplings = data.draw(st.lists(odd, max_size=3))
    fields = data.draw(st.none() | st.lists(odd, max_size=3))
    try:
        model = IsingModel(edges, couplings, fields)  # type: ignore[arg-type]
    except PlanarisError:
        return
    states = np.ones((2, model.num_spins), dtype=np.int8)
    assert np.all(np.isfinite(model.energy(states)))


# -- an object to rely on ---------------------------------------------------------------------


def test_arrays_are_owned_and_frozen() -> None:
    couplings, fields = np.array([1.0]), np.array([1.0, 2.0])
    model = IsingModel([(0, 1)], couplings, fields)
    couplings[0] = fields[0] = 9.0
    assert model.couplings[0] == model.fields[0] == 1.0
    for copied in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        with pytest.raises(ValueError, match="read-only"):
            copied.couplings[0] = 2.0
        with pytest.raises(ValueError, match="read-only"):
            copied.edges[0] = 0


def test_pickling_keeps_everything() -> None:
    model = IsingModel(
        [(0, 1)], [1.5], [0.0, 2.0], positions=[(0, 0), (1, 0)], offset=3.0, labels=["a", ("b", 1)]
    )
    again = pickle.loads(pickle.dumps(model))
    assert again.labels == ["a", ("b", 1)]
    assert again.offset == 3.0
    assert np.array_equal(again.positions, model.positions)
    assert again.energy([1, -1]) == model.energy([1, -1])


def test_labels_of_any_kind() -> None:
    assert IsingModel([(0, 1)], [1.0], labels=["a", ("b", 1)]).num_spins == 2
    assert list(IsingModel([(0, 1)], [1.0], labels=np.array(["x", "y"])).labels) == ["x", "y"]  # type: ignore[arg-type]
    assert isinstance(IsingModel([(0, 1)], [1.0], labels=np.arange(2)).labels, range)  # type: ignore[arg-type]
    assert list(IsingModel([(0, 1)], [1.0], labels=range(1, 3)).labels) == [1, 2]


def test_with_couplings() -> None:
    model = IsingModel(TRIANGLE, [1.0, 2.0, 3.0], [1.0, 0.0, 0.0], labels="abc", offset=1.0)
    other = model.with_couplings([4.0, 5.0, 6.0])
    assert other.couplings.tolist() == [4.0, 5.0, 6.0]
    assert other.fields.tolist() == [1.0, 0.0, 0.0]
    assert list(other.labels) == ["a", "b", "c"]
    assert model.with_couplings(0.0, [0.0, 0.0, 2.0]).fields.tolist() == [0.0, 0.0, 2.0]


def test_repr() -> None:
    assert repr(IsingModel(TRIANGLE, 1.0, [0, 1, 0])) == "IsingModel(3 spins, 3 edges, 1 field)"


@pytest.mark.parametrize("build", [IsingModel, IsingModel.from_disagreement_costs])
def test_arrays_of_the_caller_stay_the_callers(build) -> None:  # type: ignore[no-untyped-def]
    edges = np.array(TRIANGLE, dtype=np.int32)
    values, fields = np.array([1.0, 2.0, -3.0]), np.zeros(3)
    positions = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    model = build(edges, values, fields=fields, positions=positions)
    before = model.energy([1, -1, 1]), model.edges.tolist(), model.positions.tolist()
    for array in (edges, values, fields, positions):
        array[...] = array[::-1].copy()  # still writable, and no longer the model's
    assert before == (model.energy([1, -1, 1]), model.edges.tolist(), model.positions.tolist())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: IsingModel.from_qubo({(0, 1): 1.0}, beta="hot"), "`beta` must"),
        (lambda: IsingModel.from_qubo({(0, 1): 1.0}, beta=np.nan), "`beta` must"),
        (lambda: IsingModel.from_qubo({(0, 1): 1.0}, offset="x"), "`offset` must"),
        (lambda: IsingModel.from_qubo([[1.0, 2.0]]), "`qubo` must be a dict"),
        (lambda: IsingModel.from_bqm(dimod.BQM({0: 1.0}, {}, "SPIN"), beta=np.inf), "`beta` must"),
        (lambda: IsingModel.from_couplings([(0, 1)]), "`couplings` must be a dict"),
        (lambda: IsingModel.from_couplings({(0, 1): 1.0}, [1.0]), "`fields` must be a dict"),
        (lambda: IsingModel.from_disagreement_costs(TRIANGLE, [1, np.nan, 1]), "`costs` must"),
        (lambda: IsingModel.from_disagreement_costs(TRIANGLE, [1, 1]), "`costs` must"),
        (lambda: IsingModel(TRIANGLE, 1.0, [1, 2]), "`fields`"),
        (lambda: IsingModel(TRIANGLE, 1.0, positions=[[0, 0]]), "`positions`"),
    ],
)
def test_refusals_name_the_argument_that_is_wrong(wrong, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelError, match=message):
        wrong()


def test_parallel_couplings_are_added_up_exactly() -> None:
    edges = [(2, 3), (0, 1), (0, 1), (1, 0), (3, 2), (2, 3)]
    model = IsingModel(edges, [1e17, 1e17, 1.0, -1e17, 0.5, -1e17])
    assert model.edges.tolist() == [[2, 3], [0, 1]]
    assert model.couplings.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("name", ["positions", "labels"])
def test_what_has_no_length_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"`{name}` must be a sequence, got int"):
        IsingModel([(0, 1)], [1.0], **{name: 3})  # type: ignore[arg-type]
