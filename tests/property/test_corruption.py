"""Change any number of a saved result: the change is noticed, or what is claimed is still true."""

from __future__ import annotations

import pytest

from helpers.trials import trials
from planaris.selftest.tampering.corruption import KINDS, corrupt_kind


@pytest.mark.parametrize("count", [trials(12, 60), pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_number_is_refused(kind: str, count: int) -> None:
    outcomes = list(corrupt_kind(kind, count))
    assert len(outcomes) == count
    assert [fault for fault in outcomes if fault is not None] == []
