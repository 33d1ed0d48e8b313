"""External fields as couplings to a bias spin."""

from __future__ import annotations

import pytest

from planaris.models import IsingModel, fields2bias


@pytest.mark.parametrize("labels", [None, list("abcd"), ["bias", "bias_", 7, (1, 2)]])
@pytest.mark.parametrize("all_spins", [False, True])
def test_models_with_a_bias_spin_are_those_that_checked_arguments_give(labels, all_spins) -> None:
    """The arrays of the new model are not checked again: they must be what checks would leave."""
    model = IsingModel(
        [(2, 0), (0, 1)], [0.5, -1e200], [0.0, -0.0, 2.0, 5e-324], offset=3.0, labels=labels
    )
    new, _ = fields2bias(model, all_spins=all_spins)
    checked = IsingModel(
        new.edges,
        new.couplings,
        num_spins=5,
        offset=3.0,
        labels=None if labels is None else new.labels,
    )
    assert new == checked
    assert new.labels == checked.labels
    for name in ("edges", "couplings", "fields"):
        mine, its = getattr(new, name), getattr(checked, name)
        assert (mine.dtype, mine.flags.writeable) == (its.dtype, its.flags.writeable)
        assert mine.flags.c_contiguous
