"""Trained CRFs as ``.npz`` files: numbers and JSON text, no code."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import FileFormatError, ModelError
from planaris.learn.optimize import Training
from planaris.writing import open_whole

if TYPE_CHECKING:
    from planaris.learn.crf import PlanarCRF

FORMAT = "planaris-crf-1"
HISTORY = ("seconds", "objective", "upper", "lower")
NAMES = (
    *("format", "parameters", "classes", "coef", "bounds", "history_weights"),
    *(f"history_{name}" for name in HISTORY),
)
SKIPPED = ("progress", "device")
"""Parameters that say how to run, not what was learned."""


def save_crf(crf: PlanarCRF, path: str | os.PathLike[str]) -> None:
    """Write a trained CRF; see :meth:`PlanarCRF.save`."""
    if not hasattr(crf, "coef_"):
        msg = "only a trained CRF can be saved: call `fit` first"
        raise ModelError(msg)
    parameters = {k: v for k, v in crf.get_params().items() if k not in SKIPPED}
    parameters["features"] = list(parameters["features"])
    try:
        text = json.dumps(parameters, allow_nan=False)
    except (TypeError, ValueError) as error:
        msg = f"only parameters of numbers and names can be saved: {error}"
        raise ModelError(msg) from error
    trained = crf.training_
    arrays: dict[str, Any] = {
        "format": np.array(FORMAT),
        "parameters": np.array(text),
        "classes": crf.classes_,
        "coef": crf.coef_,
        "bounds": np.array([trained.objective, trained.lower, float(trained.converged)]),
        "history_weights": np.array([h["weights"] for h in trained.history]),
    }
    for name in HISTORY:
        arrays[f"history_{name}"] = np.array([h[name] for h in trained.history])
    with open_whole(path) as file:
        np.savez(file, **arrays)


def load_crf(kind: type[PlanarCRF], path: str | os.PathLike[str]) -> PlanarCRF:
    """Read a trained CRF; see :meth:`PlanarCRF.load`."""
    try:
        values = _read_arrays(path)
        if str(values["format"]) != FORMAT:
            _refuse(path, f"format {values['format']}, not {FORMAT}")
        parameters = json.loads(str(values["parameters"]))
        parameters["features"] = tuple(parameters["features"])
        crf = kind(**parameters)
        objective, lower, converged = values["bounds"].tolist()
        columns = [values[f"history_{name}"].tolist() for name in HISTORY]
        history = [
            {"round": k, **dict(zip(HISTORY, row, strict=True)), "weights": weights}
            for k, (*row, weights) in enumerate(
                zip(*columns, values["history_weights"], strict=True)
            )
        ]
        weights = np.asarray(values["coef"], dtype=np.float64)
        if weights.ndim != 1 or not np.isfinite(weights).all() or values["classes"].shape != (2,):
            _refuse(path, "weights or classes of another shape")
    except (FileFormatError, FileNotFoundError):
        raise
    except Exception as error:  # NumPy and zipfile raise whatever they trip over
        # NumPy's own words advise to unpickle the file: they are kept out of sight.
        _refuse(path, "something else", error)
    crf.coef_, crf.classes_ = weights, values["classes"]
    crf.n_features_in_ = len(weights)
    crf.training_ = Training(weights, objective, lower, bool(converged), history)
    return crf


def _read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a file, which holds them as they are: nothing in it can expand."""
    with zipfile.ZipFile(path) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            _refuse(path, "a compressed file")
    with np.load(path, allow_pickle=False) as stored, warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of headers that `save_crf` does not write
        return {name: stored[name] for name in NAMES}


def _refuse(path: str | os.PathLike[str], found: str, cause: Exception | None = None) -> Any:
    msg = f"{os.fspath(path)}: expected a CRF written by `PlanarCRF.save`, got {found}"
    raise FileFormatError(msg, path=os.fspath(path), line=None) from cause
