"""The verbs on several files or a folder: one row for each."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planaris.cli.options import EXIT_BOUNDED
from planaris.errors import PlanarisError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class TableKind(StrEnum):
    """How a table is written."""

    csv = "csv"
    parquet = "parquet"


ModelFiles = Annotated[
    list[str],
    typer.Argument(metavar="FILE…", help="Model file, '-' for stdin; several, or a folder."),
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
    files: Sequence[str],
    out: str,
    *,
    method: str,
    time_limit: float | None,
    format: str | None,
    jobs: int | None,
    cluster: str | None,
    table: TableKind,
    refused: Mapping[str, object],
) -> bool:
    """Solve several files or a folder, print or write the table; return False for one file.

    Raises ``typer.Exit`` with the code of bounds unless all answers are exact.
    """
    if not is_many(files):
        return False
    from planaris.experiments.many import model_files, solve_many, table_text

    for option, value in refused.items():
        if value is not None:
            msg = f"`{option}` is for one file, not for several"
            raise PlanarisError(msg)
    if out != "-" and Path(out).is_file():
        msg = f"`--out` must be a folder for several files, but {out} is a file"
        raise PlanarisError(msg)
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
        progress=True,
    )
    if out == "-":
        sys.stdout.write(table_text(rows))
    failed = sum(row["error"] is not None for row in rows)
    exact = sum(bool(row["exact"]) for row in rows)
    where = "" if out == "-" else f"; {Path(out) / verb}.{table} and .jsonl"
    sys.stderr.write(f"{len(rows)} models: {exact} exact, {failed} failed{where}\n")
    if exact < len(rows):
        raise typer.Exit(EXIT_BOUNDED)
    return True
