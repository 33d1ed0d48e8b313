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

MAX_OTHER_SPINS = 60
"""Larger models that are neither planar nor nearly so have no curves either."""

TEMPERATURES = np.geomspace(0.3, 5.0, 14)


def find_curves(scene: Scene) -> dict[str, Any]:
    """Return what a model does over temperature, per spin; nothing where that is not exact."""
    model = scene.model
    if not 0 < model.num_spins <= MAX_SPINS:
        return _none(f"curves over temperature are for models of up to {MAX_SPINS:,} spins")
    if scene.plane is None and scene.handles is None and model.num_spins > MAX_OTHER_SPINS:
        return _none("curves over temperature are for models that are planar or nearly so")
    try:
        sweep = thermodynamics(
            model,
            1.0 / TEMPERATURES,
            embedding=scene.handles,
            time_limit=TIME_LIMIT,
            progress=False,
        )
    except (PlanarisError, TimeoutError):
        return _none("no curves over temperature in time")
    kept = sweep.exact & np.isfinite(sweep.specific_heat)
    if kept.sum() < 2:
        return _none("curves over temperature are for models that are solved exactly")
    names = ("energy", "entropy", "specific_heat")
    return {
        "temperatures": TEMPERATURES[kept].tolist(),
        **{name: (getattr(sweep, name)[kept] / model.num_spins).tolist() for name in names},
    }


def _none(reason: str) -> dict[str, Any]:
    return {"temperatures": [], "reason": reason}


def write_file(scene: Scene) -> dict[str, str]:
    """Return the model as the text of a file: an edge list, or .coo where there are fields."""
    model = scene.model
    format, suffix = ("coo", "coo") if model.has_fields else ("edge-list", "edges")
    text = io.StringIO()
    write_model(model, text, format=format)
    return {"name": f"model.{suffix}", "text": text.getvalue()}
