"""Options that several sub-commands share, how they read and how they print."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planaris.cli.method_names import METHOD_NAMES
from planaris.errors import PlanarisError

if TYPE_CHECKING:
    from planaris.methods.registry import Verb
    from planaris.models import IsingModel, MarkovRandomField
    from planaris.models.condition import Conditioning

if TYPE_CHECKING:
    from collections.abc import Sequence

ModelFile = Annotated[str, typer.Argument(metavar="FILE", help="Model file; '-' for stdin.")]
Evidence = Annotated[str | None, typer.Option(metavar="FILE", help="UAI evidence file.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Format of the file, if its name does not tell: {formats}.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Stop then, with what is proved; default: 60 for bounds."),
]
Out = Annotated[
    str, typer.Option("--out", "-o", metavar="FILE", help="Write the result here, not to stdout.")
]

Genus = Annotated[
    int | None,
    typer.Option(
        "--genus",
        metavar="GENUS",
        min=0,
        help="Look for a surface with up to this many handles; T-joins find ground states on it, "
        "4^GENUS Pfaffians are exact. Periodic lattices, numbered by rows, are found without it.",
    ),
]

Prove = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="Prove what Pfaffians and tensor networks estimate, where that can be; slower.",
    ),
]

Certificate = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write the result with its proof, for 'planaris verify'."),
]

FORMATS = ("uai", "uai-log", "maxcut", "edge-list", "coo", "qubo", "bq", "bqm")
"""What :func:`planaris.io.read_model` reads; named here so that help needs no reader."""

VERB_OF: dict[str, Verb] = {
    "map": "ground_state",
    "pr": "log_partition",
    "mar": "marginals",
    "sample": "sample",
}
"""The verb behind each command that takes ``--method``."""


def method_option(command: str) -> Any:
    """Return the option ``--method`` of a command; :func:`fill_help` says what it may be."""
    assert command in VERB_OF, "the commands with methods are the verbs"
    said = "Force a method instead of choosing by structure: {methods}."
    # Where a metavar is the name of its option, typer 0.27.2 loses the option unless it is named.
    return typer.Option("--method", metavar="METHOD", help=said, autocompletion=_complete_method)


def fill_help(command: str | None, text: str) -> str:
    """Return a help text with its lists filled in; they are looked up when help is printed.

    >>> fill_help("map", "One of {formats}.")
    'One of uai, uai-log, maxcut, edge-list, coo, qubo, bq, bqm.'
    """
    text = text.replace("{formats}", ", ".join(FORMATS))
    if "{methods}" in text:
        text = text.replace("{methods}", ", ".join(_methods_of(command)))
    return text


def _methods_of(command: str | None) -> list[str]:
    return [name for name in METHOD_NAMES[command or ""] if name != "auto"]


def _complete_method(ctx: typer.Context) -> list[str]:
    return ["auto", *_methods_of(ctx.info_name)]


EXIT_BOUNDED = 3
"""Exit code when only an interval could be given."""


def load(
    file: str, format: str | None, evidence: str | None
) -> tuple[IsingModel | MarkovRandomField, Conditioning | None]:
    """Read a model; return it under its evidence, and the way back to all variables."""
    from planaris.io import read_evidence, read_model
    from planaris.models import IsingModel

    if format is None:
        _refuse_evidence(file)
    model = read_model(file, format=format)
    if evidence is None:
        return model, None
    if isinstance(model, IsingModel):
        msg = f"`--evidence` needs a UAI model, but {file} holds an Ising model"
        raise PlanarisError(msg)
    return model.condition(read_evidence(evidence))


def find_surface(model: Any, genus: int | None) -> Any:
    """Return the embedding that ``--genus`` asks for, or None without it."""
    if genus is None:
        return None
    from planaris.embed import low_genus_embedding
    from planaris.errors import MethodError
    from planaris.models import IsingModel, fields2bias
    from planaris.models.convert import IsingForm
    from planaris.reductions.parts import split_model

    ising = model if isinstance(model, IsingModel) else IsingForm.apply(model).model
    bare = fields2bias(ising)[0] if ising.has_fields else ising
    if all(part.is_plane for part in split_model(ising).parts):
        return None
    found = low_genus_embedding(bare.edges, bare.num_spins, genus)
    if found is None:
        msg = (
            f"no embedding of genus {genus} or less was found; fields on many spins count as "
            "edges to one more spin. Allow more with `--genus`, or leave it out"
        )
        raise MethodError(msg)
    return found.embedding


def names_of(
    model: IsingModel | MarkovRandomField, inverse: Conditioning | None
) -> dict[str, list[str]]:
    """Return the names of all variables for ``--json``, where the file had names."""
    labels = model.labels if inverse is None else inverse.original.labels
    return {} if isinstance(labels, range) else {"names": [str(label) for label in labels]}


def print_json(values: dict[str, Any], out: str = "-") -> None:
    """Print a JSON object to stdout or a file; arrays become lists, infinities strings."""
    from planaris.io.files import write_text

    write_text(out, _as_text(_plain(values)) + "\n")


def _as_text(value: Any, indent: str = "") -> str:
    """Return JSON with a line for each member of an object, and rows of numbers in one line.

    >>> print(_as_text({"spins": [1, -1], "states": [[1, 1], [-1, 1]]}))
    {
      "spins": [1, -1],
      "states": [
        [1, 1],
        [-1, 1]
      ]
    }
    """
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(key)}: {_as_text(entry, inner)}" for key, entry in value.items()]
        brackets = "{}"
    elif isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        lines = [_as_text(entry, inner) for entry in value]
        brackets = "[]"
    else:
        return json.dumps(value, allow_nan=False)
    inside = f",\n{inner}".join(lines)
    return f"{brackets[0]}\n{inner}{inside}\n{indent}{brackets[1]}"


def _plain(value: Any) -> Any:
    import numpy as np

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


# -- the verbs on several files or a folder: one row for each ----------------------------------


class TableKind(StrEnum):
    """How a table is written."""

    csv = "csv"
    parquet = "parquet"


ModelFiles = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Model file, '-' for stdin; several, or a folder."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Processes for several files; default: all cores."),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Dask scheduler to run several files on."),
]
Table = Annotated[
    TableKind,
    typer.Option(help="How --out DIR keeps the table of several files; parquet needs an extra."),
]


def is_many(files: Sequence[str]) -> bool:
    """Return True for several files, or a folder.

    >>> is_many(["a.uai"]), is_many(["a.uai", "b.uai"])
    (False, True)
    """
    return len(files) > 1 or Path(files[0]).is_dir()


def solve_several(
    verb: str,
    *,
    files: Sequence[str],
    out: str,
    method: str,
    time_limit: float | None,
    format: str | None,
    jobs: int | None,
    cluster: str | None,
    table: TableKind,
    **for_one_file: object,
) -> bool:
    """Solve several files or a folder, print or write the table; return False for one file.

    Takes all options of a command; those in ``for_one_file`` are refused. Raises ``typer.Exit``
    with the code of bounds unless all answers are exact.
    """
    if not is_many(files):
        return False
    from planaris.experiments.many import model_files, solve_many, table_text

    for option, value in for_one_file.items():
        if value not in (None, False):
            msg = f"`--{option}` is for one file, not for several"
            raise PlanarisError(msg)
    _refuse_evidence(*files)
    _check_folder(out)
    if table is not TableKind.csv and out == "-":
        msg = f"`--table {table}` needs `--out DIR`"
        raise PlanarisError(msg)
    rows = solve_many(
        model_files(files),
        verb,
        method,
        out=None if out == "-" else out,
        jobs=jobs,
        cluster=cluster,
        time_limit=time_limit,
        format=format,
        table=table.value,
    )
    if out == "-":
        sys.stdout.write(table_text(rows))
    failed = sum(row["error"] is not None for row in rows)
    exact = sum(bool(row["exact"]) for row in rows)
    others = len(rows) - exact - failed
    open_ones = f", {others} not exact" if others else ""
    where = "" if out == "-" else f"; {Path(out) / verb}.{table} and .jsonl"
    sys.stderr.write(f"{len(rows)} models: {exact} exact{open_ones}, {failed} failed{where}\n")
    if unused := _evidence_beside(files):
        from planaris.show import many

        sys.stderr.write(
            f"the models were solved without evidence: {unused[0]} and the like were not used "
            f"({many(len(unused), 'file')}); give one model with '--evidence'\n"
        )
    if exact < len(rows):
        raise typer.Exit(EXIT_BOUNDED)
    return True


def _check_folder(out: str) -> None:
    """Refuse what cannot be, or is not likely to be meant as, a folder for a table."""
    folder = Path(out)
    if out == "-" or folder.is_dir():
        return
    if folder.is_file():
        msg = f"`--out` must be a folder for several files, but {out} is a file"
        raise PlanarisError(msg)
    if folder.suffix in (".csv", ".parquet", ".jsonl", ".json"):
        msg = (
            f"`--out` must be a folder for several files, which then holds the table, got {out}; "
            "without it the table is printed"
        )
        raise PlanarisError(msg)


def _refuse_evidence(*files: str) -> None:
    for file in files:
        if _is_evidence(file):
            msg = f"{file} is evidence, by its name: give it as `--evidence {file}`, after a model"
            raise PlanarisError(msg)


def _is_evidence(file: str | Path) -> bool:
    from planaris.io.files import extension_of

    return extension_of(file) == ".evid"


def _evidence_beside(files: Sequence[str]) -> list[str]:
    """Return the evidence files in those of ``files`` that are folders."""
    folders = [Path(file) for file in files if Path(file).is_dir()]
    inside = [entry for folder in folders for entry in sorted(folder.iterdir())]
    return [str(entry) for entry in inside if _is_evidence(entry)]
