"""``planaris map``: a ground state or most probable assignment, with its interval."""

from __future__ import annotations

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
    Table,
    TableKind,
    TimeLimit,
    find_surface,
    load,
    method_option,
    names_of,
    print_json,
    solve_several,
)


def map_state(
    files: ModelFiles,
    evidence: Evidence = None,
    method: Annotated[str, method_option("map")] = "auto",
    time_limit: TimeLimit = None,
    genus: Genus = None,
    format: Format = None,
    json: Json = False,
    certificate: Certificate = None,
    out: Out = "-",
    jobs: Jobs = None,
    cluster: Cluster = None,
    table: Table = TableKind.csv,
) -> None:
    """Find the most probable state (the ground state) and prove it.

    Prints the state as the UAI competition's .MAP: the number of variables, then a label each
    (label 1 is spin +1). What is proved goes to stderr, for max-cut files with the weight of the
    cut.

    Several files, or a folder, give a table with one row for each; with --out DIR it is written
    there, and a run that was killed goes on.
    """
    if solve_several("ground_state", **locals()):
        return
    from planaris.infer import ground_state
    from planaris.io import write_map
    from planaris.io.maxcut import counts_cuts
    from planaris.models import IsingModel

    model, inverse = load(files[0], format, evidence)
    surface = find_surface(model, genus)
    prove = certificate is not None
    result = ground_state(model, method, embedding=surface, time_limit=time_limit, prove=prove)
    if certificate is not None:
        result.save(certificate)
    is_cut = isinstance(model, IsingModel) and counts_cuts(model)
    labels = result.assignment if inverse is None else inverse.lift_states(result.assignment)
    if json:
        print_json(
            {
                "task": "MAP",
                **names_of(model, inverse),
                "assignment": labels,
                "energy": result.energy,
                "log_weight": 0.0 - result.energy,
                **({"cut": 0.0 - result.energy} if is_cut else {}),
                "lower": result.lower,
                "upper": result.upper,
                "exact": result.exact,
                "method": result.method,
                "stats": {k: v for k, v in result.stats.items() if k != "assignment"},
            },
            out,
        )
    else:
        write_map(labels, out)
        proof = "exact" if result.exact else f"minimum in [{result.lower!r}, {result.upper!r}]"
        cut = f"cut {0.0 - result.energy!r}, " if is_cut else ""
        sys.stderr.write(f"{cut}energy {result.energy!r} ({proof}, {result.method})\n")
    if not result.exact:
        raise typer.Exit(EXIT_BOUNDED)
