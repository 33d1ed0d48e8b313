"""Failing models are made smaller and written where they can be run again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from planaris.io import read_model
from planaris.models import IsingModel, MarkovRandomField
from planaris.selftest.models import KINDS, Case, make_case
from planaris.selftest.shrink import shrink, write_failure


def test_a_negative_triangle_is_all_that_is_left() -> None:
    case = Case("by hand", IsingModel([(0, 1), (1, 2), (2, 0), (2, 3)], [-0.7, -0.2, -3.3, 5.0]))

    def fails(attempt: Case) -> bool:
        model = attempt.model
        assert isinstance(model, IsingModel)
        return int(np.count_nonzero(model.couplings < 0)) >= 3

    small = shrink(case, fails).model
    assert isinstance(small, IsingModel)
    assert (small.num_spins, small.couplings.tolist()) == (3, [-1.0, -1.0, -1.0])


def test_a_field_loses_what_does_not_matter() -> None:
    model = MarkovRandomField([2, 3, 2], [((0, 1), np.ones((2, 3))), ((2,), [0.0, 1.0])])
    small = shrink(Case("by hand", model), lambda c: bool(c.model.has_zeros)).model  # type: ignore[union-attr]
    assert isinstance(small, MarkovRandomField)
    assert (small.num_variables, small.num_factors) == (1, 1)


def test_failures_can_be_read_back(tmp_path: Path) -> None:
    for model in (IsingModel([(0, 1)], [0.1]), MarkovRandomField([3], [((0,), [0.0, 1.0, 2.0])])):
        path = write_failure(Case("x", model), ["wrong"], tmp_path, f"f{type(model).__name__}")
        assert "wrong" in path.with_suffix(".txt").read_text()
        assert isinstance(read_model(path), type(model))


def test_seeds_reach_every_kind_and_repeat() -> None:
    first = [make_case(seed) for seed in range(len(KINDS))]
    assert [case.kind for case in first] == list(KINDS)
    for seed, case in enumerate(first):
        assert repr(make_case(seed).model) == repr(case.model)
