"""Strips: orders as narrow as they are, and sums over tables with several factors each."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.mrfs import list_all
from planaris import treewidth
from planaris.models import MarkovRandomField
from planaris.treewidth import plan_elimination


def edges_of(place: np.ndarray) -> list[list[int]]:
    down = np.column_stack([place[:-1].ravel(), place[1:].ravel()])
    right = np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()])
    return np.concatenate([down, right]).tolist()


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(8, 64), (6, 200), (3, 2000)])
def test_a_strip_is_planned_along_it_without_a_search(rows, columns, shuffled) -> None:
    rng = np.random.default_rng(rows)
    names = np.arange(rows * columns)
    place = (rng.permutation(names) if shuffled else names).reshape(rows, columns)
    factors = [(pair, np.ones((4, 4))) for pair in edges_of(place)]
    plan = plan_elimination(MarkovRandomField([4] * len(names), factors), search_seconds=0.0)
    assert plan.width <= rows + 2


def random_strip(rows: int, columns: int, labels: int, seed: int) -> MarkovRandomField:
    """Every edge has a factor, every variable two; scopes run either way."""
    rng = np.random.default_rng(seed)
    n = rows * columns
    scopes = edges_of(np.arange(n).reshape(rows, columns)) + [[v] for v in [*range(n), *range(n)]]
    turned = [scope[:: int(rng.choice([-1, 1]))] for scope in scopes]
    tables = [np.exp(rng.normal(size=(labels,) * len(scope))) for scope in turned]
    tables[0][0, 0] = 0.0
    return MarkovRandomField([labels] * n, list(zip(turned, tables, strict=True)))


@pytest.mark.parametrize(("rows", "columns", "labels"), [(2, 6, 2), (3, 3, 3), (2, 3, 4)])
def test_tables_with_several_factors_agree_with_all_states(rows, columns, labels) -> None:
    mrf = random_strip(rows, columns, labels, seed=labels)
    everything = list_all(mrf)
    assert treewidth.log_partition(mrf).value == pytest.approx(everything.log_partition, abs=1e-12)
    found = treewidth.marginals(mrf, plan=plan_elimination(mrf, kind="clusters"))
    for k in range(mrf.num_factors):
        table = everything.table(mrf, mrf.scope(k))
        np.testing.assert_allclose(found.edges[k], table, atol=1e-13)
    best = treewidth.ground_state(mrf).assignment
    assert everything.log_weight(mrf, best) == everything.best


def test_narrow_strips_of_labels_are_eliminated_unless_a_proof_is_wanted() -> None:
    mrf = random_strip(2, 6, 3, seed=0)
    plain, proved = pl.ground_state(mrf), pl.ground_state(mrf, prove=True)
    assert plain.method == "treewidth"
    assert proved.certificate is not None
    assert plain.exact
    assert plain.energy == proved.energy
