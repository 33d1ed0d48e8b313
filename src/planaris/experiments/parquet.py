"""Rows of many models as a Parquet file, by pyarrow, which is imported when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planaris.errors import missing_extra
from planaris.writing import open_whole

Row = dict[str, Any]


def pyarrow() -> Any:
    """Return the module pyarrow, or say which extra installs it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra(package="pyarrow", extra="parquet") from error
    return pa


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write the rows with their states and marginals; whole or not at all.

    Columns have the types of docs/howto/many-models.md whatever the rows hold. A column ``nodes``
    has the probabilities of all labels of every variable, of spins too.
    """
    pa = pyarrow()
    schema = pa.schema(
        [
            ("name", pa.string()),
            ("variables", pa.int64()),
            *((name, pa.float64()) for name in ("answer", "lower", "upper")),
            *((name, pa.bool_()) for name in ("exact", "proved")),
            ("method", pa.string()),
            ("seconds", pa.float64()),
            ("error", pa.string()),
            ("state", pa.list_(pa.int32())),
            ("nodes", pa.list_(pa.list_(pa.float64()))),
        ]
    )
    table = pa.Table.from_pylist([_typed(row) for row in rows], schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_whole(path) as file:
        pa.parquet.write_table(table, file)


def _typed(row: Row) -> Row:
    """Return a row whose infinities are numbers and whose marginals are tables."""
    numbers = ("answer", "lower", "upper", "seconds")
    found = {name: None if row.get(name) is None else float(row[name]) for name in numbers}
    nodes = row.get("nodes")
    if nodes is not None:
        nodes = [p if isinstance(p, list) else [1.0 - p, p] for p in nodes]
    return {**row, **found, "nodes": nodes}
