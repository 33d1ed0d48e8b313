"""Bounds as methods: what they estimate, and what they refuse."""

import pytest

import planaris as pl
from planaris.errors import InfeasibleError


@pytest.mark.parametrize("method", ["logdet", "pdc"])
@pytest.mark.parametrize(
    "factors",
    [
        [((), [0.0]), ((0, 1), [[1.0, 2.0], [3.0, 4.0]])],
        [((0,), [1.0, 2.0]), ((0,), [0.0, 0.0]), ((0, 1), [[1.0, 2.0], [3.0, 4.0]])],
    ],
)
def test_models_without_states_have_no_marginals(method, factors):
    mrf = pl.MarkovRandomField([2, 2], factors)
    with pytest.raises(InfeasibleError, match="no marginals"):
        pl.marginals(mrf, method)
