"""Walks through the code stay short: docs/architecture.md says which modules a call enters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

import planaris as pl
from planaris.learn import PlanarCRF

GLASS = pl.generate.spin_glass(30, np.random.default_rng(0))


def entered(call: Callable[[], object]) -> set[str]:
    """Return the modules of the package that a call enters, once all are imported."""
    call()
    modules: set[str] = set()

    def see(frame: FrameType, event: str, _argument: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("planaris."):
            modules.add(name)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(before)
    return modules


def fit() -> object:
    rng = np.random.default_rng(0)
    masks = [np.where(rng.random((12, 12)) < 0.5, -1, 1) for _ in range(2)]
    return PlanarCRF().fit([m + 0.5 * rng.normal(size=m.shape) for m in masks], masks)


@pytest.mark.parametrize(
    ("call", "most"),
    [
        pytest.param(lambda: pl.ground_state(GLASS), 11, id="ground state"),
        pytest.param(lambda: pl.marginals(GLASS), 18, id="marginals"),
        pytest.param(fit, 16, id="fit of a CRF"),
    ],
)
def test_calls_enter_few_modules(call, most):
    modules = entered(call)
    assert "planaris.budget" in modules
    assert len(modules) <= most, sorted(modules)
