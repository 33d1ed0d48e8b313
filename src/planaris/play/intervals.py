"""Intervals for models that are planar but for a few added edges.

An edge with coupling J moves every log weight by at most |J|. Left out, it moves the least
energy and log Z by no more: both lie within Σ|J| of those of the rest, which are exact.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.infer import ground_state, log_partition
from planaris.play.scenes import Scene
from planaris.result import GroundState, LogPartition

NAME = "added edges left out"


def added_weight(scene: Scene) -> float:
    """Return Σ|J| of the edges that were added, rounded up."""
    added = scene.model.couplings[scene.model.num_edges - scene.num_added :]
    return math.nextafter(math.fsum(np.abs(added)), math.inf) if scene.num_added else 0.0


def energy_interval(scene: Scene, **options: object) -> tuple[GroundState, GroundState] | None:
    """Bound the least energy; also return the ground state of the rest, which has the proof.

    None where no edge was added or the rest is not planar either.

    Examples
    --------
    >>> from planaris.play.scenes import build_scene
    >>> square = {"source": {"kind": "square", "rows": 3}, "edits": [[0, 8, -2.0], [2, 6, 1.0]]}
    >>> bounded, rest = energy_interval(build_scene(square))
    >>> rest.exact, round(bounded.upper - bounded.lower, 6) <= 6.0
    (True, True)
    """
    before = scene.without_added
    if not scene.num_added or before.plane is None:
        return None
    rest = ground_state(before.model, **options)  # type: ignore[arg-type]
    energy = float(scene.model.energy(rest.spins))
    lower = min(energy, math.nextafter(rest.lower - added_weight(scene), -math.inf))
    bounded = GroundState(rest.spins, energy, lower, energy, lower == energy, NAME, rest.stats)
    return bounded, rest


def log_partition_interval(scene: Scene, **options: object) -> LogPartition | None:
    """Bound log Z; None where no edge was added or the rest is not planar either.

    Examples
    --------
    >>> from planaris.play.scenes import build_scene
    >>> square = {"source": {"kind": "square", "rows": 3}, "edits": [[0, 8, -2.0], [2, 6, 1.0]]}
    >>> found = log_partition_interval(build_scene(square))
    >>> round(found.upper - found.lower, 6)
    6.0
    """
    before = scene.without_added
    if not scene.num_added or before.plane is None:
        return None
    rest = log_partition(before.model, **options)  # type: ignore[arg-type]
    weight = added_weight(scene)
    lower = math.nextafter(rest.lower - weight, -math.inf)
    upper = math.nextafter(rest.upper + weight, math.inf)
    return LogPartition(rest.value, lower, upper, False, NAME, rest.stats)
