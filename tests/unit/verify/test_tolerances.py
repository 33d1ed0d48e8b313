"""The tolerances of docs/formats/certificate.md, from both sides."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planaris as pl
from planaris.errors import PlanarisError, VerificationError
from planaris.result import Bounds, MeanField, load_result
from planaris.result.files import digest
from planaris.verify import check_result
from planaris.verify.exactness import energy_tolerance, log_partition_tolerance
from planaris.verify.recompute.elimination import recompute

TRIANGLE = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.1, 2.3, -3.7], fields=[0.0, 0.5, 0.25])
WHOLE = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, 3.0])
LABELS = pl.MarkovRandomField.from_ising(TRIANGLE)
DENSE = pl.IsingModel(
    [(u, v) for u in range(6) for v in range(u)], np.random.default_rng(0).normal(size=15)
)


def passes(model: Any, result: Any, **options: Any) -> bool:
    try:
        return check_result(model, result, **options).proved
    except PlanarisError:
        return False


def forged(tmp_path: Path, result: Any, **changes: Any) -> Any:
    """Return a result after its file was changed and given a new digest."""
    result.save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_bytes())
    document["body"] |= changes
    document["sha256"] = digest(document["body"])
    (tmp_path / "r.json").write_text(json.dumps(document))
    return load_result(tmp_path / "r.json")


@pytest.mark.parametrize("method", ["mplp", "planar", "cycle-lp"])
def test_a_false_state_beside_true_labels_is_refused(method: str, tmp_path: Path) -> None:
    found = pl.ground_state(WHOLE, method, **({} if method == "planar" else {"prove": True}))
    assert passes(WHOLE, forged(tmp_path, found))
    for wrong in ([-1, 1, 1], [-s for s in found.spins.tolist()], []):
        with pytest.raises(VerificationError, match="`spins`"):
            check_result(WHOLE, forged(tmp_path, found, spins=wrong))
    with pytest.raises(VerificationError):
        check_result(WHOLE, forged(tmp_path, found, labels=[0, 1, 1]))


@pytest.mark.parametrize("model", [TRIANGLE, LABELS])
def test_energies(model: Any) -> None:
    found = pl.ground_state(model)
    terms = [*np.abs(TRIANGLE.couplings), *np.abs(TRIANGLE.fields), 0.0]
    allowed = 2 * 2.0**-53 * len(terms) * math.fsum(terms)
    for share, fine in ((0.9, True), (1.1, False)):
        energy = found.energy + share * allowed
        moved = replace(found, energy=energy, upper=energy)
        assert passes(model, moved) == fine
    energy = math.nextafter(-6.0, 0.0)
    state = pl.ground_state(WHOLE)
    assert passes(WHOLE, state)
    assert not passes(WHOLE, replace(state, energy=energy, upper=energy))


def test_a_forbidden_state_has_no_finite_energy() -> None:
    model = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [0.0, 3.0]])])
    found = pl.ground_state(model, "mplp")
    wrong = replace(found, assignment=np.array([1, 0]), spins=np.array([1, -1]))
    for recompute_too in (True, False):
        with pytest.raises(VerificationError, match="`energy` is claimed"):
            check_result(model, wrong, recompute=recompute_too)


@pytest.mark.parametrize(
    ("model", "method"),
    [(DENSE, "cycle-lp"), (DENSE, "mplp"), (DENSE, "local-lp"), (DENSE, "branch-and-cut")],
)
def test_lower_ends(model: Any, method: str) -> None:
    found = pl.ground_state(model, method, prove=True)
    allowed = energy_tolerance(model)
    # What the proof gives is found by moving the end.
    low, high = found.lower - 1.0, found.energy + 1.0
    if passes(model, replace(found, lower=found.energy - 3 * allowed), recompute=False):
        low = found.energy - 3 * allowed  # the gap is closed: all that is not above passes
        assert passes(model, replace(found, lower=found.energy), recompute=False)
        assert not passes(model, replace(found, lower=found.energy + 1e-12), recompute=False)
        return
    while high - low > allowed / 100:
        middle = (low + high) / 2
        fine = passes(model, replace(found, lower=middle, tolerance=-1.0), recompute=False)
        low, high = (middle, high) if fine else (low, middle)
    assert found.lower <= low <= found.lower + 1.1 * allowed


def test_exactness() -> None:
    found = pl.ground_state(DENSE, "treewidth")
    allowed = energy_tolerance(DENSE)
    assert found.tolerance == pytest.approx(allowed, rel=1e-12)
    assert passes(DENSE, replace(found, tolerance=allowed * (1 + 1e-13)))
    assert not passes(DENSE, replace(found, tolerance=allowed * (1 + 1e-11)))
    closed = pl.log_partition(DENSE)
    widest = log_partition_tolerance(DENSE)
    assert passes(DENSE, replace(closed, tolerance=widest))
    assert not passes(DENSE, replace(closed, tolerance=widest * 1.01))
    wide = {"lower": closed.value - 0.4 * widest, "upper": closed.value + 0.4 * widest}
    assert replace(closed, **wide).exact
    assert passes(DENSE, replace(closed, **wide))


def test_log_partitions_that_are_recomputed() -> None:
    chain = pl.IsingModel([(k, k + 1) for k in range(24)], np.linspace(-1.0, 1.0, 24))
    found = pl.log_partition(chain, "treewidth")
    again = recompute(chain, task="sum")
    assert again is not None
    assert again.slack <= 1e-11
    for share, fine in ((0.9, True), (1.1, False)):
        end = again.value + share * again.slack
        assert passes(chain, replace(found, lower=end, value=end, upper=end + 1)) == fine
        end = again.value - share * again.slack
        assert passes(chain, replace(found, upper=end, value=end, lower=end - 1)) == fine


def test_ends_that_are_proved() -> None:
    found = pl.log_partition(DENSE, "mean-field")
    assert isinstance(found.certificate, Bounds)
    assert isinstance(found.certificate.lower, MeanField)
    step = 1e-9
    assert passes(DENSE, found, recompute=False)
    worse = replace(found, lower=found.lower + step, value=found.lower + step)
    assert not passes(DENSE, worse, recompute=False)


def test_marginals_by_elimination(tmp_path: Path) -> None:
    found = pl.marginals(DENSE)
    again = recompute(DENSE, task="sum")
    assert again is not None
    allowed = found.error + 1e-12 + 4 * again.slack
    for at in range(DENSE.num_edges):
        for share, fine in ((0.9, True), (1.1, False)):
            edges = np.array(found.edges)
            edges[at] += share * allowed
            assert passes(DENSE, replace(found, edges=edges)) == fine
    edges = np.array(found.edges)
    edges[3] += 1e-8
    with pytest.raises(VerificationError):
        check_result(DENSE, forged(tmp_path, found, edges=edges.tolist()))


def test_marginals_by_a_random_sum() -> None:
    glass = pl.generate.spin_glass(30, np.random.default_rng(0), beta=0.5)
    found = pl.marginals(glass)
    assert passes(glass, found)
    # 12 (error + 1e-12) |weights|, and the error of the determinant, halved: |weights| < 2 sqrt(m).
    allowed = 12 * (found.error + 1e-12) * 2 * math.sqrt(glass.num_edges)
    for at in (0, 77, 500):
        for move in (1e-8, -1e-8, 1e-6):
            edges = np.array(found.edges)
            edges[at] += move
            if move > allowed:
                assert not passes(glass, replace(found, edges=edges))
        edges = np.array(found.edges)
        edges[at] += (found.error + 1e-12) / 2
        assert passes(glass, replace(found, edges=edges))
    assert allowed < 1e-8


def test_proofs_beside_huge_couplings_are_accepted() -> None:
    rng = np.random.default_rng(1)
    edges = [(u, v) for u in range(5) for v in range(u)]
    for power in (15, 17, 19, 22, 40, 200, 290):
        for k in range(6):
            couplings, fields = rng.normal(size=len(edges)), rng.normal(size=5)
            couplings[k] *= 10.0**power
            positive = pl.IsingModel(edges, np.abs(couplings), fields)
            signed = pl.IsingModel(edges, couplings, fields)
            for model, methods in ((positive, ("graph-cut", "qpbo")), (signed, ("qpbo", "mplp"))):
                for method in methods:
                    options = {"prove": True} if method == "mplp" else {}
                    found = pl.ground_state(model, method, **options)
                    statuses = [one.status for one in check_result(model, found).findings]
                    assert statuses[1] == "proved", (power, k, method)


@pytest.mark.parametrize("power", [190, 201, 250, 299])
@pytest.mark.parametrize("method", ["mplp", "branch-and-cut", "cycle-lp"])
def test_messages_of_any_size_are_accepted(method: str, power: int) -> None:
    rng = np.random.default_rng(0)
    tables = [
        ((u, v), rng.uniform(-1, 1, size=(3, 3)) * 10.0**power) for v in range(4) for u in range(v)
    ]
    model = pl.MarkovRandomField([3] * 4, tables, log=True)
    found = pl.ground_state(model, method, prove=True)
    assert passes(model, found)
    gap = found.energy - found.lower
    assert not passes(model, replace(found, lower=found.energy + 10.0 ** (power - 3)))
    assert gap <= 1e-9 * 10.0**power


@pytest.mark.parametrize("seed", [10, 45, 124])
def test_narrow_gaps_of_matchings_on_a_torus_are_granted_and_nothing_more(seed: int) -> None:
    """The least T-join is no state there, but costs less than what counts as exact."""
    torus = pl.embed.torus_lattice(3, 5)
    rng = np.random.default_rng(seed)
    is_tiny, tiny = rng.random(30) < 0.5, rng.choice([-1e-12, 1e-12], 30)
    couplings = np.where(is_tiny, tiny, rng.normal(size=30))
    model = pl.IsingModel(torus.edges, couplings)
    found = pl.ground_state(model, "planar", embedding=torus)
    assert found.exact
    assert found.gap > 1e-12
    assert passes(model, found)
    above = replace(found, lower=found.lower + found.gap / 4)
    assert above.exact
    assert not passes(model, above)
    assert not passes(model, replace(found, lower=found.energy))


@pytest.mark.parametrize("scale", [5e-7, 1.0, 1e5])
def test_proofs_about_labels_are_granted_the_tolerance_of_spins(scale: float) -> None:
    """A coupling is half as large as the range of its table."""
    rng = np.random.default_rng(3)
    edges = [(u, v) for u in range(5) for v in range(u)]
    model = pl.IsingModel(edges, scale * rng.normal(size=len(edges)))
    found = pl.ground_state(model, "mplp", prove=True)
    spins = np.array(found.spins)
    spins[0] *= -1
    energy = float(model.energy(spins))
    other = replace(found, spins=spins, assignment=(1 + spins) // 2, energy=energy, upper=energy)
    tau = model.energy_tolerance
    assert found.exact
    assert energy > found.energy + 10 * tau
    assert passes(model, replace(other, lower=found.lower + 0.5 * tau), recompute=False)
    assert not passes(model, replace(other, lower=found.lower + 1.5 * tau), recompute=False)
