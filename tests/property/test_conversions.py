"""Every conversion against enumeration: log weights, log Z, all marginals, MAP value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.claims import claimed_marginals
from helpers.mrfs import mrfs
from planaris import IsingModel, MarkovRandomField
from planaris.errors import MethodError
from planaris.models import (
    bias2fields,
    fields2bias,
    ising2mrf,
    kary2binary,
    mrf2ising,
    mrf2pairwise,
)
from planaris.reference import enumerate_assignments, enumerate_states
from planaris.reference.brute_force import all_states
from planaris.result import LogPartition, Marginals

TIGHT = {"rtol": 1e-10, "atol": 1e-10}  # sums of at most a few thousand terms of size one


def states_of(model: Any) -> np.ndarray:
    if isinstance(model, IsingModel):
        return all_states(model.num_spins)
    shape = tuple(model.cardinalities.tolist())
    listed = list(np.ndindex(shape))
    return np.array(listed, dtype=int).reshape(len(listed), len(shape))


def marginals_of(model: Any) -> Marginals:
    if isinstance(model, IsingModel):
        found = enumerate_states(model)
        return known_marginals(found.nodes, found.edges, found.log_partition)
    table = enumerate_assignments(model)
    return known_marginals(table.nodes, table.factors, table.log_partition)


def known_marginals(nodes: Any, edges: Any, log_z: float) -> Marginals:
    """Marginals with ends, which are the values themselves, and log Z."""
    return replace(
        claimed_marginals(nodes, edges, True, "brute-force"),
        log_partition=LogPartition.around(log_z, 1e-9, num_variables=1, method="brute-force"),
        nodes_lower=nodes,
        nodes_upper=nodes,
        edges_lower=edges,
        edges_upper=edges,
    )


def log_partition_of(model: Any) -> float:
    if isinstance(model, IsingModel):
        return enumerate_states(model).log_partition
    return enumerate_assignments(model).log_partition


def assert_same_marginals(found: Marginals, wanted: Marginals) -> None:
    """Ends may be left out, but those of another model must not be kept."""
    np.testing.assert_allclose(found.log_z, wanted.log_z, **TIGHT)
    nodes = (found.nodes, found.nodes_lower, found.nodes_upper)
    edges = (found.edges, found.edges_lower, found.edges_upper)
    for tables, expected in ((nodes, wanted.nodes), (edges, wanted.edges)):
        for a in tables:
            if a is not None:
                assert_same_tables(a, expected)


def assert_same_tables(found: Any, wanted: Any) -> None:
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, **TIGHT)


def assert_same(old: Any, new: Any, inverse: Any, copies: int = 1) -> None:
    """Everything about ``old`` follows from ``new``."""
    states = states_of(new)
    weights = new.log_weight(states)
    live = weights > -np.inf
    lifted = inverse.lift_states(states[live])
    np.testing.assert_allclose(weights[live], old.log_weight(lifted), **TIGHT)
    # Every state of nonzero weight is reached, the same number of times each.
    old_states = states_of(old)
    wanted = old_states[old.log_weight(old_states) > -np.inf]
    seen, times = np.unique(lifted, axis=0, return_counts=True)
    assert len(seen) == len(np.unique(wanted, axis=0))
    assert np.all(times == copies)
    shifted = log_partition_of(new) + inverse.log_partition_shift
    np.testing.assert_allclose(shifted, log_partition_of(old), **TIGHT)
    if live.any():
        assert_same_marginals(inverse.lift_marginals(marginals_of(new)), marginals_of(old))


@st.composite
def isings(draw: st.DrawFn, *, fields: bool = True) -> IsingModel:
    n = draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    possible = [(u, v) for u in range(n) for v in range(u)]
    m = draw(st.integers(0, 8)) if possible else 0
    edges = [possible[k] for k in rng.integers(0, len(possible), m)] if m else []
    h = np.where(rng.random(n) < 0.5, rng.normal(size=n), 0.0) if fields else None
    labels = [f"s{k}" for k in range(n)] if draw(st.booleans()) else None
    return IsingModel(edges, rng.normal(size=m), h, num_spins=n, offset=rng.normal(), labels=labels)


@given(mrfs(max_labels=2, max_arity=2, zeros=0.0))
def test_mrf2ising(mrf: MarkovRandomField) -> None:
    ising, inverse = mrf2ising(mrf)
    assert_same(mrf, ising, inverse)


@given(isings())
def test_ising2mrf(model: IsingModel) -> None:
    mrf, inverse = ising2mrf(model)
    assert list(mrf.labels) == list(model.labels)
    assert_same(model, mrf, inverse)
    again, _ = mrf2ising(mrf)
    np.testing.assert_allclose(again.couplings, model.couplings, **TIGHT)
    np.testing.assert_allclose(again.fields, model.fields, **TIGHT)


@given(isings())
def test_fields2bias(model: IsingModel) -> None:
    new, inverse = fields2bias(model, all_spins=True)
    assert not new.has_fields
    assert new.num_spins == model.num_spins + 1
    assert_same(model, new, inverse, copies=2)


@given(isings())
def test_fields2bias_with_few_edges(model: IsingModel) -> None:
    new, inverse = fields2bias(model)
    assert new.num_edges == model.num_edges + np.count_nonzero(model.fields)
    np.testing.assert_allclose(
        log_partition_of(new) + inverse.log_partition_shift, log_partition_of(model), **TIGHT
    )
    marginals = marginals_of(new)
    unknown = (inverse.bias_edge < 0) & ~inverse.symmetric
    assert np.all(model.fields[unknown] == 0)
    if unknown.any():
        with pytest.raises(MethodError, match="all_spins=True"):
            inverse.lift_marginals(marginals)
    else:
        assert_same_marginals(inverse.lift_marginals(marginals), marginals_of(model))


@given(isings(fields=False), st.integers(0, 5))
def test_bias2fields(model: IsingModel, spin: int) -> None:
    if spin >= model.num_spins:
        return
    new, inverse = bias2fields(model, spin)
    np.testing.assert_allclose(
        log_partition_of(new) + inverse.log_partition_shift, log_partition_of(model), **TIGHT
    )
    states = states_of(new)
    lifted = inverse.lift_states(states)
    assert np.all(lifted[:, spin] == 1)
    np.testing.assert_allclose(new.log_weight(states), model.log_weight(lifted), **TIGHT)
    assert_same_marginals(inverse.lift_marginals(marginals_of(new)), marginals_of(model))


@given(isings())
def test_bias_there_and_back(model: IsingModel) -> None:
    new, _ = fields2bias(model)
    back, _ = bias2fields(new)
    assert np.array_equal(back.fields, model.fields)
    assert np.array_equal(back.edges, model.edges)
    assert np.array_equal(back.couplings, model.couplings)
    assert back.offset == model.offset


@given(mrfs(num_variables=4, max_arity=3))
def test_log_encoding(mrf: MarkovRandomField) -> None:
    binary, inverse = kary2binary(mrf)
    assert binary.is_binary
    assert_same(mrf, binary, inverse)


@given(mrfs(num_variables=4, max_arity=2, zeros=0.0))
def test_order_encoding(mrf: MarkovRandomField) -> None:
    binary, inverse = kary2binary(mrf, encoding="order")
    assert binary.is_binary
    assert binary.is_pairwise
    assert_same(mrf, binary, inverse)


@given(mrfs(num_variables=5, max_labels=2, num_factors=3))
def test_mrf2pairwise(mrf: MarkovRandomField) -> None:
    pairwise, inverse = mrf2pairwise(mrf)
    assert pairwise.is_pairwise
    if np.prod(pairwise.cardinalities.astype(float)) <= 2**16:
        assert_same(mrf, pairwise, inverse)


@given(mrfs(), st.data(), st.booleans())
def test_condition(mrf: MarkovRandomField, data: st.DataObject, keep: bool) -> None:
    n = mrf.num_variables
    observed = data.draw(st.sets(st.integers(0, n - 1))) if n else set()
    evidence = {v: data.draw(st.integers(0, int(mrf.cardinalities[v]) - 1)) for v in observed}
    smaller, inverse = mrf.condition(evidence, keep_numbering=keep)
    assert smaller.num_variables == (n if keep else n - len(evidence))
    assert smaller.num_factors == mrf.num_factors
    # The same distribution with the evidence as extra factors that forbid the rest.
    extra = [
        ((v,), np.where(np.arange(mrf.cardinalities[v]) == x, 0.0, -np.inf))
        for v, x in evidence.items()
    ]
    factors = [(mrf.scope(k), mrf.log_table(k)) for k in range(mrf.num_factors)]
    entered = MarkovRandomField(mrf.cardinalities, [*factors, *extra], log=True)
    states = states_of(smaller)
    lifted = inverse.lift_states(states)
    np.testing.assert_allclose(smaller.log_weight(states), entered.log_weight(lifted), **TIGHT)
    wanted = enumerate_assignments(entered)
    found = enumerate_assignments(smaller)
    np.testing.assert_allclose(found.log_partition, wanted.log_partition, **TIGHT)
    assert found.map_log_weight == pytest.approx(wanted.map_log_weight, rel=1e-12, abs=1e-12)
    if wanted.log_partition > -np.inf:
        marginals = inverse.lift_marginals(marginals_of(smaller))
        factors = wanted.factors[: mrf.num_factors]
        assert_same_marginals(
            marginals, known_marginals(wanted.nodes, factors, wanted.log_partition)
        )
        assert marginals.nodes_lower is not None
        assert marginals.edges_upper is not None


@given(mrfs(max_arity=2))
def test_pairwise_view(mrf: MarkovRandomField) -> None:
    view = mrf.pairwise_view()
    x = states_of(mrf)
    total = np.full(len(x), view.constant)
    for v in range(mrf.num_variables):
        total += view.node_log(v)[x[:, v]]
    for e, (u, v) in enumerate(view.edges.tolist()):
        assert u < v
        total += view.edge_log(e)[x[:, u], x[:, v]]
    np.testing.assert_allclose(total, mrf.log_weight(x), **TIGHT)
    assert len(np.unique(view.edges, axis=0)) == len(view.edges)
