"""log Z and correlations by blocks, against sums over all states and other methods."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import planaris as pl
from helpers.planar_graphs import complete, lattice_with_k5
from planaris.errors import VerificationError
from planaris.selftest.rationals import Truth
from planaris.verify import check_result
from planaris.verify.conversions import BareModel
from planaris.verify.recompute import blocks
from planaris.verify.recompute.blocks import edge_sum_by_blocks, log_partition_by_blocks
from planaris.verify.recompute.elimination import edge_sum_by_elimination, recompute


def eliminated(block):
    return recompute(block, task="sum")


def chain_of_pieces(rng: np.random.Generator, fields: int) -> pl.IsingModel:
    """Bridges, cycles, K4s and isolated spins in one graph, renumbered."""
    edges: list[tuple[int, int]] = []
    count = 1
    while count < 9:
        size = int(rng.integers(2, 5))
        joint = int(rng.integers(-1, count))
        new = [*range(count, count + size - (joint >= 0))]
        spins = [joint, *new] if joint >= 0 else new
        count += len(new)
        if size == 4 and rng.random() < 0.5:
            edges += [(spins[a], spins[b]) for a in range(4) for b in range(a)]
        else:
            edges += pairwise(spins)
            edges += [(spins[-1], spins[0])] * (len(spins) > 2)
    name = rng.permutation(count)
    held = np.zeros(count)
    held[:fields] = rng.normal(size=fields)
    couplings = rng.normal(size=len(edges)) * 10.0 ** rng.integers(-2, 2)
    return pl.IsingModel(name[np.array(edges)], couplings, fields=held, offset=rng.normal())


@pytest.mark.parametrize("fields", [0, 1, 3])
def test_blocks_add_up_to_the_sum_over_all_states(fields):
    rng = np.random.default_rng(fields)
    for _ in range(12):
        model = chain_of_pieces(rng, fields)
        found = log_partition_by_blocks(model, eliminated)
        assert found is not None
        assert not found.estimated
        assert abs(found.value - float(Truth(model).log_partition)) <= found.slack < 1e-10


def test_correlations_in_blocks_are_those_of_the_whole():
    rng = np.random.default_rng(7)
    for _ in range(12):
        model = chain_of_pieces(rng, 0)
        bare, weights = BareModel.of(model), rng.normal(size=model.num_edges)
        found = edge_sum_by_blocks(bare, weights, edge_sum_by_elimination)
        assert found is not None
        equal = pl.marginals(model, "brute-force").edges
        assert abs(found.value - weights @ (2 * equal - 1)) <= found.slack + 1e-12


def test_one_block_and_blocks_without_an_answer_are_left_to_others():
    assert log_partition_by_blocks(pl.IsingModel(complete(4), 1.0), eliminated) is None
    two = np.concatenate([complete(3), complete(3) + 2])
    assert log_partition_by_blocks(pl.IsingModel(two, 1.0), lambda block: None) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([[0, 1], [2], [3, 4, 5]], "without a cycle"),  # a triangle in two pieces
        ([[0, 1, 2], [3, 4]], "part the edges"),
        ([[0, 1, 2], [2, 3, 4, 5]], "part the edges"),
    ],
)
def test_pieces_that_are_no_blocks_are_refused(monkeypatch, wrong, said):
    model = pl.IsingModel([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)], 1.0)
    monkeypatch.setattr(blocks, "_blocks", lambda bare: [np.array(part) for part in wrong])
    with pytest.raises(VerificationError, match=said):
        log_partition_by_blocks(model, eliminated)


def test_marginals_of_a_lattice_with_something_that_is_not_planar_are_recomputed():
    model = lattice_with_k5(3)
    found = pl.marginals(model)
    (finding,) = check_result(model, found).findings
    assert finding.status == "recomputed"
    for edge in (0, model.num_edges - 1):
        wrong = found.edges.copy()
        wrong[edge] += 1e-5 if wrong[edge] < 0.5 else -1e-5
        with pytest.raises(VerificationError, match="random sum"):
            check_result(model, replace(found, edges=wrong))


def test_log_partition_of_a_lattice_with_something_that_is_not_planar_is_recomputed():
    model = lattice_with_k5(2)
    found = pl.log_partition(model)
    (finding,) = check_result(model, found).findings
    assert finding.status == "recomputed"
    assert finding.detail.startswith("a determinant, elimination")
    ends = {name: getattr(found, name) + 1e-6 for name in ("value", "lower", "upper")}
    with pytest.raises(VerificationError, match="log Z is claimed"):
        check_result(model, replace(found, **ends))


@pytest.mark.parametrize("huge", [1e7, 1e9])
def test_sums_that_large_couplings_blur_prove_nothing(huge):
    k5 = [(u, v) for u in range(5) for v in range(u)]
    pairs = [(u + 5 * k, v + 5 * k) for k in range(20) for u, v in [*k5, (4, 5)]][:-1]
    couplings = np.random.default_rng(3).normal(size=len(pairs))
    couplings[::11] = huge  # in every K5 two spins are as one
    model = pl.IsingModel(pairs, couplings)
    found = pl.marginals(model)
    assert found.exact
    edges = np.array(found.edges)
    edges[5] += 1e-11 * huge
    for claim in (found, replace(found, edges=edges)):
        statuses = {finding.status for finding in check_result(model, claim).findings}
        assert statuses == {"unproved"}
