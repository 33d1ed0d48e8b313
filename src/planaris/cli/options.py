"""Options that several sub-commands share, how they read and how they print."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import typer

from planaris.errors import PlanarisError
from planaris.io import read_evidence, read_model
from planaris.io.files import write_text
from planaris.io.model_files import READERS
from planaris.methods.registry import Verb, method_names
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.condition import Conditioning

ModelFile = Annotated[str, typer.Argument(metavar="FILE", help="Model file; '-' for stdin.")]
Evidence = Annotated[str | None, typer.Option(metavar="FILE", help="UAI evidence file.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"If the name of the file does not tell: {', '.join(READERS)}.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Return what is proved by then; default: 60 for bounds."),
]
Out = Annotated[
    str, typer.Option("--out", "-o", metavar="FILE", help="Write the result here, not to stdout.")
]

Certificate = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write the result with its proof, for 'planaris verify'."),
]

VERB_OF: dict[str, Verb] = {
    "map": "ground_state",
    "pr": "log_partition",
    "mar": "marginals",
    "sample": "sample",
}
"""The verb behind each command that takes ``--method``."""


def method_option(command: str) -> Any:
    """Return the option ``--method`` of a command, with what it may be."""
    known = ", ".join(name for name in method_names(VERB_OF[command]) if name != "auto")
    said = f"Force a method instead of choosing by structure: {known}."
    return typer.Option(metavar="METHOD", help=said)


EXIT_BOUNDED = 3
"""Exit code when only an interval could be given."""


def load(
    file: str, format: str | None, evidence: str | None
) -> tuple[IsingModel | MarkovRandomField, Conditioning | None]:
    """Read a model; return it under its evidence, and the way back to all variables."""
    model = read_model(file, format=format)
    if evidence is None:
        return model, None
    if isinstance(model, IsingModel):
        msg = f"`--evidence` needs a UAI model, but {file} holds an Ising model"
        raise PlanarisError(msg)
    return model.condition(read_evidence(evidence))


def names_of(
    model: IsingModel | MarkovRandomField, inverse: Conditioning | None
) -> dict[str, list[str]]:
    """Return the names of all variables for ``--json``, where the file had names."""
    labels = model.labels if inverse is None else inverse.original.labels
    return {} if isinstance(labels, range) else {"names": [str(label) for label in labels]}


def print_json(values: dict[str, Any], out: str = "-") -> None:
    """Print a JSON object to stdout or a file; arrays become lists, infinities strings."""
    write_text(out, json.dumps(_plain(values), indent=2, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return repr(value)
