"""``planaris pr``: the partition function, with its interval."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from planaris.cli.options import (
    EXIT_BOUNDED,
    Certificate,
    Cluster,
    Evidence,
    Format,
    Genus,
    Jobs,
    Json,
    ModelFiles,
    Out,
    Prove,
    Table,
    TableKind,
    TimeLimit,
    find_surface,
    load,
    method_option,
    print_json,
    solve_several,
)


def pr(
    files: ModelFiles,
    evidence: Evidence = None,
    method: Annotated[str, method_option("pr")] = "auto",
    time_limit: TimeLimit = None,
    genus: Genus = None,
    format: Format = None,
    json: Json = False,
    certificate: Certificate = None,
    prove: Prove = False,
    out: Out = "-",
    jobs: Jobs = None,
    cluster: Cluster = None,
    table: Table = TableKind.csv,
) -> None:
    """Compute the partition function (the probability of the evidence).

    Prints its base-10 logarithm as the UAI competition's .PR; natural logarithm and interval
    go to stderr.

    Several files, or a folder, give a table with one row for each; with --out DIR it is written
    there, and a run that was killed goes on.
    """
    if solve_several("log_partition", **locals()):
        return
    from planaris.infer import log_partition
    from planaris.io import write_pr

    model, _ = load(files[0], format, evidence)
    surface = find_surface(model, genus)
    prove = prove or certificate is not None
    result = log_partition(model, method, embedding=surface, time_limit=time_limit, prove=prove)
    if certificate is not None:
        result.save(certificate)
    if json:
        print_json(
            {
                "task": "PR",
                "log_partition": result.value,
                "log10_partition": result.value / math.log(10.0),
                "lower": result.lower,
                "upper": result.upper,
                "exact": result.exact,
                "proved": result.proved,
                "method": result.method,
                "stats": result.stats,
            },
            out,
        )
    else:
        write_pr(result.value, out)
        kind = "exact to rounding" if result.exact else "bounded"
        kind += "" if result.proved else ", error estimated"
        sys.stderr.write(
            f"log Z = {result.value!r} in [{result.lower!r}, {result.upper!r}] "
            f"({kind}, {result.method})\n"
        )
    if not result.exact:
        raise typer.Exit(EXIT_BOUNDED)
