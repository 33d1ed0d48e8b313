"""``check_result`` on whole results: what solvers of every kind return passes, and says how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from helpers.planar_graphs import complete, lattice_with_k5
from planaris.errors import VerificationError
from planaris.result import PartProofs, load_result
from planaris.selftest.models import KINDS
from planaris.verify import check_result
from planaris.verify.proofs.energy import energy_bounds, ground_state


@pytest.mark.parametrize("seed", range(8))
def test_flows_of_parts_are_saved_and_checked(seed: int, tmp_path) -> None:
    rng = np.random.default_rng(seed)
    edges = [*complete(9).tolist(), *(complete(9) + 9).tolist(), (0, 9), (18, 19), (19, 20)]
    edges += [(20, 18), (20, 0)]
    gauge = rng.choice([-1.0, 1.0], 21)  # no cycle is frustrated
    couplings = [abs(rng.normal()) * gauge[u] * gauge[v] for u, v in edges]
    fields = rng.normal(size=21) * (rng.random(21) < 0.4)
    if seed % 2:
        fields[:9] = 0.0
    model = pl.IsingModel(edges, couplings, fields)
    found = pl.ground_state(model)
    assert "graph-cut" in found.method
    found.save(tmp_path / "r.json")
    saved = load_result(tmp_path / "r.json")
    report = check_result(model, saved)
    assert report.findings[1].status == "proved"
    assert "flow" in report.findings[1].detail
    at = next(k for k, part in enumerate(saved.certificate) if part.proof.KIND == "flow")
    flow = np.array(saved.certificate[at].proof.flow)
    most = np.argmax(np.abs(flow))
    flow[most] = flow[most] / 2 if flow[most] else 0.01
    parts = list(saved.certificate)
    parts[at] = replace(parts[at], proof=replace(parts[at].proof, flow=flow))
    with pytest.raises(VerificationError, match=r"gap|exceeds"):
        check_result(model, replace(saved, certificate=parts))


@pytest.mark.parametrize("method", ["auto", "treewidth", "interval", "trw"])
def test_no_allowed_state_at_all_is_an_answer(method: str) -> None:
    same, apart = np.eye(2), 1 - np.eye(2)
    model = pl.MarkovRandomField([2, 2], [((0, 1), same), ((0, 1), apart)])
    found = pl.log_partition(model, method)
    assert check_result(model, found).proved
    with pytest.raises(VerificationError, match="claimed"):
        check_result(model, replace(found, value=1.0, lower=0.9, upper=1.1))


@pytest.mark.parametrize(("kind", "seed"), [("field on a face", 13), ("strip", 23), ("torus", 26)])
def test_methods_that_bound_claim_no_more_than_they_prove(kind: str, seed: int) -> None:
    model = KINDS[kind](np.random.default_rng([seed, 2026])).model
    for method in ("pdc", "qpbo"):
        found = pl.ground_state(model, method)
        assert check_result(model, found).proved


@pytest.mark.usefixtures("ticking")
def test_a_plain_upper_end_needs_no_proof_but_a_lower_one_does() -> None:
    rng = np.random.default_rng(0)
    lattice = pl.generate.square_lattice(24, 24)
    model = pl.IsingModel(lattice.edges, rng.normal(size=len(lattice.edges)), rng.normal(size=576))
    found = pl.log_partition(model, "mean-field", time_limit=2)
    assert check_result(model, found).proved
    lowered = replace(found, upper=found.upper - 0.1)
    assert [f.status for f in check_result(model, lowered).findings] == ["proved", "unproved"]


def test_constants_hide_no_wrong_probability() -> None:
    """Their rounding is none of probabilities; and a weight of zero leaves none to be right."""
    pairs = [(0, 1), (1, 2), (0, 2)]
    model = pl.IsingModel(pairs, [1.0, -0.5, 2.0], offset=1e17)
    found = pl.marginals(model)
    assert check_result(model, found).proved
    wrong = replace(found, error=1e-12, edges=found.edges + np.eye(3)[0] * 1e-10)
    with pytest.raises(VerificationError, match="P"):
        check_result(model, wrong)
    mrf = pl.MarkovRandomField([2], [((0,), [1.0, 2.0]), ((), 1.0)])
    never = pl.MarkovRandomField([2], [((0,), [1.0, 2.0]), ((), 0.0)])
    chances = pl.marginals(mrf)
    assert check_result(mrf, chances).proved
    with pytest.raises(VerificationError, match="no state is allowed"):
        check_result(never, chances)


def test_narrow_parts_without_a_proof_are_eliminated_one_by_one() -> None:
    """The whole is too wide for that, but its lattice comes with a proof, its K5 without."""
    model = lattice_with_k5(2)
    state = pl.ground_state(model)
    assert [part.proof is None for part in state.certificate].count(True) == 1
    (minimum,) = (f for f in check_result(model, state).findings if f.claim == "minimum")
    assert (minimum.status, minimum.detail) == ("recomputed", "elimination, t-join")
    alone = check_result(model, state, recompute=False)
    assert not alone.proved
    (at,) = (k for k, part in enumerate(state.certificate) if part.proof is None)
    wrong = PartProofs(state.certificate)
    wrong[at] = replace(wrong[at], lower=wrong[at].lower + 1e-6)
    with pytest.raises(VerificationError, match=f"part {at}"):
        check_result(model, replace(state, certificate=wrong))
    spins = state.spins.copy()
    spins[-1] *= -1
    energy = model.energy(spins)
    worse = replace(
        state, spins=spins, assignment=(spins + 1) // 2, energy=energy, lower=energy, upper=energy
    )
    with pytest.raises(VerificationError, match="but the proof gives"):
        check_result(model, worse)


@pytest.mark.parametrize("labels", [False, True])
def test_proofs_of_parts_are_checked_once(monkeypatch, labels) -> None:
    model = lattice_with_k5(2)
    state = pl.ground_state(pl.MarkovRandomField.from_ising(model) if labels else model)
    parts = state.certificate.proof if labels else state.certificate
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return energy_bounds.energy_bound(*arguments)

    monkeypatch.setattr(ground_state, "energy_bound", counted)
    report = check_result(pl.MarkovRandomField.from_ising(model) if labels else model, state)
    assert [finding.status for finding in report.findings] == ["recomputed"] * 2
    assert len(calls) == len(parts) == 2
