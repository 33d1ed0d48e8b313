"""Exact samples of images: attractive grids in a field, which are not planar."""

from __future__ import annotations

import numpy as np

from planaris.budget import Budget
from planaris.play.scenes import Scene
from planaris.sampling.coupling_from_the_past import bound_probabilities
from planaris.typing import Array

MAX_SWEEPS = 4096
"""How far into the past to start at most; the time limit comes first on all but small images."""


def is_attractive_image(scene: Scene) -> bool:
    """Whether the model is an image as it was read, with no coupling below zero."""
    plain = scene.kind == "image" and scene.num_added == 0
    return plain and bool(np.all(scene.model.couplings >= 0))


def sample_image(scene: Scene, seed: int, *, time_limit: float) -> Array | None:
    """Return one exact sample by coupling from the past; None where the chains do not meet in time.

    Parameters
    ----------
    scene : Scene
        An attractive image at temperature one.
    seed : int
        The sample is a function of it.
    time_limit : float
        Seconds.

    Examples
    --------
    >>> from planaris.play.scenes import build_scene
    >>> white = {"kind": "image", "rows": 1, "columns": 3, "grey": "////", "data": 10.0}
    >>> sample_image(build_scene({"source": white}), 1, time_limit=5.0).tolist()
    [1, 1, 1]
    """
    assert scene.shape is not None, "images have a shape"
    rows, columns = scene.shape
    across = rows * max(columns - 1, 0)
    couplings = scene.model.couplings
    try:
        low, high = bound_probabilities(
            scene.model.fields.reshape(rows, columns),
            couplings[:across].reshape(rows, max(columns - 1, 0)),
            couplings[across:].reshape(max(rows - 1, 0), columns),
            num_samples=1,
            max_sweeps=MAX_SWEEPS,
            seed=seed,
            progress=Budget(time_limit).poller(),
        )
    except TimeoutError:
        return None
    if not np.array_equal(low, high):
        return None
    return np.where(low.ravel() > 0, 1, -1).astype(np.int8)
