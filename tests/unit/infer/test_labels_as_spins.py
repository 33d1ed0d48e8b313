"""Markov random fields of two labels whose logarithms are lost in couplings of spins."""

import numpy as np
import pytest

import planaris as pl
from planaris import MarkovRandomField
from planaris.errors import PlanarisError
from planaris.methods.registry import method_names
from planaris.verify import check_result

pytestmark = pytest.mark.usefixtures("ticking")


@pytest.mark.parametrize("size", [1e3, 1e12, 1e17, 1e300])
@pytest.mark.parametrize("method", method_names("marginals"))
def test_marginals_say_what_the_conversion_cost(method: str, size: float) -> None:
    tables = [((0, 1), [[1.0, size], [-1.0, 0.5]]), ((1, 2), [[0.0, -size], [1.0, 0.3]])]
    mrf = MarkovRandomField([2, 2, 2], [*tables, ((0, 2), [[0.2, 0.0], [0.0, 0.7]])], log=True)
    exact = pl.marginals(mrf, "brute-force")
    try:
        found = pl.marginals(mrf, method, time_limit=3.0)
    except PlanarisError:
        return
    off = [np.abs(a - b).max() for a, b in zip(found.nodes, exact.nodes, strict=True)]
    off += [np.abs(a - b).max() for a, b in zip(found.edges, exact.edges, strict=True)]
    assert max(off) <= found.error + exact.error
    for table in (*found.nodes, *found.edges):
        assert table.min() >= 0.0
        assert abs(table.sum() - 1.0) < 1e-9
    assert check_result(mrf, found)


def test_estimates_that_do_not_fit_together_become_tables_that_do() -> None:
    tables = [((2, 1), [[-1 / 3, 1.0], [-1 / 3, 0.0]]), ((2, 0), [[-0.51, -1.14], [-1.2, -0.94]])]
    mrf = MarkovRandomField([2, 2, 2], [*tables, ((1,), [5e-5, -3374324639805990.5])], log=True)
    for method in ("trw", "clamped"):
        found = pl.marginals(mrf, method, time_limit=3.0)
        for table in found.edges:
            assert abs(table.sum() - 1.0) < 1e-9
