"""Checks of proved marginals against ball arithmetic: honest proofs, forged ones, false claims."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from flint import arb

import planaris as pl
from helpers.grid_models import KINDS, exact_probabilities, normal_grid, places, random_grid
from planaris import tensor
from planaris.errors import VerificationError
from planaris.kernels.tensor import prove_grid
from planaris.result import BoundaryStates, Contraction, load_result
from planaris.verify import check_proof, check_result
from planaris.verify.proofs.tensor_network import two_rows
from planaris.verify.proofs.tensor_network.two_rows import marginal_ends

BONDS = (1, 2, 3, 4, 8, 32)
EFFORTS = ([(1, 6)], [(2, 6)], [(4, 14)], [(8, 60)])


def boundary_states(arrays, rng: np.random.Generator) -> BoundaryStates | None:
    """Return how to contract a grid from above and below with some bonds; None if it is lost."""
    parts = []
    for one in (arrays, [np.ascontiguousarray(x[::-1]) for x in arrays]):
        found = prove_grid(
            *one,
            max_bond=int(rng.choice(BONDS)),
            effort=EFFORTS[rng.integers(len(EFFORTS))],
            witness=True,
        )
        if not np.isfinite(found.half_width):
            return None
        parts.append(Contraction(arrays[0].shape[1], *found.witness))
    return BoundaryStates(*parts)


def grids(count: int, seed: int):
    """Yield arrays of random grids and proofs of their marginals."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        rows = int(rng.integers(2, 6))
        arrays = random_grid(KINDS[k % len(KINDS)], rows, int(rng.integers(1, rows + 1)), rng)
        proof = boundary_states(arrays, rng)
        if proof is not None:
            yield arrays, pl.IsingModel.from_image(*arrays), proof


def of_grid(model: pl.IsingModel, columns: int, ends) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the ends of spins, of edges to the right and of edges down, in the order of rows."""
    low = model.edges.min(1)
    beside = np.abs(np.diff(model.edges, axis=1))[:, 0] == 1
    beside &= columns > 1
    found = [ends.nodes]
    for chosen in (beside, ~beside):
        order = np.flatnonzero(chosen)[np.argsort(low[chosen])]
        found.append((ends.edges[0][order], ends.edges[1][order]))
    return found


def violations(arrays, model: pl.IsingModel, ends) -> tuple[int, int]:
    """(ends, violated ends) of some spins and edges."""
    tried = wrong = 0
    parts = of_grid(model, arrays[0].shape[1], ends)
    for (low, high), array, exact in zip(parts, arrays, exact_probabilities(*arrays), strict=True):
        assert len(low) == array.size
        for at, p in zip(places(array), exact, strict=True):
            tried += 1
            wrong += not (arb(float(low[at])) <= p) or not (p <= arb(float(high[at])))
    return tried, wrong


def attack(count: int, seed: int) -> tuple[int, int]:
    tried = wrong = 0
    for arrays, model, proof in grids(count, seed):
        ends = marginal_ends(model, proof)
        if ends is not None:
            more = violations(arrays, model, ends)
            tried, wrong = tried + more[0], wrong + more[1]
    return tried, wrong


def test_ends_hold_whatever_the_bonds_are():
    tried, wrong = attack(60, 1)
    assert tried > 250
    assert wrong == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_ends_hold_in_hundreds_of_models(seed):
    assert attack(200, seed)[1] == 0


def test_ends_need_what_the_rows_are_off(monkeypatch):
    whole = two_rows._states

    def exact(grid, witness):
        return [state._replace(width=0.0) for state in whole(grid, witness)]

    monkeypatch.setattr(two_rows, "_states", exact)
    assert attack(60, 1)[1] > 0


@pytest.mark.parametrize("charged", [1.01, 0.0])
def test_ends_need_what_rounding_does(monkeypatch, charged):
    """Sums with errors of known size, and with what is charged for them."""
    error = 1e-3
    begin, joint = two_rows._Pair.__init__, two_rows._Sums.joint

    def charge(self, *args):
        begin(self, *args)
        self.share += charged * error

    def disturb(self, other, weights):
        value, size = joint(self, other, weights)
        signs = np.where(np.arange(value.size).reshape(value.shape) % 3 == 0, 1.0, -1.0)
        return value + error * signs * size, size

    monkeypatch.setattr(two_rows._Pair, "__init__", charge)
    monkeypatch.setattr(two_rows._Sums, "joint", disturb)
    tried, wrong = attack(40, 3)
    assert tried > 100
    assert (wrong > 0) == (charged == 0)


def test_forged_proofs_are_refused_or_prove_what_is_true():
    rng = np.random.default_rng(4)
    refused = held = 0
    for arrays, model, proof in grids(50, 5):
        part = proof.below if rng.random() < 0.5 else proof.above
        name = str(rng.choice([f.name for f in fields(part) if f.name != "columns"]))
        values = np.array(getattr(part, name), ndmin=1)
        if len(values):
            values[int(rng.integers(len(values)))] += rng.choice([-2, -1, 1, 2])
        other = replace(part, **{name: int(values[0]) if name == "other_way" else values})
        forged = replace(proof, below=other) if part is proof.below else replace(proof, above=other)
        try:
            ends = marginal_ends(model, forged)
        except VerificationError:
            refused += 1
            continue
        if ends is not None:
            held += 1
            assert violations(arrays, model, ends)[1] == 0
    assert refused > 3
    assert held > 3


@pytest.fixture(scope="module")
def proved():
    rng = np.random.default_rng(6)
    model = pl.IsingModel.from_image(
        rng.uniform(-0.5, 0.5, (5, 7)), rng.uniform(-1, 1, (5, 6)), rng.uniform(-1, 1, (4, 7))
    )
    return model, tensor.marginals(model, prove=True)


def test_proved_marginals_are_proved_by_the_check(proved, tmp_path):
    model, found = proved
    found.save(tmp_path / "r.json")
    report = check_result(model, load_result(tmp_path / "r.json"), recompute=False)
    assert report.proved
    assert [finding.detail for finding in report.findings] == ["boundary-states"]
    z = check_proof(model, found.certificate)
    assert z.claim == "log Z"
    exact = pl.log_partition(model, "treewidth")
    assert z.lower <= exact.upper
    assert exact.lower <= z.upper


@pytest.mark.parametrize("part", ["nodes", "edges"])
def test_false_marginals_are_refused(proved, part):
    model, found = proved
    for by in (1e-9, -1e-6, 1e-3):
        names = (part, f"{part}_lower", f"{part}_upper")
        moved = {name: np.array(getattr(found, name)) for name in names}
        for values in moved.values():
            values[3] += by
        with pytest.raises(VerificationError, match="but the proof gives"):
            check_result(model, replace(found, **moved), recompute=False)


def test_ends_that_are_too_narrow_are_not_proved(proved):
    model, found = proved
    values = {
        f"{part}_{end}": getattr(found, part)
        for part in ("nodes", "edges")
        for end in ("lower", "upper")
    }
    report = check_result(model, replace(found, **values), recompute=False)
    assert not report.proved


def test_proofs_of_other_grids_are_refused(proved):
    model, found = proved
    ring = pl.IsingModel([(k, (k + 1) % 35) for k in range(35)], 0.5)
    with pytest.raises(VerificationError, match="neighbours of the grid"):
        marginal_ends(ring, found.certificate)
    with pytest.raises(VerificationError, match="from below"):
        marginal_ends(model, replace(found.certificate, below=None))


@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (4, 1), (3, 5), (5, 3), (2, 6)])
def test_grids_of_any_shape(shape):
    model = normal_grid(shape, np.random.default_rng(sum(shape)))
    found = tensor.marginals(model, prove=True)
    exact = pl.marginals(model, "brute-force")
    ends = marginal_ends(model, found.certificate)
    for (low, high), p in ((ends.nodes, exact.nodes), (ends.edges, exact.edges)):
        assert (low <= p + 1e-14).all()
        assert (p - 1e-14 <= high).all()
        assert (high - low).max() < 1e-12
    assert check_result(model, found, recompute=False).proved
