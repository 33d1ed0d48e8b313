"""Ends of marginals with a proof, from windows so small that they need each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planaris.bounds import MarginalEnds
from planaris.bounds.attractive_domains import Holding, narrow_by_domains
from planaris.bounds.window_record import WindowRecord
from planaris.budget import Budget
from planaris.kernels.cuts import balance_signs
from planaris.kernels.frontier import Ends, WindowSizes, narrow_by_windows
from planaris.models import IsingModel
from planaris.result import Marginals

ROUNDS = ((1, 0.0), (2, 0.05), (2, 0.3), (3, 0.3))
"""Spins in the table, and what walls may be wrong."""

ROOM = 1e-9
"""For rounding."""


def ends_by_windows(model: IsingModel) -> Marginals:
    """Return ends of a model without frustration, and their middles as estimates.

    Examples
    --------
    >>> found = ends_by_windows(IsingModel([(0, 1), (1, 2)], 1.0, fields=[1.0, -0.5, 0.5]))
    >>> found.certificate.KIND
    'marginal-windows'
    """
    signs, cycle = balance_signs(model.num_spins, model.edges, model.couplings)
    assert not len(cycle), "no cycle is frustrated"
    turned = IsingModel(
        model.edges, np.abs(model.couplings), model.fields * signs, num_spins=model.num_spins
    )
    n, m = model.num_spins, model.num_edges
    known = Ends(np.zeros(n), np.ones(n), np.zeros(m), np.ones(m), np.zeros(m), np.ones(m))
    record, budget = WindowRecord.empty(n, m), Budget.of(None, threads=1)
    for bits, wall in ROUNDS:
        guess = (known.nodes_lower + known.nodes_upper) / 2
        sizes = WindowSizes(bits, bits, 3 * bits, bits, 1e-6, wall, 0.1)
        known, _ = narrow_by_windows(
            turned.edges,
            turned.couplings,
            turned.fields,
            known,
            guess,
            sizes,
            trace=record.add,
            budget=budget,
        )
    holding = Holding(0.3, 0.2)
    guess = (known.nodes_lower + known.nodes_upper) / 2
    known = narrow_by_domains(turned, known, guess, holding, budget, trace=record.add)
    low = np.where(signs > 0, known.nodes_lower, 1 - known.nodes_upper)
    high = np.where(signs > 0, known.nodes_upper, 1 - known.nodes_lower)
    ends = MarginalEnds.of_nodes(model, low, high).widened(ROOM)
    middles = Marginals(
        nodes=(ends.nodes_lower + ends.nodes_upper) / 2,
        edges=(ends.edges_lower + ends.edges_upper) / 2,
        proved=False,
        method="windows",
    )
    return replace(ends, certificate=record.proof(signs)).around(middles)
