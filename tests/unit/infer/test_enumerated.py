"""``method="brute-force"`` on Markov random fields with any labels, against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planaris as pl
from planaris.errors import InfeasibleError


@pytest.fixture(params=range(6))
def field(request) -> pl.MarkovRandomField:
    rng = np.random.default_rng(request.param)
    cards = rng.integers(1, 4, size=4)
    scopes = [(0, 1), (2, 1, 3), (3,), (2, 0), ()]
    tables = [
        np.where(rng.random(cards[list(s)]) < 0.15, 0.0, rng.random(cards[list(s)])) for s in scopes
    ]
    tables[-1] = np.asarray(0.5)
    return pl.MarkovRandomField(cards, list(zip(scopes, tables, strict=True)))


def weights_of(field: pl.MarkovRandomField) -> dict[tuple[int, ...], float]:
    factors = [
        (field.scope(k).tolist(), np.exp(field.log_table(k))) for k in range(field.num_factors)
    ]
    return {
        x: float(np.prod([table[tuple(x[v] for v in scope)] for scope, table in factors]))
        for x in itertools.product(*(range(k) for k in field.cardinalities.tolist()))
    }


def test_all_verbs_list_all_states(field: pl.MarkovRandomField) -> None:
    weights = weights_of(field)
    total = sum(weights.values())
    if total == 0:
        assert pl.log_partition(field, "brute-force").value == -np.inf
        for verb in (pl.ground_state, pl.marginals):
            with pytest.raises(InfeasibleError):
                verb(field, "brute-force")
        return
    found = pl.ground_state(field, "brute-force")
    assert weights[tuple(found.assignment.tolist())] == pytest.approx(max(weights.values()))
    assert found.energy == pytest.approx(-np.log(max(weights.values())))
    assert pl.log_partition(field, "brute-force").value == pytest.approx(np.log(total))
    nodes = pl.marginals(field, "brute-force").nodes
    for v, table in enumerate(nodes):
        for a, p in enumerate(table):
            share = sum(w for x, w in weights.items() if x[v] == a) / total
            assert p == pytest.approx(share, abs=1e-12)
    drawn = pl.sample(field, 4000, 1, "brute-force")
    assert drawn.dtype == np.int32
    for x, w in weights.items():
        share = float((drawn == np.array(x)).all(1).mean())
        assert abs(share - w / total) < 5 * np.sqrt(w / total / 4000) + 1e-9


def test_spins_of_two_labels_are_told() -> None:
    same = pl.MarkovRandomField([2, 2], [((0, 1), [[0.0, 1.0], [2.0, 0.0]])])
    found = pl.ground_state(same, "brute-force")
    assert found.assignment.tolist() == [1, 0]
    assert found.spins.tolist() == [1, -1]
