"""Proofs of every kind: saved, read again, checked alone against enumeration, and forged."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from planaris.embed.planarity import prove_planarity
from planaris.errors import FileFormatError, VerificationError
from planaris.result import Bounds, PartProofs, Proof, load_result

K5 = list(itertools.combinations(range(5), 2))


def spins(rng, fields=1.0):
    couplings = rng.normal(size=len(K5))
    return pl.IsingModel(K5, couplings, fields * rng.normal(size=5), offset=0.25)


def labels(rng):
    tables = [((u, v), rng.random((3, 3)) + 0.1) for u, v in K5[:7]]
    return pl.MarkovRandomField([3] * 5, tables)


ENERGIES = [
    lambda rng: (spins(rng), {"method": "branch-and-cut", "prove": True}),
    lambda rng: (spins(rng), {"method": "mplp", "prove": True}),
    lambda rng: (spins(rng), {"method": "cycle-lp", "prove": True}),
    lambda rng: (spins(rng), {"method": "qpbo"}),
    lambda rng: (labels(rng), {"method": "mplp", "prove": True}),
    lambda rng: (pl.generate.spin_glass(3, rng), {"method": "planar"}),
    lambda rng: (
        pl.MarkovRandomField.from_ising(spins(rng)),
        {"method": "branch-and-cut", "prove": True},
    ),
]


def energies(model):
    """Return the energies of all states, by trying them."""
    if isinstance(model, pl.IsingModel):
        states = itertools.product((-1, 1), repeat=model.num_spins)
    else:
        states = itertools.product(*(range(k) for k in model.cardinalities))
    return np.array([float(model.energy(np.array(state))) for state in states])


@pytest.mark.parametrize("case", ENERGIES)
def test_proofs_about_energies_hold_alone(case, rng, tmp_path):
    model, options = case(rng)
    found = pl.ground_state(model, **options)
    proof = found.certificate
    assert isinstance(proof, Proof)
    claim, lower, upper = proof.check(model)
    least = energies(model).min()
    assert (claim, upper) == ("minimum energy", np.inf)
    assert least - 1e-6 - (least - found.lower) <= lower <= least + 1e-12
    proof.save(tmp_path / "proof.json")
    again = Proof.load(tmp_path / "proof.json")
    assert again.check(model) == (claim, lower, upper)
    assert again.size == proof.size > 0


@pytest.mark.parametrize(
    ("bound", "make"),
    [
        (pl.bounds.trw, spins),
        (pl.bounds.pdc, spins),
        (pl.bounds.interval, spins),
        (pl.bounds.trw, labels),
        (pl.bounds.interval, labels),
    ],
)
def test_proofs_about_log_z_hold_alone(bound, make, rng, tmp_path, monkeypatch):
    monkeypatch.setattr("planaris.bounds.best_interval.EXACT_SHARE", -1.0)
    model = make(rng)
    found = bound(model, time_limit=5)
    log_z = np.logaddexp.reduce(-energies(model))
    assert isinstance(found.certificate, Proof)
    claim, lower, upper = found.certificate.check(model)
    assert claim == "log Z"
    assert lower <= log_z <= upper
    found.save(tmp_path / "result.json")
    assert Proof.load(tmp_path / "result.json").check(model) == (claim, lower, upper)


def test_proofs_of_planarity(rng):
    glass = pl.generate.spin_glass(3, rng)
    assert prove_planarity(glass).check(glass).claim == "planar"
    dense = spins(rng, fields=0.0)
    proof = prove_planarity(dense)
    assert proof.check(dense) == ("not planar", -np.inf, np.inf)
    with pytest.raises(VerificationError):
        proof.check(glass)


def test_broken_proofs_are_refused(rng):
    model = spins(rng)
    found = pl.ground_state(model, "branch-and-cut", prove=True)
    assert found.certificate is not None
    tree = found.certificate.as_proof()
    with pytest.raises(VerificationError):
        replace(tree, multipliers=-tree.multipliers - 1.0).check(model)
    with pytest.raises(VerificationError):
        replace(tree, rows=tree.rows + 10**6).check(model)
    with pytest.raises(VerificationError):
        found.certificate.check(pl.generate.spin_glass(5, rng))
    with pytest.raises(VerificationError, match="about labels"):
        found.certificate.check(labels(rng))


def test_nothing_is_proved_by_nothing(rng):
    assert Bounds(None, None).check(spins(rng)) == ("log Z", -np.inf, np.inf)
    assert PartProofs().size == 0


def test_files_without_a_proof_are_refused(tmp_path):
    path = tmp_path / "r.json"
    replace(pl.ground_state(pl.IsingModel([(0, 1)], [1.0])), certificate=None).save(path)
    with pytest.raises(FileFormatError, match="holds no proof"):
        Proof.load(path)
    assert load_result(path).certificate is None


def test_proofs_of_parts_inside_others_can_be_checked_after_reading(tmp_path) -> None:
    tables = np.random.default_rng(1).normal(size=(3, 2, 2))
    pairs = [(0, 1), (1, 2), (0, 2)]
    mrf = pl.MarkovRandomField([2] * 3, list(zip(pairs, tables, strict=True)), log=True)
    state = pl.ground_state(mrf)
    assert isinstance(state.certificate.proof, list)
    state.save(tmp_path / "r.json")
    assert Proof.load(tmp_path / "r.json").check(mrf) == state.certificate.check(mrf)
