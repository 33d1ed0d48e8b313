"""Fields beside which others are lost in sums of doubles, and labels that count for nothing."""

import numpy as np
import pytest

import planaris as pl
from planaris.errors import PrecisionError
from planaris.models import IsingModel, MarkovRandomField


@pytest.mark.parametrize("strong", [400.0, 1e3, 1e9, 1e17, 1e300])
def test_a_strong_field_hides_nothing_of_its_neighbours(strong: float) -> None:
    model = IsingModel(
        [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)],
        [32.6, 0.4, -0.3, -0.2, -0.22, -0.65],
        fields=[strong, 0.3, 0.0, -strong],
    )
    found, exact = pl.marginals(model, "tensor-network"), pl.marginals(model, "brute-force")
    assert np.abs(found.nodes - exact.nodes).max() <= found.error + exact.error
    assert np.abs(found.edges - exact.edges).max() <= found.error + exact.error


def test_constants_and_tables_that_cancel() -> None:
    tables = [((), 1e17), ((), 1.0), ((), -1e17), ((0,), [1e9, 1e9 + 1.0]), ((), -1e9)]
    model = MarkovRandomField([2, 2], [*tables, ((0, 1), [[0.0, 1.0], [2.0, 0.0]])], log=True)
    truth = 1.0 + np.log(1.0 + np.exp(1.0) + np.exp(3.0) + np.exp(1.0))
    found = pl.log_partition(model, "tensor-network")
    assert found.lower <= truth <= found.upper
    assert found.gap < 1e-5


def test_labels_that_edges_may_decide_for_are_refused() -> None:
    # The field alone wants +1 by 2,000, the four couplings -1 by 2,400.
    star = IsingModel([(0, v) for v in range(1, 5)], [-300.0] * 4, [1000.0, *[1e4] * 4])
    with pytest.raises(PrecisionError, match="variable 0 differ by 2000"):
        pl.marginals(star, "tensor-network")
    # The likelier label is forbidden.
    forbidden = MarkovRandomField(
        [2, 2], [((0,), [1e17, 0.0]), ((0, 1), [[-np.inf, -np.inf], [0.0, 1.0]])], log=True
    )
    with pytest.raises(PrecisionError, match="variable 0"):
        pl.log_partition(forbidden, "tensor-network")
