"""Facts about a detector error model for ``planaris info``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planaris.decode.coset import CosetModel
from planaris.decode.graph import matching_graph
from planaris.decode.model import ErrorModel
from planaris.errors import NotMatchableError, NotPlanarError
from planaris.interop.stim import read_detector_error_model


def describe_dem(path: Path) -> dict[str, Any]:
    """Return sizes, whether the decoding graph is planar and why not, and which decoders fit."""
    dem = read_detector_error_model(path)
    model = ErrorModel.from_stim(dem)
    likely = [m.probability for m in model.mechanisms]
    facts: dict[str, Any] = {
        "kind": "DetectorErrorModel",
        "detectors": model.num_detectors,
        "observables": model.num_observables,
        "mechanisms": len(likely),
        "least_probability": min(likely, default=0.0),
        "largest_probability": max(likely, default=0.0),
        "silent_detectors": len(model.silent_detectors()),
    }
    decoders = []
    try:
        parts = read_detector_error_model(path, decompose=True)  # as the decoder reads a circuit
        facts["edges"] = len(matching_graph(ErrorModel.from_stim(parts, split=True)).edges)
        facts["matchable"] = True
        decoders.append("matching")
    except NotMatchableError as error:
        facts["matchable"], facts["reason"] = False, str(error)
    if facts["matchable"]:
        reason = _why_not_planar(model)
        facts["planar"] = reason is None
        if reason is None:
            decoders.append("ml (exact)")
        else:
            facts["reason"] = reason
    facts["decoders"] = decoders
    return facts


def _why_not_planar(model: ErrorModel) -> str | None:
    observables: list[int | None] = [*range(model.num_observables)] or [None]
    for observable in observables:
        try:
            model.require_matchable()
            CosetModel(model, observable)
        except (NotPlanarError, NotMatchableError) as error:
            return f"observable {observable}: {error}"
    return None
