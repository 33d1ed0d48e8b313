"""Couplings so strong that they are clipped: what the answers then state of themselves."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import planaris as pl


def exact_marginals(model: pl.IsingModel) -> tuple[list[float], list[float]]:
    """Sum over all states with 60 digits; the sums of doubles in the exponents are exact."""
    with localcontext(prec=400, Emin=-(10**17), Emax=10**17) as context:
        states = list(itertools.product((-1, 1), repeat=model.num_spins))
        pairs = [
            (u, v, Decimal(j))
            for (u, v), j in zip(model.edges.tolist(), model.couplings.tolist(), strict=True)
        ]
        fields = [Decimal(h) for h in model.fields.tolist()]
        logs = [
            sum(j * s[u] * s[v] for u, v, j in pairs)
            + sum(h * x for h, x in zip(fields, s, strict=True))
            for s in states
        ]
        most = max(logs)
        context.prec = 60
        weights = [(log - most).exp() if log - most > -(10**6) else Decimal(0) for log in logs]
        total = sum(weights)

        def chance(rows: list[bool]) -> float:
            return float(sum(w for w, row in zip(weights, rows, strict=True) if row) / total)

        nodes = [chance([s[v] > 0 for s in states]) for v in range(model.num_spins)]
        edges = [chance([s[u] == s[v] for s in states]) for u, v, _ in pairs]
    return nodes, edges


def test_errors_count_what_clipping_changes():
    """A fork of strong couplings and fields: clipped ones leave e^-29 where the model leaves 0."""
    edges = [(0, 1), (1, 2), (0, 2), (1, 3)]
    couplings = [-14.5, 2e12, -2e12, -1.8e6]
    model = pl.IsingModel(edges, couplings, fields=[1e6, 1.8e6, 2e6 - 15.0, -1e6])
    check(model)


def check(model: pl.IsingModel) -> None:
    nodes, edges = exact_marginals(model)
    for method in ("auto", "treewidth", "brute-force"):
        found = pl.marginals(model, method)
        assert "log_partition" not in found.stats or found.log_partition is not None
        off = max(np.abs(found.nodes - nodes).max(), np.abs(found.edges - edges).max())
        if found.proved:
            assert off <= found.error
        assert not found.exact or off <= 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_errors_of_models_with_numbers_of_all_sizes(seed: int):
    rng = np.random.default_rng(seed)
    edges = [(u, v) for u in range(5) for v in range(u) if rng.random() < 0.7]
    scale = 1e6 * rng.choice([1e-6, 1.0, 1.0, 1e8], (len(edges)))
    couplings = scale * rng.choice([-1, 1], len(edges)) + rng.normal(size=len(edges)) * 10
    fields = rng.choice([0.0, 1e6], 5) + rng.normal(size=5) * 10
    check(pl.IsingModel(edges, couplings, fields=fields, num_spins=5))


def test_ends_of_a_clipped_model_are_moved_out_by_the_probability_of_violations() -> None:
    """The error was enlarged by it, the ends beside it were not."""
    from planaris.reductions.clip_couplings import of_strong_model
    from planaris.result import Marginals, MarginalWindows

    model = pl.IsingModel([(0, 1), (1, 2)], [1e13, 1.0], [0.5, 0.0, 0.0])
    nodes, edges = np.array([0.7, 0.7, 0.6]), np.array([1.0 - 4e-13, 0.8])
    clipped = Marginals(
        nodes=nodes,
        edges=edges,
        error=1e-14,
        method="interval",
        nodes_lower=nodes - 1e-14,
        nodes_upper=nodes + 1e-14,
        edges_lower=edges - 1e-14,
        edges_upper=np.minimum(edges + 1e-14, 1.0),
        certificate=object.__new__(MarginalWindows),
    )
    found = of_strong_model(model, clipped)
    assert found.certificate is None
    for end, given in (
        (found.nodes_lower, nodes),
        (-found.nodes_upper, -nodes),
        (found.edges_lower, edges),
        (-found.edges_upper[1:], -edges[1:]),
    ):
        assert np.all(end <= given - 4e-13)
    assert found.edges_upper[0] == 1.0


def test_ends_of_a_clipped_model_are_rounded_outwards() -> None:
    """What they are moved by may be lost beside them."""
    from planaris.reductions.clip_couplings import of_strong_model
    from planaris.result import Marginals

    model = pl.IsingModel([(0, 1), (1, 2)], [1e13, 1.0], [0.5, 0.0, 0.0])
    nodes, edges = np.array([0.7, 0.7, 0.6]), np.array([1.0, 0.8])
    clipped = Marginals(
        nodes=nodes,
        edges=edges,
        error=1e-18,
        method="interval",
        nodes_lower=nodes,
        nodes_upper=nodes,
        edges_lower=edges,
        edges_upper=edges,
    )
    found = of_strong_model(model, clipped)
    for lower, given, upper in (
        (found.nodes_lower, nodes, found.nodes_upper),
        (found.edges_lower[1:], edges[1:], found.edges_upper[1:]),
    ):
        for low, p, high in zip(lower.tolist(), given.tolist(), upper.tolist(), strict=True):
            moved = Fraction(clipped.error)
            assert Fraction(low) <= Fraction(p) - moved
            assert Fraction(high) >= Fraction(p) + moved
