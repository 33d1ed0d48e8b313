"""Pieces that share spins: both ends hold wherever a search stops, and are proved again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.clocks import StepClock
from helpers.trials import seeds
from planaris import IsingModel, treewidth
from planaris.bounds import interval
from planaris.bounds.best_interval import BestInterval
from planaris.bounds.intervals.strips import tighten_by_strips
from planaris.bounds.shared_spins import ConditionalSearch, HolderSearch
from planaris.budget import Budget, use_clock
from planaris.errors import VerificationError
from planaris.generate import square_lattice
from planaris.reference import enumerate_states
from planaris.result import Bounds, ConditionalPieces, HolderPieces, LogPartition, SplitEdges
from planaris.subgraphs import split_strips
from planaris.subgraphs.covers import Cover, StripShape, lattice_places, make_cover, strip_cover
from planaris.subgraphs.split_strips import SplitStrips
from planaris.verify import check_result
from planaris.verify.proofs.log_partition.shared_spins import holder_bound

ALONE = Budget(threads=1)


def random_cover(rng: np.random.Generator) -> Cover:
    """Return pieces of a random model, each edge in one to three of them, in a random order."""
    n = int(rng.integers(2, 11))
    pairs = [(u, v) for u in range(n) for v in range(u) if rng.random() < 0.4]
    size = float(rng.choice([0.1, 1.0, 3.0]))
    model = IsingModel(
        np.array(pairs, dtype=int).reshape(-1, 2),
        size * rng.normal(size=len(pairs)),
        size * rng.normal(size=n),
        offset=rng.normal(),
    )
    rank, count = rng.permutation(n), int(rng.integers(1, 4))
    held = rng.random((count, model.num_edges)) < 0.5
    held[rng.integers(count, size=model.num_edges), np.arange(model.num_edges)] = True
    pieces = []
    for k in range(count):
        edges = np.flatnonzero(held[k])
        alone = np.arange(n) if k == 0 else np.zeros(0, dtype=int)
        spins = np.union1d(model.edges[edges].ravel(), alone)
        pieces.append((spins[np.argsort(rank[spins])], edges))
    return make_cover(model, pieces, np.full(n, -1), int(rng.integers(1, count + 1)))


def lattice(
    rng: np.random.Generator, shape: tuple[int, int], extra: int = 0, size: float = 1.0
) -> IsingModel:
    """Return a lattice with fields, and edges between random spins."""
    n = shape[0] * shape[1]
    edges = square_lattice(*shape).edges
    known = {tuple(sorted(edge)) for edge in edges.tolist()}
    new = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(extra)}
    added = np.array(sorted(new - known), dtype=edges.dtype).reshape(-1, 2)
    edges = np.concatenate([edges, added])
    fields = size * rng.uniform(-0.5, 0.5, n)
    return IsingModel(edges, size * rng.uniform(-1, 1, len(edges)), fields)


def as_result(model: IsingModel, clock: BestInterval) -> LogPartition:
    return clock.result("interval", model.num_spins)


@pytest.mark.parametrize("seed", seeds(60, 150))
def test_any_pieces_at_any_point_enclose(seed: int) -> None:
    rng = np.random.default_rng([71, seed])
    cover = random_cover(rng)
    model = cover.model
    truth = enumerate_states(model).log_partition
    above, below = (
        HolderSearch(cover),
        ConditionalSearch(cover, rng.uniform(0.05, 0.95, (model.num_spins, 2))),
    )
    for k in range(4):
        above.value(above.best + rng.normal(size=len(above.best)) * (k > 0), ALONE)
        below.step(ALONE)
        assert below.bound() <= truth + 1e-10 * (1 + abs(truth))
        assert above.bound() >= truth - 1e-10 * (1 + abs(truth))
    above.minimise(20, ALONE)
    assert above.bound() >= truth - 1e-10 * (1 + abs(truth))
    ends = below.bound(), above.bound()
    proof = Bounds(below.proof(), above.proof())
    result = LogPartition.between(
        *ends, num_variables=model.num_spins, method="pieces", certificate=proof
    )
    assert check_result(model, result).proved


@pytest.mark.parametrize("seed", range(20))
def test_gradients_are_those_of_differences(seed: int) -> None:
    rng = np.random.default_rng([72, seed])
    search = HolderSearch(random_cover(rng))
    x = search.best + 0.3 * rng.normal(size=len(search.best))
    direction = rng.normal(size=len(x))
    _, gradient = search.value(x, ALONE)
    high, low = (search.value(x + h * direction, ALONE)[0] for h in (1e-5, -1e-5))
    assert gradient @ direction == pytest.approx((high - low) / 2e-5, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_one_piece_is_exact(seed: int) -> None:
    rng = np.random.default_rng([73, seed])
    model = lattice(rng, (3, 4), seed % 3)
    whole = [(np.arange(12), np.arange(model.num_edges))]
    cover = make_cover(model, whole, np.full(12, -1))
    truth = enumerate_states(model).log_partition
    above, below = HolderSearch(cover), ConditionalSearch(cover)
    above.value(above.best, ALONE)
    below.step(ALONE)
    assert above.bound() == pytest.approx(truth, abs=1e-9)
    assert below.bound() == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_strips_narrow_as_they_know_more(seed: int) -> None:
    """The wider the table the better, and contexts do no harm."""
    rng = np.random.default_rng([74, seed])
    model = lattice(rng, (4, 4), size=[0.3, 1.0, 2.0][seed % 3])
    truth = enumerate_states(model).log_partition
    places = lattice_places(model)
    assert places is not None
    widths = []
    for lag in range(3):
        shape = StripShape(1, lag)
        cover = strip_cover(model, places, shape)
        above, below = HolderSearch(cover), ConditionalSearch(cover)
        above.minimise(30, ALONE)
        for _ in range(15):
            below.step(ALONE)
        assert below.bound() <= truth <= above.bound()
        widths.append(above.bound() - below.bound())
    assert widths[2] < widths[0]


@pytest.mark.parametrize("seed", seeds(60, 200))
def test_strips_hold_at_every_stop(seed: int) -> None:
    """Lattices of up to 22 columns against elimination; time runs out at any look."""
    rng = np.random.default_rng([75, seed])
    shape = int(rng.integers(2, 8)), int(rng.integers(2, 23))
    extra = int(rng.integers(0, 9)) if seed % 2 == 0 else 0
    model = lattice(rng, shape, extra, float(rng.choice([0.1, 1.0, 3.0, 30.0])))
    truth = treewidth.log_partition(model)
    places = lattice_places(model)
    if places is None:
        return
    with use_clock(StepClock(int(10 ** rng.uniform(0, 3)))):
        budget = Budget(1.0, threads=1)
        clock = BestInterval(budget)
        tighten_by_strips(model, places, clock, budget, width=int(rng.integers(1, 5)))
    assert clock.lower <= truth.upper
    assert clock.upper >= truth.lower
    if seed % 10 == 0 and np.isfinite(clock.upper - clock.lower):
        assert check_result(model, as_result(model, clock)).proved


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_split_edges_hold_whatever_is_kept(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long edges are kept, cut once or cut twice; tables of any size, every step of a search."""
    rng = np.random.default_rng([77, seed])
    monkeypatch.setattr(split_strips, "MOST_OPEN", int(rng.integers(0, 3)))
    model = lattice(rng, (4, 4), 6, [0.3, 1.0, 2.0][seed % 3])
    truth = enumerate_states(model).log_partition
    places = lattice_places(model)
    if places is None:  # some long edges have the same step, as if along a third direction
        return
    strips = SplitStrips(model, places, 1)
    split = strips.split
    assert treewidth.log_partition(split.model).value == pytest.approx(truth, abs=1e-10)
    cover = strips.cover(int(rng.integers(3, 12)))
    assert np.all(cover.copies <= 2)
    above = HolderSearch(cover)
    below = ConditionalSearch(cover, rng.uniform(0.05, 0.95, (split.model.num_spins, 2)))
    for k in range(5):
        above.value(above.best + rng.normal(size=len(above.best)) * (k % 2), ALONE)
        below.step(ALONE)
        lower, upper = split.below(below.bound()), split.above(above.bound())
        assert lower <= truth <= upper
    proof = Bounds(split.proof(below.proof()), split.proof(above.proof()))
    claim = LogPartition.between(lower, upper, num_variables=16, method="pieces", certificate=proof)
    assert check_result(model, claim).proved


@pytest.mark.parametrize("hub", [0, 7, 14])
def test_a_spin_may_have_many_long_edges(hub: int, rng: np.random.Generator) -> None:
    """More than a step of a sweep can hold: some new spins go before it."""
    edges = square_lattice(5, 6).edges
    beside = {hub, *edges[(edges == hub).any(1)].ravel().tolist()}
    far = [(hub, v) for v in rng.permutation(30).tolist() if v not in beside][:15]
    edges = np.concatenate([edges, far])
    model = IsingModel(edges, rng.uniform(-1, 1, len(edges)), rng.uniform(-1, 1, 30))
    places = lattice_places(model)
    assert places is not None
    strips = SplitStrips(model, places, 1)
    truth = treewidth.log_partition(model).value
    for bits in (4, 12):
        cover = strips.cover(bits)
        above, below = HolderSearch(cover), ConditionalSearch(cover)
        above.minimise(5, ALONE)
        below.step(ALONE)
        assert strips.split.below(below.bound()) <= truth <= strips.split.above(above.bound())


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_pieces_of_equal_weights_need_no_common_order(seed: int) -> None:
    """Every shared spin is in two pieces with half the weight; each goes in an order of its own."""
    rng = np.random.default_rng([78, seed])
    n = int(rng.integers(3, 9))
    pairs = [(u, v) for u in range(n) for v in range(u) if rng.random() < 0.7]
    half = rng.integers(2, size=len(pairs))
    edges = np.array(pairs, dtype=int).reshape(-1, 2)
    model = IsingModel(edges, 2 * rng.normal(size=len(pairs)), rng.normal(size=n))
    pieces = []
    for k in range(2):
        held = np.flatnonzero(half == k)
        alone = np.setdiff1d(np.arange(n), edges[half == 1]) if k == 0 else held[:0]
        pieces.append((rng.permutation(np.union1d(edges[held].ravel(), alone)), held))
    cover = make_cover(model, pieces, np.full(n, -1))
    truth = enumerate_states(model).log_partition
    search = HolderSearch(cover)
    for _ in range(4):
        search.value(search.best + rng.normal(size=len(search.best)), ALONE)
        assert search.bound() >= truth
    found = holder_bound(model, search.proof())
    assert found is not None
    assert found.value + found.slack >= truth
    assert found.value <= search.bound() + found.slack


def test_orders_that_disagree_are_refused_for_other_weights() -> None:
    model = IsingModel([(0, 1)], [1.0])
    pieces = [(np.array([0, 1]), np.array([0])), (np.array([1, 0]), np.array([0]))]
    proof = HolderSearch(make_cover(model, pieces, np.full(2, -1))).proof()
    assert holder_bound(model, proof) is not None
    with pytest.raises(VerificationError, match="orders"):
        holder_bound(model, replace(proof, weights=np.array([0.4, 0.5, 0.5, 0.6])))


def test_forged_splits_are_refused() -> None:
    """Other couplings cost what they are off; other edges, numbers and kinds are refused."""
    model = lattice(np.random.default_rng(79), (4, 4), 6)
    truth = enumerate_states(model).log_partition
    places = lattice_places(model)
    assert places is not None
    strips = SplitStrips(model, places, 1)
    cover = strips.cover(12)
    above, below = HolderSearch(cover), ConditionalSearch(cover)
    above.minimise(10, ALONE)
    below.step(ALONE)
    ends = strips.split.below(below.bound()), strips.split.above(above.bound())
    lower, upper = (strips.split.proof(end.proof()) for end in (below, above))

    def check(low: SplitEdges, high: SplitEdges) -> bool:
        claim = LogPartition.between(
            *ends, num_variables=16, method="pieces", certificate=Bounds(low, high)
        )
        return check_result(model, claim).proved

    assert ends[0] <= truth <= ends[1]
    assert check(lower, upper)
    for forged in (
        replace(upper, edges=upper.edges + 1),
        replace(upper, edges=upper.edges - 100),
        replace(upper, edges=upper.edges[:-1]),
        replace(upper, first=upper.first * 1.001),
        replace(upper, second=-upper.second),
        replace(upper, second=upper.second * np.nan),
        replace(upper, first=upper.first * np.inf),
        replace(upper, proof=lower.proof),
        replace(upper, proof=None),
    ):
        with pytest.raises(VerificationError):
            check(lower, forged)
    with pytest.raises(VerificationError):
        check(replace(lower, first=lower.first * 1.001), upper)


def test_a_cube_is_covered_by_slabs(rng: np.random.Generator) -> None:
    cells = np.arange(27).reshape(3, 3, 3)
    pairs = [
        (cells[:-1], cells[1:]),
        (cells[:, :-1], cells[:, 1:]),
        (cells[..., :-1], cells[..., 1:]),
    ]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
    model = IsingModel(edges, rng.uniform(-1, 1, len(edges)), rng.uniform(-1, 1, 27))
    places = lattice_places(model)
    assert places is not None
    assert places.sides == (3, 3, 3)
    truth = treewidth.log_partition(model).value
    search = HolderSearch(strip_cover(model, places, StripShape(0, 0)))
    search.minimise(10, ALONE)
    assert truth <= search.bound() <= truth + 2.7


def test_tables_out_of_range_are_left_to_others(rng: np.random.Generator) -> None:
    model = lattice(rng, (6, 7), size=1000.0)
    places = lattice_places(model)
    assert places is not None
    clock = BestInterval(Budget(threads=1))
    assert not tighten_by_strips(model, places, clock, clock.budget)
    truth = treewidth.log_partition(model)
    assert clock.lower <= truth.upper
    assert clock.upper >= truth.lower


@pytest.mark.usefixtures("ticking")
def test_intervals_of_wide_lattices_come_from_strips(rng: np.random.Generator) -> None:
    model = lattice(rng, (30, 30))
    found = interval(model, 240.0)
    assert isinstance(found.certificate, Bounds)
    assert isinstance(found.certificate.lower, ConditionalPieces)
    assert isinstance(found.certificate.upper, HolderPieces)
    assert found.gap < 0.02 * model.num_spins
    assert check_result(model, found).proved


@pytest.fixture(scope="module")
def proved() -> tuple[IsingModel, float, ConditionalPieces, HolderPieces]:
    model = lattice(np.random.default_rng(76), (4, 4))
    places = lattice_places(model)
    assert places is not None
    cover = strip_cover(model, places, StripShape(1, 1))
    above, below = HolderSearch(cover), ConditionalSearch(cover)
    above.minimise(5, ALONE)
    below.step(ALONE)
    return model, enumerate_states(model).log_partition, below.proof(), above.proof()


def test_weights_too_small_for_doubles_are_refused(proved: Any) -> None:
    """Logarithms divided by them would be infinite, and sums over states too small."""
    model, _, _, above = proved
    weights = above.weights.copy()
    spin = int(np.flatnonzero(np.bincount(above.spins) == 2)[0])
    weights[np.flatnonzero(above.spins == spin)] = 1e-310, 1.0
    with pytest.raises(VerificationError, match="weights are at least"):
        holder_bound(model, replace(above, weights=weights))


def test_forged_pieces_are_refused(proved: Any) -> None:
    model, truth, below, above = proved
    swapped = above.spins.copy()
    shared = np.flatnonzero(np.bincount(above.spins)[above.spins[: above.spin_offsets[1]]] > 1)
    swapped[shared] = swapped[shared][::-1]
    # Equal weights would allow for any orders.
    first = np.arange(len(above.spins)) < above.spin_offsets[1]
    uneven = np.where(above.weights < 1, np.where(first == swapped % 2, 0.4, 0.6), 1.0)
    assert np.allclose(np.bincount(swapped, uneven), 1.0)
    forged = [
        replace(above, weights=above.weights * 0.9),
        replace(above, weights=-above.weights),
        replace(above, spins=swapped, weights=uneven),
        replace(above, spins=above.spins[::-1]),
        replace(above, fields=above.fields * np.nan),
        replace(above, edges=above.edges + 1),
        replace(above, spin_offsets=above.spin_offsets[:-1]),
        replace(below, up=below.up * 0.0),
        replace(below, up=below.up[:-1]),
        replace(below, context=np.arange(model.num_spins)),
        replace(below, context=np.zeros(model.num_spins, dtype=int)),
    ]
    for proof in forged:
        lower = isinstance(proof, ConditionalPieces)
        ends = Bounds(proof if lower else below, above if lower else proof)
        claim = LogPartition.between(
            truth - 1, truth + 1, num_variables=16, method="pieces", certificate=ends
        )
        with pytest.raises(VerificationError):
            check_result(model, claim)


def test_too_narrow_claims_are_refused(proved: Any) -> None:
    model, truth, below, above = proved
    for ends in ((truth - 1e-4, truth + 1), (truth - 1, truth + 1e-4)):
        claim = LogPartition.between(
            *ends, num_variables=16, method="pieces", certificate=Bounds(below, above)
        )
        with pytest.raises(VerificationError):
            check_result(model, claim)


def test_fields_moved_out_of_the_model_cost_what_they_are(proved: Any) -> None:
    """Pieces that do not add up to the model are charged for the difference."""
    model, truth, below, above = proved
    moved = replace(above, fields=above.fields - 0.1)
    claim = LogPartition.between(
        truth - 1, truth + 0.1, num_variables=16, method="pieces", certificate=Bounds(below, moved)
    )
    with pytest.raises(VerificationError):
        check_result(model, claim)
