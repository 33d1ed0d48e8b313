"""Energy, entropy and specific heat over temperature, and the model as a file."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from planaris.errors import PlanarisError
from planaris.infer import thermodynamics
from planaris.io import write_model
from planaris.play.scenes import Scene

TIME_LIMIT = 4.0
"""Seconds for all temperatures."""

MAX_SPINS = 2500
"""Larger models have no curves; one temperature takes them long enough."""

TEMPERATURES = np.geomspace(0.3, 5.0, 14)


def find_curves(scene: Scene) -> dict[str, Any]:
    """Return what a model does over temperature, per spin; nothing where that is not exact."""
    model = scene.model
    if not 0 < model.num_spins <= MAX_SPINS or (scene.plane is None and scene.handles is None):
        return {"temperatures": []}
    try:
        sweep = thermodynamics(
            model,
            1.0 / TEMPERATURES,
            embedding=scene.handles,
            time_limit=TIME_LIMIT,
            progress=False,
        )
    except (PlanarisError, TimeoutError):
        return {"temperatures": []}
    kept = sweep.exact & np.isfinite(sweep.specific_heat)
    names = ("energy", "entropy", "specific_heat")
    return {
        "temperatures": TEMPERATURES[kept].tolist(),
        **{name: (getattr(sweep, name)[kept] / model.num_spins).tolist() for name in names},
    }


def write_file(scene: Scene) -> dict[str, str]:
    """Return the model as the text of a file: an edge list, or .coo where there are fields."""
    model = scene.model
    format, suffix = ("coo", "coo") if model.has_fields else ("edge-list", "edges")
    text = io.StringIO()
    write_model(model, text, format=format)
    return {"name": f"model.{suffix}", "text": text.getvalue()}
