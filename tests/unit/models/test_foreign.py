"""Graphs and quadratic models of other packages: what is refused is told by its own names."""

from fractions import Fraction

import dimod
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from planaris import IsingModel
from planaris.errors import ModelError


def graph_with(**attributes):
    graph = nx.Graph()
    graph.add_edge("a", ("x", 1), **attributes)
    return graph


@pytest.mark.parametrize("value", ["1", None, float("nan"), float("inf"), 1j, [1.0], 10**400])
def test_a_weight_that_is_no_number_is_named_with_its_edge(value):
    with pytest.raises(ModelError, match=r"'weight'.*\('a', \('x', 1\)\)"):
        IsingModel.from_networkx(graph_with(weight=value))


def test_a_bias_that_is_no_number_is_named_with_its_node():
    graph = graph_with(weight=1.0)
    graph.nodes["a"]["bias"] = "strong"
    with pytest.raises(ModelError, match=r"'bias'.*'strong' at 'a'"):
        IsingModel.from_networkx(graph)


def test_numbers_of_any_kind_are_weights():
    for value in (2, True, np.float32(0.5), Fraction(1, 4)):
        assert IsingModel.from_networkx(graph_with(weight=value)).couplings == [float(value)]


def test_self_loops_are_named_by_their_node():
    graph = graph_with(weight=1.0)
    graph.add_edge("a", "a")
    with pytest.raises(ModelError, match="self-loops, got one at 'a'"):
        IsingModel.from_networkx(graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))  # as the message says
    assert IsingModel.from_networkx(graph).num_edges == 1


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.DiGraph, nx.MultiDiGraph])
def test_parallel_edges_and_directions_add(kind):
    graph = kind([("a", "b", {"weight": 1.0}), ("b", "a", {"weight": 2.0})])
    assert IsingModel.from_networkx(graph).couplings.tolist() == [3.0]


@pytest.mark.parametrize("given", [[(0, 1)], None, np.eye(2)])
def test_what_is_no_graph_is_refused(given):
    with pytest.raises(ModelError, match="networkx graph"):
        IsingModel.from_networkx(given)


@pytest.mark.parametrize(
    "given", [{}, dimod.DiscreteQuadraticModel(), dimod.ConstrainedQuadraticModel(), nx.Graph()]
)
def test_other_models_of_dimod_are_refused(given):
    with pytest.raises(ModelError, match="BinaryQuadraticModel"):
        IsingModel.from_bqm(given)


def test_what_is_said_about_a_lower_triangle_keeps_its_couplings():
    lower = np.array([[0.0, 0.0], [2.0, 0.0]])
    with pytest.raises(ModelError, match=r"A \+ A\.T if its entries"):
        IsingModel.from_matrix(lower)
    assert IsingModel.from_matrix(lower + lower.T).couplings.tolist() == [2.0]


def test_self_loops_in_a_dictionary_are_named_by_their_label():
    with pytest.raises(ModelError, match="self-loop 'a'"):
        IsingModel.from_couplings({("a", "b"): 1.0, ("a", "a"): 1.0})


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_a_qubo_may_be_any_square_matrix(rng, kind):
    matrix = np.round(rng.normal(size=(5, 5)), 2)
    matrix[1, 3] = matrix[2, :] = matrix[:, 2] = 0.0  # a variable without terms
    model = IsingModel.from_qubo(kind(matrix), offset=0.5, beta=2.0)
    assert model.num_spins == 5
    for bits in np.ndindex(*[2] * 5):
        x = np.array(bits)
        assert model.energy(2 * x - 1) == pytest.approx(2.0 * (x @ matrix @ x + 0.5))


@pytest.mark.parametrize("bad", [np.ones((2, 3)), np.ones(3), np.full((2, 2), np.nan)])
def test_other_qubo_matrices_are_refused(bad):
    with pytest.raises(ModelError, match="`qubo`"):
        IsingModel.from_qubo(bad)


def test_a_networkx_graph_keeps_the_offset():
    model = IsingModel([(0, 1)], [2.0], [0.0, 1.0], offset=-3.5)
    assert IsingModel.from_networkx(model.to_networkx()) == model
    assert model.without_offset().to_networkx().graph == {}


def test_biases_of_32_bits_are_converted_in_doubles():
    biases = {"a": np.float32(0.1), "b": np.float32(0.7)}
    bqm = dimod.BQM(biases, {("a", "b"): np.float32(0.3)}, 0.0, "BINARY", dtype=np.float32)
    model = IsingModel.from_bqm(bqm)
    wanted = [0.0, float(biases["b"]), float(biases["a"])]
    assert model.energy([[-1, -1], [-1, 1], [1, -1]]) == pytest.approx(wanted, abs=1e-15)


def test_positions_are_an_attribute_or_a_dict():
    with pytest.raises(ModelError, match="`pos`"):
        IsingModel.from_networkx(nx.path_graph(2), pos=3)
