"""Intervals around the least energy of models that are planar but for a few added edges.

An edge with coupling J moves every energy by at most |J|: the least one lies within Σ|J| of that
of the rest, which is exact.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.infer import ground_state
from planaris.play.scenes import Scene
from planaris.result import GroundState

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
    lower = math.nextafter(rest.lower - added_weight(scene), -math.inf)
    return GroundState.of(scene.model, rest.spins, lower, method=NAME), rest
