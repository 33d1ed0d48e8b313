"""Exact samples of one vector of couplings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import MethodError
from planaris.kernels.pfaffian import Factorization
from planaris.kernels.spins import spins_from_disagreements
from planaris.planar.attempts import assigned_entries
from planaris.planar.evaluate import factorize
from planaris.typing import FloatArray, Int8Array

if TYPE_CHECKING:
    from planaris.planar.plan import Plan


def draw(
    plan: Plan, couplings: FloatArray, size: int, rng: np.random.Generator, **options: Any
) -> Int8Array:
    """Return ``size`` independent samples; see :meth:`planaris.planar.Plan.sample`."""
    entries = assigned_entries(plan, couplings, options["progress"])
    factors: dict[bool, Factorization | None] = {}
    result = np.empty((size, plan.num_spins), dtype=np.int8)
    component = plan.embedding.component_of
    for row in result:
        uniform = rng.random(plan._split.num_edges)
        flips = 1 - 2 * rng.integers(0, 2, plan.embedding.num_components, dtype=np.int8)
        for wide in (False, True):
            if not wide and not entries.in_double_range:
                continue
            if wide not in factors:
                factors[wide] = factorize(plan, entries, wide=wide, for_samples=True, **options)
            held = factors[wide]
            if held is None:
                continue
            cut, undecided = held.sample(uniform, **options)
            turned, contradiction = spins_from_disagreements(plan.num_spins, plan._split.edges, cut)
            # Edges around a face are cut an even number of times: a contradiction shows
            # that rounding has decided an edge.
            if contradiction < 0 and undecided == 0:
                break
        else:
            msg = (
                "at this temperature a sample would be decided by rounding, even in "
                "double-double; raise the temperature"
            )
            raise MethodError(msg)
        row[:] = turned * entries.spins * flips[component]
    return result
