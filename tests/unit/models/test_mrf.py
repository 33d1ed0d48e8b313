from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given

import planaris as pl
from helpers.claims import claimed_log_partition, claimed_state
from helpers.mrfs import mrfs
from planaris import IsingModel, MarkovRandomField
from planaris.errors import MethodError, ModelError, TooLargeError
from planaris.models import (
    bias2fields,
    fields2bias,
    kary2binary,
    lift_ground_state,
    lift_log_partition,
    mrf2ising,
    mrf2pairwise,
)
from planaris.models.convert import Chain
from planaris.reference import enumerate_assignments, enumerate_states

PAIR = ((0, 1), [[1.0, 2.0, 3.0], [4.0, 0.0, 1.0]])


@given(mrfs())
def test_log_weight_is_the_sum_of_log_entries(mrf: MarkovRandomField) -> None:
    states = list(itertools.product(*(range(k) for k in mrf.cardinalities.tolist())))
    found = mrf.log_weight(np.array(states, dtype=int).reshape(len(states), -1))
    for x, value in zip(states, found, strict=True):
        wanted = 0.0
        for k in range(mrf.num_factors):
            wanted += mrf.log_table(k)[tuple(x[v] for v in mrf.scope(k))]
        assert value == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@given(mrfs())
def test_enumeration_by_hand(mrf: MarkovRandomField) -> None:
    """Brute force twice: array arithmetic against dictionaries of probabilities."""
    found = enumerate_assignments(mrf)
    states = list(itertools.product(*(range(k) for k in mrf.cardinalities.tolist())))
    weights = {}
    for x in states:
        tables = [np.exp(mrf.log_table(k)) for k in range(mrf.num_factors)]
        weights[x] = float(
            np.prod([t[tuple(x[v] for v in mrf.scope(k))] for k, t in enumerate(tables)])
        )
    total = sum(weights.values())
    if total == 0:
        assert found.log_partition == -np.inf
        assert len(found.map_assignments) == 0
        return
    assert found.log_partition == pytest.approx(np.log(total), abs=1e-10)
    assert np.exp(found.map_log_weight) == pytest.approx(max(weights.values()), rel=1e-10)
    for x in map(tuple, found.map_assignments.tolist()):
        assert weights[x] == pytest.approx(max(weights.values()), rel=1e-10)
    for k in range(mrf.num_factors):
        table = np.zeros(mrf.table_shape(k))
        for x, w in weights.items():
            table[tuple(x[v] for v in mrf.scope(k))] += w / total
        np.testing.assert_allclose(found.factors[k], table, atol=1e-10)
    for v in range(mrf.num_variables):
        node = np.zeros(mrf.cardinalities[v])
        for x, w in weights.items():
            node[x[v]] += w / total
        np.testing.assert_allclose(found.nodes[v], node, atol=1e-10)


def test_tables_may_be_flat() -> None:
    flat = MarkovRandomField([2, 3], [((0, 1), [1, 2, 3, 4, 0, 1])])
    assert np.array_equal(flat.log_values, MarkovRandomField([2, 3], [PAIR]).log_values)


def test_no_variables_and_no_factors() -> None:
    empty = MarkovRandomField([], [])
    assert empty.log_weight(np.zeros((2, 0))).tolist() == [0.0, 0.0]
    constant = MarkovRandomField([], [((), 2.0), ((), [3.0])])
    assert constant.log_weight([]) == pytest.approx(np.log(6.0))
    assert MarkovRandomField([1, 5], []).log_weight([0, 4]) == 0


def test_given_potentials_are_kept_and_frozen() -> None:
    mrf = MarkovRandomField([2, 3], [PAIR])
    assert mrf.linear_values is not None
    assert mrf.linear_values.tolist() == [1, 2, 3, 4, 0, 1]
    assert MarkovRandomField([2], [((0,), [0.0, 1.0])], log=True).linear_values is None
    for copied in (mrf, pickle.loads(pickle.dumps(mrf))):
        assert copied.log_weight([1, 0]) == pytest.approx(np.log(4))
        for name in ("log_values", "linear_values", "scopes", "cardinalities"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(copied, name)[0] = 1


@pytest.mark.parametrize(
    ("cardinalities", "factors", "options", "words"),
    [
        ([0], [], {}, "`cardinalities` must lie between 1"),
        ([-1], [], {}, "`cardinalities` must lie between 1"),
        ([2.5], [], {}, "`cardinalities` must hold integers"),
        ([2, 2], [(("a", "b"), np.ones(4))], {"labels": ["a", "b"]}, "by number, got 'a'"),
        ([2], [("a", [1, 2])], {"labels": ["a"]}, "by number, got 'a'"),
        (["a"], [], {}, "`cardinalities` must hold integers"),
        ([2**40], [], {}, "`cardinalities` must lie between"),
        ([2], [((1,), [1, 1])], {}, r"`factors\[0\]` must name variables 0 to 0, got 1"),
        ([2], [((-1,), [1, 1])], {}, "got -1"),
        ([2, 2], [((0, 0), np.ones(4))], {}, "name each variable once, got 0 twice"),
        ([2, 3], [((0, 1), np.ones((3, 2)))], {}, r"a table of shape \(2, 3\)"),
        ([2, 3], [((0, 1), np.ones(5))], {}, "a table of 6 numbers for its scope, got 5"),
        ([2, 3], [((0,), [1, 1]), ((0, 1), np.ones(5))], {}, r"factors\[1\]"),
        ([2**30] * 3, [((0, 1, 2), [1])], {}, "a table of about 2.90 numbers"),
        ([2], [((0,), [1, -1])], {}, "finite and not negative, got -1"),
        ([2], [((0,), [1, np.nan])], {}, "got nan"),
        ([2], [((0,), [1, np.inf])], {}, "got inf"),
        ([2], [((0,), ["x", "y"])], {}, "must hold real numbers"),
        ([2], [((0,), [1, np.inf])], {"log": True}, "at most 1e300 in size, or -inf, got inf"),
        ([2], [((0,), [1, np.nan])], {"log": True}, "got nan"),
        ([2], [((0,), [1, 1e301])], {"log": True}, "got 1e.301"),
        ([2], [], {"labels": ["a", "b"]}, "`labels` must name all 1 variables"),
        ([2, 2], [], {"labels": ["a", "a"]}, "`labels` must be different"),
    ],
)
def test_bad_input(cardinalities: object, factors: object, options: dict, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ModelError, match=words):
        MarkovRandomField(cardinalities, factors, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arrays",
    [
        ([2], [0], [0], [1.0, 1.0], [0]),
        ([2], [0], [0, 1], [1.0, 1.0], [0, 1]),
        ([2], [0], [0, 1], [1.0], [0, 2]),
        ([2], [0], [1, 0], [1.0, 1.0], [0, 2]),
        ([2], [0], [], [1.0, 1.0], []),
        ([2], [0], [0, 1], [1.0, 1.0], [1, 3]),
    ],
)
def test_bad_flat_arrays(arrays: tuple) -> None:  # type: ignore[type-arg]
    with pytest.raises(ModelError):
        MarkovRandomField.from_arrays(*arrays)


@pytest.mark.parametrize("x", [[0], [0, 3], [0, -1], [0, 0.5], ["a", "b"], [[0, 0], [0]], 0])
def test_bad_assignments(x: object) -> None:
    with pytest.raises(ModelError, match="assignments"):
        MarkovRandomField([2, 3], [PAIR]).log_weight(x)  # type: ignore[arg-type]


@pytest.mark.parametrize("evidence", [{2: 0}, {-1: 0}, {0: 2}, {0: -1}, {"a": 0}, {0: 0.5}])
def test_bad_evidence(evidence: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(ModelError, match="evidence"):
        MarkovRandomField([2, 3], [PAIR]).condition(evidence)


def test_conditioning_keeps_names_and_digits() -> None:
    mrf = MarkovRandomField([2, 3], [PAIR], labels=["a", "b"])
    smaller, _ = mrf.condition({0: 1})
    assert smaller.labels == ["b"]
    assert smaller.linear_values is not None
    assert smaller.linear_values.tolist() == [4.0, 0.0, 1.0]


def test_conversions_refuse_what_does_not_fit() -> None:
    with pytest.raises(MethodError, match="variable 1 has 3"):
        mrf2ising(MarkovRandomField([2, 3], [PAIR]))
    with pytest.raises(MethodError, match=r"factor 0 over variables \[0\] has one"):
        mrf2ising(MarkovRandomField([2], [((0,), [0, 1])]))
    with pytest.raises(MethodError, match="factor 0 has 3"):
        mrf2ising(MarkovRandomField([2, 2, 2], [((0, 1, 2), np.ones(8))]))
    with pytest.raises(MethodError, match="use encoding='log'"):
        kary2binary(MarkovRandomField([2, 3], [PAIR]), encoding="order")
    with pytest.raises(ModelError, match="encoding"):
        kary2binary(MarkovRandomField([2, 3], [PAIR]), encoding="other")
    with pytest.raises(MethodError, match="without fields"):
        bias2fields(IsingModel([(0, 1)], [1.0], [1.0, 0.0]))
    with pytest.raises(ModelError, match="spin"):
        bias2fields(IsingModel([], []))


def test_states_that_stand_for_nothing_are_refused() -> None:
    mrf = MarkovRandomField([3], [((0,), [1, 2, 3])])
    _, from_bits = kary2binary(mrf)
    with pytest.raises(ModelError):
        from_bits.lift_states([1, 1])
    _, from_order = kary2binary(mrf, encoding="order")
    with pytest.raises(ModelError, match="in order"):
        from_order.lift_states([0, 1])


def test_conversions_chain() -> None:
    mrf = MarkovRandomField([1, 2, 1, 2], [((0, 1, 2, 3), [1, 2, 3, 4]), ((1, 3), [1, 2, 2, 1])])
    smaller, first = mrf.condition({0: 0, 2: 0})
    _, second = mrf2ising(smaller)
    chain = Chain((first, second))
    assert chain.lift_states([1, -1]).tolist() == [0, 1, 0, 0]
    assert chain.log_partition_shift == 0


def test_shifted_intervals_still_enclose() -> None:
    _, inverse = bias2fields(IsingModel([(0, 1)], [1.0]))
    lifted = lift_log_partition(claimed_log_partition(1.0, 1.0, 1.0, True, "x"), inverse)
    assert lifted.lower < 1.0 + np.log(2.0) < lifted.upper


def test_large_clusters_are_refused_before_they_are_built() -> None:
    wide = MarkovRandomField([50] * 3, [((0, 1, 2), np.ones(50**3))])
    with pytest.raises(TooLargeError) as caught:
        mrf2pairwise(wide, memory_limit=2**20)
    assert caught.value.bytes_needed == 8 * 50**3 * 151


def test_ground_states_are_lifted_with_their_bound() -> None:
    mrf = MarkovRandomField([2, 2], [((1, 0), [[1.0, 3.0], [5.0, 2.0]])])
    ising, inverse = mrf2ising(mrf)
    best = enumerate_states(ising)
    found = claimed_state(best.ground_states[0], best.energy, best.energy, best.energy, True, "x")
    lifted = lift_ground_state(found, inverse, mrf)
    assert lifted.assignment.tolist() == [0, 1]
    assert lifted.energy == lifted.upper == -np.log(5.0)
    assert lifted.lower < lifted.energy
    assert lifted.gap < 1e-12
    model = IsingModel([(0, 1)], [-1.0], [0.5, 0.0])
    new, back = fields2bias(model)
    best = enumerate_states(new)
    found = claimed_state(best.ground_states[0], best.energy, best.energy, best.energy, True, "x")
    lifted = lift_ground_state(found, back, model)
    assert lifted.spins.tolist() == [1, -1]
    assert lifted.energy == -1.5


def test_the_order_encoding_of_large_tables_is_quick(rng: np.random.Generator) -> None:
    mrf = MarkovRandomField([81] * 20, [((v, v + 1), rng.random((81, 81)) + 1) for v in range(19)])
    binary, inverse = kary2binary(mrf, encoding="order")
    assert binary.num_variables == 80 * 20
    x = rng.integers(0, 81, 20)
    bits = (x[:, None] > np.arange(80)).astype(int).ravel()
    assert inverse.lift_states(bits).tolist() == x.tolist()
    assert binary.log_weight(bits) == pytest.approx(mrf.log_weight(x), abs=1e-9)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (None, "`factors` must be a list"),
        ({(0,): [1, 1]}, "`factors` must be a list"),
        ([5], r"`factors\[0\]` must be a pair"),
        ([((0,), [1, 1], 2)], r"`factors\[0\]` must be a pair"),
    ],
)
def test_factors_are_pairs(factors, message):
    with pytest.raises(ModelError, match=message):
        MarkovRandomField([2], factors)


def test_evidence_is_a_dict():
    with pytest.raises(ModelError, match="`evidence` must be a dict"):
        MarkovRandomField([2], []).condition([0])


@pytest.mark.parametrize("method", ["auto", "treewidth", "brute-force", "planar"])
def test_samples_of_fields_are_int32_by_every_method(method):
    field = MarkovRandomField([2, 2], [((0, 1), [[1, 2], [3, 4]])])
    assert pl.sample(field, 3, 0, method).dtype == np.int32


def test_a_penalty_does_not_overflow_into_a_hard_constraint() -> None:
    mrf = MarkovRandomField([2], [((0,), [-1e300, 0.0])], log=True)
    with pytest.raises(ModelError, match=r"times 1e\+10 must be finite"):
        mrf.at(1e10)


@pytest.mark.parametrize("variable", [True, False, 0.5, 2, -1, "a"])
def test_evidence_names_variables_by_number(variable) -> None:
    mrf = MarkovRandomField([2, 3], [((0, 1), np.ones((2, 3)))])
    with pytest.raises(ModelError, match="must name variables 0 to 1"):
        mrf.condition({variable: 1})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_model_of_flat_arrays_keeps_none_of_them(dtype: type) -> None:
    """Offsets of 64 bits were kept: log Z was wrong once their array was used again."""
    numbers = ([2, 2, 2], [0, 1, 1, 2], [0, 2, 4])
    cards, scopes, starts = (np.array(x, dtype=dtype) for x in numbers)
    values, tables = np.log(np.arange(1.0, 9.0)), np.array([0, 4, 8], dtype=dtype)
    model = MarkovRandomField.from_arrays(cards, scopes, starts, values, tables, log=True)
    same = pickle.loads(pickle.dumps(model))
    for array in (cards, scopes, starts, values, tables):
        array[:] = 0
    assert model == same
    assert pl.log_partition(model).value == pl.log_partition(same).value
