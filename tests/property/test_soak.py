"""Random models of every kind through every method: no contradiction, and one would be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.trials import seeds
from planaris.selftest import soak
from planaris.selftest.models import KINDS, Case

pytestmark = pytest.mark.usefixtures("ticking")


@pytest.mark.parametrize("part", seeds(2, 8))
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=list(KINDS))
def test_methods_agree(kind: int, part: int) -> None:
    seed = kind + part * len(KINDS)
    assert soak.soak_seed(seed).contradictions == [], seed


def spoil_edges(found: Any) -> Any:
    edges = np.array(found.edges)
    edges[-1] = np.nan
    return replace(found, edges=edges)


def spoil_energy(found: Any) -> Any:
    return replace(found, lower=found.lower + 1.0, upper=found.upper + 1.0)


def spoil_sum(found: Any) -> Any:
    return replace(found, upper=found.value - 1e-3, value=found.value - 1e-3)


@pytest.mark.parametrize(
    ("verb", "spoil"),
    [
        ("marginals", spoil_edges),
        ("ground_state", spoil_energy),
        ("log_partition", spoil_sum),
        ("sample", lambda found: np.where(np.arange(found.size).reshape(found.shape) % 2, 1, -1)),
    ],
)
def test_wrong_answers_are_seen(monkeypatch: pytest.MonkeyPatch, verb: str, spoil: Any) -> None:
    sound = getattr(soak, verb)
    monkeypatch.setattr(soak, verb, lambda *args, **options: spoil(sound(*args, **options)))
    model = pl.generate.spin_glass(3, np.random.default_rng(0))
    cold = Case("cold", model.with_couplings(100 * model.couplings))
    assert any(verb in fault for fault in soak.check_model(cold).contradictions)


REFUSED = (
    15,
    18,
    44,
    105,
    126,
    180,
    232,
    248,
    260,
    439,
    594,
    704,
    1165,
    1308,
    3755,
    5650,
    19826,
    40169,
    41051,
)
"""Honest answers whose proofs were refused: weights of 1e-28, gaps of 1e-12, no allowed state,
legs on a torus that found no pivot, a gap just wider than 1e-9 of the couplings, gaps of 1e-302
beside a constant of 1e6, fields with one state whose energy is a sum that rounds."""

FAULTS = (4283,)
"""Errors of other kinds than refusals: Pfaffians on a torus too different for a float."""


@pytest.mark.parametrize("seed", REFUSED + FAULTS)
def test_models_that_once_failed(seed: int) -> None:
    kind = list(KINDS)[seed % 11]  # there were eleven kinds then
    assert soak.check_model(KINDS[kind](np.random.default_rng([seed, 2026]))).contradictions == []
