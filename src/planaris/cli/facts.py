"""The facts about a model that decide which methods fit it."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris import treewidth
from planaris.cuts import is_submodular
from planaris.embed import low_genus_embedding
from planaris.errors import MethodError
from planaris.machine import readable
from planaris.models import IsingModel, MarkovRandomField, mrf2ising
from planaris.models.convert import IsingForm
from planaris.reductions.parts import num_components, split_model
from planaris.treewidth import default_memory_limit


def shown(name: str, value: Any) -> str:
    """Return a fact in words; ``--json`` has it as it is."""
    if name == "exact_methods" and not value:
        return (
            "none: branch and cut for ground states, intervals for the rest; --genus 2 looks for "
            "a surface"
        )
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if name == "treewidth_at_most":
        return f"at most {value}" if isinstance(value, int) else str(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name != "table_bytes":
        return f"{value:,}"
    return readable(value) if name == "table_bytes" else str(value)


def ising_of(model: IsingModel | MarkovRandomField) -> IsingModel:
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
    model: IsingModel | MarkovRandomField,
    time_limit: float | None = None,
    max_genus: int | None = None,
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
    exact = []
    if ising is not None:
        facts |= _describe_ising(ising, max_genus)
        exact += ["planar"] if facts["planar_with_fields"] else []
        if "genus_at_most" in facts:
            exact += ["surface (ground states)", f"4^{facts['genus_at_most']} Pfaffians"]
        exact += [] if facts["frustrated"] else ["graph-cut (ground states)"]
    plan = treewidth.plan_elimination(model)
    facts["treewidth_at_most"] = plan.width if plan.complete else f"more than {plan.width}"
    facts["table_bytes"] = plan.bytes
    quick = time_limit is None or plan.seconds <= time_limit
    fits = plan.complete and plan.bytes <= default_memory_limit() and quick
    return facts | {"exact_methods": (["treewidth"] if fits else []) + exact}


def _describe_ising(model: IsingModel, max_genus: int | None) -> dict[str, Any]:
    split = split_model(model)
    hard = [part for part in split.parts if not part.is_plane]
    surface = {}
    if hard:
        bare = split.bare
        found = low_genus_embedding(bare.edges, bare.num_spins, max_genus)
        if found is not None:
            surface = {"genus_at_most": found.embedding.genus, "surface": found.reason}
    return {
        "spins": model.num_spins,
        "edges": model.num_edges,
        "fields": int(np.count_nonzero(model.fields)),
        "components": num_components(model),
        "planar_with_fields": not hard,
        "non_planar_parts": [
            f"{part.model.num_spins} spins, {part.model.num_edges} edges" for part in hard
        ],
        **surface,
        "ferromagnetic": bool(np.all(model.couplings >= 0)),
        "frustrated": not is_submodular(model),
    }
