"""``planaris info``: what a model is, and how it would be solved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planaris.cli.options import (
    Certificate,
    Evidence,
    Format,
    Genus,
    Json,
    ModelFile,
    load,
    print_json,
)
from planaris.errors import MethodError

TITLES = {
    "fields": "external fields",
    "planar_with_fields": "planar, fields included",
    "non_planar_parts": "parts not planar",
    "genus_at_most": "genus, at most",
    "treewidth_at_most": "treewidth",
    "table_bytes": "elimination tables",
}
"""How facts are called where their names do not say it."""


def info(
    file: ModelFile,
    evidence: Evidence = None,
    method: Annotated[
        str, typer.Option("--method", metavar="METHOD", help="Also tell whether this one fits.")
    ] = "auto",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Leave out exact methods that take longer."),
    ] = None,
    genus: Genus = None,
    format: Format = None,
    json: Json = False,
    certificate: Certificate = None,
) -> None:
    """Describe a model: size, planarity, genus, treewidth, parts, and methods that fit it.

    Exact methods are those that fit the whole model; without one its parts may still be solved
    exactly, or answers are intervals. The certificate is a plane rotation system, or a
    subdivision of K5 or K3,3; it is for models that are, or convert to, Ising models. Of a detector
    error model (.dem, or a circuit, .stim) it says which decoders fit.
    """
    from planaris.budget import Budget
    from planaris.cli.facts import describe, ising_of
    from planaris.embed import prove_planarity
    from planaris.methods import methods
    from planaris.result.files import save_result

    if method not in methods():
        msg = f"`--method` must be one of {', '.join(methods())}, got {method!r}"
        raise MethodError(msg)
    if file.endswith((".dem", ".stim")) and format is None:
        from planaris.cli.dem_info import describe_dem

        _print_facts(describe_dem(Path(file)), json)
        return
    model, _ = load(file, format, evidence)
    if certificate is not None:
        save_result(prove_planarity(ising_of(model)), certificate)
    facts = describe(model, time_limit, genus)
    if method != "auto":
        reason = methods()[method].fits(model, Budget(time_limit))
        facts["method"], facts["fits"] = method, reason is None
        if reason is not None:
            facts["reason"] = reason
    _print_facts(facts, json)


def _print_facts(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
        return
    from rich.console import Console
    from rich.table import Table

    from planaris.cli.facts import shown

    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(TITLES.get(name, name.replace("_", " ")), shown(name, value))
    Console().print(table)
