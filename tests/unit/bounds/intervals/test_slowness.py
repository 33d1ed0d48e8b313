"""How slow the machine is, as a search for intervals sees it."""

from __future__ import annotations

import numpy as np

import planaris as pl
from planaris.bounds.best_interval import BestInterval
from planaris.bounds.intervals.search import _Search
from planaris.budget import Budget, use_clock
from planaris.subgraphs.bias_model import as_bias_model


def test_time_that_others_had_before_does_not_count() -> None:
    """Strips were left out of log Z beside marginals, which had most of the time already."""
    now = 0.0
    with use_clock(lambda: now):
        budget = Budget(60.0)
        now = 51.0
        model = pl.IsingModel(pl.generate.square_lattice(6).edges, 0.5, fields=np.ones(36))
        search = _Search(
            as_bias_model(model), BestInterval(budget), np.random.default_rng(0), strips=True
        )
        assert search.slowness() == 1.0
