"""``planaris info``: what a model is, and how it would be solved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from planaris import treewidth
from planaris.budget import Budget
from planaris.cli.options import (
    Certificate,
    Evidence,
    Format,
    Json,
    ModelFile,
    load,
    print_json,
)
from planaris.cuts import is_submodular
from planaris.embed import prove_planarity
from planaris.errors import MethodError
from planaris.memory import readable
from planaris.methods import methods
from planaris.models import IsingModel, MarkovRandomField, mrf2ising
from planaris.reductions import IsingForm
from planaris.reductions.parts import num_components, split_model
from planaris.result.files import save_result
from planaris.treewidth import default_memory_limit

TITLES = {"treewidth_at_most": "treewidth", "table_bytes": "elimination tables"}
"""How facts are called where their names do not say it."""


def info(
    file: ModelFile,
    evidence: Evidence = None,
    method: Annotated[
        str, typer.Option(metavar="METHOD", help="Say whether this method fits, too.")
    ] = "auto",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Leave out exact methods that take longer."),
    ] = None,
    format: Format = None,
    json: Json = False,
    certificate: Certificate = None,
) -> None:
    """Say what a model is: size, planarity, treewidth, parts, and what fits it.

    Exact methods are those that fit the whole model; without one its parts may still be solved
    exactly, or answers are intervals. The certificate is a plane rotation system, or a
    subdivision of K5 or K3,3; it is for models that are, or convert to, Ising models. Of a detector
    error model (.dem, or a circuit, .stim) it says which decoders fit.
    """
    if method not in methods():
        msg = f"`--method` must be one of {', '.join(methods())}, got {method!r}"
        raise MethodError(msg)
    if file.endswith((".dem", ".stim")) and format is None:
        from planaris.cli.dem_info import describe_dem

        _print_facts(describe_dem(Path(file)), json)
        return
    model, _ = load(file, format, evidence)
    if certificate is not None:
        save_result(prove_planarity(_ising(model)), certificate)
    facts = describe(model, time_limit)
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
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(TITLES.get(name, name.replace("_", " ")), _shown(name, value))
    Console().print(table)


def _shown(name: str, value: Any) -> str:
    """Return a fact in words; ``--json`` has it as it is."""
    if name == "exact_methods" and not value:
        return "none: branch and cut for ground states, intervals for the rest"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if name == "treewidth_at_most":
        return f"at most {value}" if isinstance(value, int) else str(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return readable(value) if name == "table_bytes" else str(value)


def _ising(model: IsingModel | MarkovRandomField) -> IsingModel:
    """Return the spin model whose graph a certificate is about."""
    if isinstance(model, IsingModel):
        return model
    try:
        return mrf2ising(model)[0]
    except MethodError as error:
        msg = (
            "`--certificate` proves whether the graph of an Ising model is planar, and this model "
            f"is none: {error}. Leave the option out to see the other facts; the certificates of "
            "`map`, `mar` and `pr` are for all models"
        )
        raise MethodError(msg, **error.evidence) from error


def describe(
    model: IsingModel | MarkovRandomField, time_limit: float | None = None
) -> dict[str, Any]:
    """Return the facts that decide which methods fit a model."""
    facts: dict[str, Any] = {"kind": type(model).__name__}
    if isinstance(model, MarkovRandomField):
        cards = model.cardinalities
        facts |= {
            "variables": model.num_variables,
            "labels": int(cards.max(initial=0)),
            "factors": model.num_factors,
            "largest_factor": int(np.diff(model.scope_offsets).max(initial=0)),
            "zero_potentials": int(np.count_nonzero(np.isneginf(model.log_values))),
        }
        ising = IsingForm.apply(model).model if IsingForm.accepts(model) else None
    else:
        ising = model
    plan = treewidth.plan_elimination(model)
    facts["treewidth_at_most"] = plan.width if plan.complete else f"more than {plan.width}"
    facts["table_bytes"] = plan.bytes
    quick = time_limit is None or plan.seconds <= time_limit
    fits = plan.complete and plan.bytes <= default_memory_limit() and quick
    exact = ["treewidth"] if fits else []
    if ising is not None:
        facts |= _describe_ising(ising)
        exact += ["planar"] if facts["planar_with_fields"] else []
        exact += [] if facts["frustrated"] else ["graph-cut (ground states)"]
    return facts | {"exact_methods": exact}


def _describe_ising(model: IsingModel) -> dict[str, Any]:
    split = split_model(model)
    hard = [part for part in split.parts if part.embedding is None]
    return {
        "spins": model.num_spins,
        "edges": model.num_edges,
        "fields": int(np.count_nonzero(model.fields)),
        "components": num_components(model),
        "planar_with_fields": not hard,
        "non_planar_parts": [
            f"{part.model.num_spins} spins, {part.model.num_edges} edges" for part in hard
        ],
        "ferromagnetic": bool(np.all(model.couplings >= 0)),
        "frustrated": not is_submodular(model),
    }
