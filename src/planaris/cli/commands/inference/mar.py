"""``planaris mar``: marginals of all variables."""

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
    Prove,
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


def mar(
    files: ModelFiles,
    evidence: Evidence = None,
    method: Annotated[str, method_option("mar")] = "auto",
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
    """Compute the marginals of all variables.

    Prints them as the UAI competition's .MAR: the number of variables, then for each its
    number of labels and their probabilities (labels 0 and 1 are spins -1 and +1). Where nothing
    exact fits they are estimates, and the exit code is 3; --json prints ends that hold, which
    --method clamped may narrow.

    Several files, or a folder, give a table with one row for each; with --out DIR it is written
    there, and a run that was killed goes on.
    """
    if solve_several("marginals", **locals()):
        return
    import numpy as np

    from planaris.infer import marginals
    from planaris.io import write_mar

    model, inverse = load(files[0], format, evidence)
    surface = find_surface(model, genus)
    prove = prove or certificate is not None
    found = marginals(model, method, embedding=surface, time_limit=time_limit, prove=prove)
    if certificate is not None:
        found.save(certificate)
    result = found if inverse is None else inverse.lift_marginals(found)
    nodes = result.nodes
    if isinstance(nodes, np.ndarray):
        nodes = list(np.column_stack([1.0 - nodes, nodes]))
    if json:
        z = result.log_partition
        print_json(
            {
                "task": "MAR",
                **names_of(model, inverse),
                "nodes": nodes,
                "edges": result.edges,
                "nodes_lower": result.nodes_lower,
                "nodes_upper": result.nodes_upper,
                "edges_lower": result.edges_lower,
                "edges_upper": result.edges_upper,
                "error": result.error,
                "exact": result.exact,
                "proved": result.proved,
                "method": result.method,
                "log_partition": z and z.value,
                "log_partition_lower": z and z.lower,
                "log_partition_upper": z and z.upper,
                "stats": {k: v for k, v in result.stats.items() if k != "log_partition"},
            },
            out,
        )
    else:
        write_mar(nodes, out)
        bounded = result.nodes_lower is not None and result.error < 0.99  # by ends that say much
        off = f"at most {result.error:.2g} off" if bounded else "with no bound on their error"
        kind = "exact" if result.exact else f"estimates, {off}"
        kind += f", proved to ±{result.error:.2g}" if prove and result.proved else ""
        sys.stderr.write(f"{kind} ({result.method})\n")
    if not result.exact:
        raise typer.Exit(EXIT_BOUNDED)
