"""Markov random fields through Ising solvers, where they are the same thing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from planaris.models import IsingModel, MarkovRandomField
from planaris.models.convert import mrf2ising
from planaris.result import AsIsing, GroundState


def via_ising(model: MarkovRandomField, solve: Callable[[IsingModel], GroundState]) -> GroundState:
    """Solve a field as an Ising model and state the answer in its labels."""
    ising, inverse = mrf2ising(model)
    found = solve(ising)
    labels = np.asarray(inverse.lift_states(found.spins), dtype=np.int64)
    lower = math.fsum([math.nextafter(found.lower, -math.inf), -inverse.error])
    if not found.exact or 2 * inverse.error > model.energy_tolerance:
        lower = min(lower, math.nextafter(float(model.energy(labels)), -math.inf))
    proof = None if found.certificate is None else AsIsing(found.certificate)
    return found.restated(model, labels, lower, certificate=proof)
