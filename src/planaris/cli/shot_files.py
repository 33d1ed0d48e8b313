"""Shots in the file formats of stim, for the commands that decode them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planaris.errors import FileFormatError, PlanarisError

if TYPE_CHECKING:
    from planaris.typing import Array

FORMATS = ("01", "b8", "r8", "ptb64", "hits", "dets")

Dem = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Detector error model, or circuit (.stim).")
]
Shots = Annotated[Path, typer.Argument(metavar="SHOTS", help="Detection events, as stim writes.")]
ShotFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT", help=f"If the name of SHOTS does not tell: {', '.join(FORMATS)}."
    ),
]


def format_of(path: Path, given: str | None, option: str) -> str:
    """Return the format of a file by what was said, or by its name."""
    found = given if given is not None else path.suffix.removeprefix(".")
    if found not in FORMATS:
        msg = f"`{option}` must be one of {', '.join(FORMATS)}, got {found!r} for {path}"
        raise PlanarisError(msg)
    return found


def read_shots(path: Path, given: str | None, num_detectors: int) -> Array:
    """Return bit-packed detection events."""
    import numpy as np

    from planaris.interop.stim import require_stim

    stim = require_stim()
    kind = format_of(path, given, "--shot-format")
    with path.open("rb"):
        pass  # an OSError says more than stim does
    try:
        found: Array = stim.read_shot_data_file(
            path=str(path), format=kind, num_detectors=num_detectors, bit_packed=True
        )
    except ValueError as error:
        reason = (str(error).strip().splitlines() or ["stim did not say why"])[0]
        msg = f"{path} must hold shots of {num_detectors} detectors in format {kind}: {reason}"
        raise FileFormatError(msg, line=None) from None
    return np.ascontiguousarray(found)


def write_predictions(path: Path, given: str | None, predictions: Any) -> None:
    """Write predicted observables in a format of stim."""
    from planaris.interop.stim import require_stim

    stim = require_stim()
    kind = format_of(path, given, "--out-format")
    stim.write_shot_data_file(
        data=predictions, path=str(path), format=kind, num_observables=predictions.shape[1]
    )
