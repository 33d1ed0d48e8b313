"""Arrays of every kind that NumPy and SciPy have: read for what they hold, or refused."""

from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import planaris as pl
from planaris.decode.decoder import PlanarDecoder
from planaris.decode.model import ErrorModel, Mechanism
from planaris.errors import ModelError
from planaris.learn import PlanarCRF
from planaris.matching import minimum_tjoin
from planaris.recover import observe_image

EDGES = [(0, 1), (1, 2), (2, 0)]
HIDDEN = np.ma.masked_array([1.0, 99.0, 2.0], mask=[False, True, False])
HIDDEN_IMAGE = np.ma.masked_equal(np.arange(9.0).reshape(3, 3), 4.0)
MODEL = pl.IsingModel(EDGES, [1.0, 1.0, 1.0])
CHAIN = ErrorModel((Mechanism(0.1, (0,), (0,)), Mechanism(0.1, (0,), ())), 1, 1)

TAKERS = {
    "couplings": lambda: pl.IsingModel(EDGES, HIDDEN),
    "fields": lambda: pl.IsingModel(EDGES, 1.0, HIDDEN),
    "edges": lambda: pl.IsingModel(np.ma.masked_equal(EDGES, 2), [1.0, 1.0, 1.0]),
    "tables": lambda: pl.MarkovRandomField([3], [((0,), HIDDEN)]),
    "rows": lambda: pl.plan(MODEL).log_partition(HIDDEN),
    "states": lambda: MODEL.energy(np.ma.masked_array([1, 1, 1], mask=[0, 0, 1])),
    "image": lambda: pl.IsingModel.from_image(HIDDEN_IMAGE, 1.0, 1.0),
    "matrix": lambda: pl.IsingModel.from_matrix(np.ma.masked_array(np.eye(3, k=1), mask=np.eye(3))),
    "betas": lambda: pl.thermodynamics(MODEL, HIDDEN),
    "shots": lambda: PlanarDecoder(CHAIN).decode(np.ma.masked_array([[1]], mask=[[True]])),
    "erasures": lambda: PlanarDecoder(CHAIN).decode(
        [[1]], erasures=np.ma.masked_array([[1, 0]], mask=[[True, False]])
    ),
    "denoised": lambda: observe_image(HIDDEN_IMAGE),
    "guide": lambda: observe_image(np.eye(3), guide=HIDDEN_IMAGE),
    "learned": lambda: PlanarCRF().fit([HIDDEN_IMAGE], [np.eye(3)]),
    "labels": lambda: PlanarCRF().fit([np.eye(3)], [np.ma.masked_equal(np.eye(3), 1.0)]),
    "weights": lambda: minimum_tjoin(3, EDGES, HIDDEN, [0, 1]),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_what_is_under_a_mask_is_not_used(taker):
    with pytest.raises(ModelError, match="masked entries"):
        TAKERS[taker]()


def test_masked_arrays_without_masked_entries_are_arrays():
    couplings = np.ma.masked_array([1.0, 3.0, 2.0], mask=[False, False, False])
    assert pl.IsingModel(EDGES, couplings) == pl.IsingModel(EDGES, [1.0, 3.0, 2.0])


@pytest.mark.parametrize("kind", [">f8", "<f4", "f2", "i1", "u8", "g", "O", "?"])
def test_couplings_of_any_kind_are_the_same_numbers(kind):
    expected = pl.IsingModel(EDGES, [1.0, 0.0, 1.0])
    given = np.array([[1, 7], [0, 7], [1, 7]], dtype=kind)[:, 0]  # not contiguous
    given.flags.writeable = False
    assert pl.IsingModel(EDGES, given) == expected
    assert pl.ground_state(pl.IsingModel(EDGES, given)).energy == -2.0


def test_sparse_matrices_are_read_as_real_numbers():
    with pytest.raises(ModelError, match="real numbers"):
        pl.IsingModel.from_matrix(sp.csr_array([[0, 1 + 2j], [0, 0]]))
    with pytest.raises(ModelError, match="finite"):
        pl.IsingModel.from_matrix(sp.csr_array([[0, np.inf], [np.inf, 0]]))


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "f8"])
def test_entries_of_a_sparse_matrix_that_are_given_twice_add(kind):
    twice = sp.coo_array((np.array([100, 100], dtype=kind), ([0, 0], [1, 1])), shape=(2, 2))
    assert pl.IsingModel.from_matrix(twice).couplings.tolist() == [200.0]
    assert twice.data.tolist() == [100, 100]  # what was given is left as it is


def test_a_graph_keeps_labels_of_any_kind():
    graph = nx.Graph()
    graph.add_edge(("a", 1), frozenset({2}), weight=np.float32(0.5))
    graph.add_edge("b", ("a", 1), weight=np.array(2.0))
    found = pl.IsingModel.from_networkx(graph)
    assert list(found.labels) == [("a", 1), frozenset({2}), "b"]
    assert found.couplings.tolist() == [0.5, 2.0]


def test_edges_may_be_integers_among_objects():
    """As columns of a table of mixed types are."""
    rows = np.array([[0, 1, 0.5], [1, 2, Fraction(-2)]], dtype=object)
    model = pl.IsingModel(rows[:, :2], rows[:, 2])
    assert model.edges.tolist() == [[0, 1], [1, 2]]
    assert model.couplings.tolist() == [0.5, -2.0]
    for wrong in ([["a", "b"]], [[0, 1.5]], [[0, None]], [[False, True]], [[0, 2**70]]):
        with pytest.raises(ModelError):
            pl.IsingModel(np.array(wrong, dtype=object), 1.0)
    for lazy in ({(0, 1)}, iter([(0, 1)])):
        with pytest.raises(ModelError, match="must be a list or array of pairs, got"):
            pl.IsingModel(lazy, 1.0)


def test_weights_of_a_graph_may_be_decimals():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): Decimal("0.1"), (1, 2): Fraction(1, 3)}, "weight")
    assert pl.IsingModel.from_networkx(graph).couplings.tolist() == [0.1, 1 / 3]
    graph.edges[0, 1]["weight"] = Decimal("NaN")
    with pytest.raises(ModelError, match="finite numbers"):
        pl.IsingModel.from_networkx(graph)


class Frame:
    """What a pandas.DataFrame shows of itself."""

    def __init__(self, values, index, columns):
        self.values, self.index, self.columns = np.array(values), index, columns

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)


def test_tables_keep_their_labels():
    values = [[0.0, 1.0, 0.0], [0.0, 0.0, -2.0], [0.0, 0.0, 0.0]]
    model = pl.IsingModel.from_matrix(Frame(values, ["a", "b", 7], ["a", "b", 7]))
    assert model.labels == ["a", "b", 7]
    assert pl.IsingModel.from_matrix(Frame(values, range(3), range(3))).labels == range(3)
    qubo = pl.IsingModel.from_qubo(Frame(values, ["a", "b", 7], ["a", "b", 7]))
    assert pl.ground_state(qubo).by_label()["b"] == 1
    names = ["left", "middle", "right"]
    for matrix in (values, sp.csr_array(values), Frame(values, range(3), range(3))):
        assert pl.IsingModel.from_matrix(matrix, labels=names).labels == names
        assert pl.IsingModel.from_qubo(matrix, labels=names).labels == names
    with pytest.raises(ModelError, match="must name all 3 spins, got 2"):
        pl.IsingModel.from_matrix(values, labels=["left", "right"])
    with pytest.raises(ModelError, match="has labels as keys"):
        pl.IsingModel.from_qubo({(0, 1): 1.0}, labels=["left", "right"])
    for read in (pl.IsingModel.from_matrix, pl.IsingModel.from_qubo):
        with pytest.raises(ModelError, match="rows and columns alike"):  # another model by place
            read(Frame(values, ["a", "b", 7], ["b", "a", 7]))
