"""``planaris mar``: marginals of all variables."""

from __future__ import annotations

import sys
from typing import Annotated

import numpy as np

from planaris.cli.options import (
    Certificate,
    Evidence,
    Format,
    Json,
    ModelFile,
    Out,
    TimeLimit,
    load,
    method_option,
    print_json,
)
from planaris.infer import marginals
from planaris.io import write_mar


def mar(
    file: ModelFile,
    evidence: Evidence = None,
    method: Annotated[str, method_option("mar")] = "auto",
    time_limit: TimeLimit = None,
    format: Format = None,
    json: Json = False,
    certificate: Certificate = None,
    out: Out = "-",
) -> None:
    """Compute the marginals of all variables.

    Prints them as the UAI competition's .MAR: the number of variables, then for each its
    number of labels and their probabilities (labels 0 and 1 are spins -1 and +1).
    """
    model, inverse = load(file, format, evidence)
    result = marginals(model, method, time_limit=time_limit)
    if certificate is not None:
        result.save(certificate)
    if inverse is not None:
        result = inverse.lift_marginals(result)
    nodes = result.nodes
    if isinstance(nodes, np.ndarray):
        nodes = list(np.column_stack([1.0 - nodes, nodes]))
    if json:
        print_json(
            {
                "task": "MAR",
                "nodes": nodes,
                "edges": result.edges,
                "exact": result.exact,
                "method": result.method,
                "stats": result.stats,
            },
            out,
        )
    else:
        write_mar(nodes, out)
        sys.stderr.write(f"{'exact' if result.exact else 'approximate'} ({result.method})\n")
