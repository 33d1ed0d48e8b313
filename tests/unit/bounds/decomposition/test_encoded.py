"""Models with labels as spins: every label keeps its weight, and the bound stays finite."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planaris as pl
from helpers.mrfs import random_tables
from planaris.bounds import pdc
from planaris.bounds.decomposition.encoded import ENCODINGS, encode_labels, encoded_subgraphs
from planaris.errors import MethodError
from planaris.kernels.graph import is_planar
from planaris.models import MarkovRandomField
from planaris.subgraphs.bias_model import as_bias_model


def random_field(rng, cards, pairs, scale=1.0):
    factors = random_tables(rng, cards, pairs, scale)
    return MarkovRandomField(cards, [*factors, ((), 0.25)], log=True)


def code(x, cards, encoding):
    spins = []
    for label, k in zip(x, cards, strict=True):
        if k > 1 and encoding == "order":
            spins += [1 if label > i else -1 for i in range(k - 1)]
        elif k > 1:
            spins += [1 if label == i else -1 for i in range(k)]
    return np.array(spins, dtype=np.int8)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("penalty", [0.0, 2.0, None])
def test_codes_of_labels_keep_their_weight_and_penalties_cost_the_rest(rng, encoding, penalty):
    cards = [3, 1, 4, 2]
    mrf = random_field(rng, cards, [(0, 2), (2, 3), (0, 1), (1, 2)])
    encoded = encode_labels(mrf, encoding=encoding, penalty=penalty)
    weights = {}
    for x in itertools.product(*map(range, cards)):
        spins = code(x, cards, encoding)
        weights[spins.tobytes()] = float(mrf.log_weight(np.array(x)))
        assert encoded.model.log_weight(spins) == pytest.approx(weights[spins.tobytes()])
    total = np.logaddexp.reduce(list(weights.values()))
    n = encoded.model.num_spins
    states = np.array(list(itertools.product([-1, 1], repeat=n)), dtype=np.int8)
    every = np.logaddexp.reduce([float(encoded.model.log_weight(s)) for s in states])
    assert every >= total
    if penalty is None:
        assert every == pytest.approx(total, abs=0.05)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bounds_hold_end_to_end(rng, encoding):
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)]
    mrf = random_field(rng, [3, 2, 3, 3], pairs)
    truth = pl.log_partition(mrf, method="treewidth").value
    found = pdc(mrf, encoding=encoding)
    assert found.lower <= truth <= found.upper
    for mu, k in zip(found.pseudomarginals.nodes, mrf.cardinalities, strict=True):
        assert mu.shape == (k,)
        assert mu.sum() == pytest.approx(1.0)
    for table, (u, v) in zip(found.pseudomarginals.edges, pairs, strict=True):
        assert table.shape == (mrf.cardinalities[u], mrf.cardinalities[v])
        assert table.sum() == pytest.approx(1.0)


def test_order_encoding_stays_finite_where_one_hot_does_not(rng):
    pairs = [(0, 1), (1, 2), (0, 2)]
    mrf = random_field(rng, [5] * 3, pairs, 0.5)
    truth = pl.log_partition(mrf, method="treewidth").value
    order = [pdc(mrf, penalty=p).upper - truth for p in (20.0, 200.0)]
    hot = [pdc(mrf, encoding="one-hot", penalty=p).upper - truth for p in (20.0, 200.0)]
    assert 0 <= max(order) < 3.0
    assert hot[1] > 10 * max(order)


def test_every_subgraph_holds_all_constraints_of_the_order_encoding(rng):
    mrf = random_field(rng, [4] * 4, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    encoded = encode_labels(mrf)
    bare = as_bias_model(encoded.model)
    family = encoded_subgraphs(encoded, rng)
    assert np.all(np.bincount(np.concatenate(family), minlength=bare.num_edges) > 0)
    for members in family:
        assert is_planar(bare.num_spins, np.ascontiguousarray(bare.edges[members]))
        assert np.isin(encoded.chained, members).all()


def test_verbs_and_refusals(rng):
    mrf = random_field(rng, [3, 3, 2], [(0, 1), (1, 2), (0, 2)])
    truth = pl.log_partition(mrf, method="treewidth").value
    assert pl.log_partition(mrf, method="pdc").upper >= truth
    assert not pl.marginals(mrf, method="pdc").exact
    with pytest.raises(MethodError, match="encoding"):
        pdc(mrf, encoding="binary")
    with pytest.raises(MethodError, match="penalty"):
        pdc(mrf, penalty=float("inf"))
    with pytest.raises(MethodError, match="subgraphs"):
        pdc(mrf, subgraphs="lattice")
    with pytest.raises(MethodError, match="Ising"):
        pl.ground_state(mrf, method="pdc")
    triple = MarkovRandomField([3] * 3, [((0, 1, 2), np.ones((3, 3, 3)))])
    with pytest.raises(MethodError):
        pl.log_partition(triple, method="pdc")


def test_zeros_single_labels_and_nothing():
    hard = np.where(np.eye(3) > 0, -np.inf, 0.0)
    mrf = MarkovRandomField([3] * 3, [((0, 1), hard), ((1, 2), hard), ((0, 2), hard)], log=True)
    assert pdc(mrf).upper >= np.log(6)
    alone = MarkovRandomField([1, 3], [((0, 1), [[1.0, 2.0, 3.0]])])
    assert np.log(6) <= pdc(alone).upper < np.log(6) + 0.01
    assert pdc(MarkovRandomField([], [])).upper == pytest.approx(0.0)
