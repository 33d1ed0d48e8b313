"""Results of a whole model from those of its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.reductions.correlations import FromRoot, correlations_with_bias
from planaris.reductions.parts import Split, num_components
from planaris.relax.cut_form import energy_quantum
from planaris.result import GroundState, LogPartition, Marginals, PartProof, PartProofs, Stats
from planaris.typing import Array, Int8Array

LOG2 = math.log(2.0)
EPSILON = float(np.finfo(np.float64).eps)

Results = Sequence[GroundState | LogPartition | Marginals]


def join_ground_states(split: Split, results: Sequence[GroundState], budget: Budget) -> GroundState:
    """Return the ground state of the whole."""
    differ = np.zeros(split.bare.num_edges, dtype=bool)
    for part, result in zip(split.parts, results, strict=True):
        u, v = part.model.edges.T
        differ[part.edges] = result.spins[u] != result.spins[v]
    spins = split.join_spins(differ)
    return GroundState.of(
        split.original,
        spins,
        _total_lower(split, results, float(split.original.energy(spins))),
        certificate=PartProofs(
            PartProof(part.edges, r.lower, r.certificate)
            for part, r in zip(split.parts, results, strict=True)
        ),
        **_shared(split, results, budget),
    )


def _total_lower(split: Split, results: Sequence[GroundState], energy: float) -> float:
    """Add up the lower bounds of the parts; no gap where no other energy fits in.

    A bound is at most the least energy rounded to nearest, which may be half a step above the
    least energy itself; sums are rounded to nearest again. Matchings are exact.
    """
    if all(result.lower == result.energy and result.method == "planar" for result in results):
        return energy
    lowers = [math.nextafter(result.lower, -math.inf) for result in results]
    total = math.fsum([*lowers, -split.original.offset])
    if len(results) == 1 and split.original.offset == 0:
        total = results[0].lower
    lower = min(energy, total)
    if not all(result.exact for result in results):  # a gap that counts stays open
        lower = min(lower, math.nextafter(energy, -math.inf))
    return energy if energy - lower < energy_quantum(split.original) / 2 else lower


def join_log_partitions(
    split: Split, results: Sequence[LogPartition], budget: Budget
) -> LogPartition:
    """Return log Z of the whole.

    Σ over states = 2^(components) × Σ over which edges differ, and the latter factorises over
    parts: log Z = c log 2 + Σ (log Z_part - c_part log 2), a bias spin taking off log 2.
    """
    twos = num_components(split.bare) - sum(num_components(part.model) for part in split.parts)
    fixed = 0 if split.inverse is None else 1
    terms = [(twos - fixed) * LOG2, split.original.offset]
    value, lower, upper = (
        math.fsum([*terms, *(getattr(result, end) for result in results)])
        for end in ("value", "lower", "upper")
    )
    # Sums are rounded once, log 2 and its multiple too, and so are the ends below.
    slack = 2 * EPSILON * (max(abs(value), abs(lower), abs(upper)) + abs(terms[0]))
    return LogPartition.between(
        lower - slack,
        upper + slack,
        value=value,
        num_variables=split.original.num_spins,
        certificate=split.certificate([result.certificate for result in results]),
        **_shared(split, results, budget),
    )


def join_marginals(
    split: Split, results: Sequence[Marginals], from_root: FromRoot, budget: Budget
) -> Marginals:
    """Return the marginals of the whole; edges of different parts are independent.

    ``from_root`` gives correlations inside a part, for spins without a field of their own.
    """
    edges = np.full(split.bare.num_edges, 0.5)
    for part, result in zip(split.parts, results, strict=True):
        edges[part.edges] = np.asarray(result.edges)
    bare = Marginals(
        nodes=np.full(split.bare.num_spins, 0.5),
        edges=edges,
        error=max((result.error for result in results), default=0.0),
        certificate=split.certificate([result.certificate for result in results]),
        **_shared(split, results, budget),
    )
    return bare if split.inverse is None else _with_nodes(split, bare, from_root, budget)


def _with_nodes(split: Split, bare: Marginals, from_root: FromRoot, budget: Budget) -> Marginals:
    """Take the bias spin off: P(s_v = +1) is the marginal of its edge, where there is one."""
    inverse, edges = split.inverse, np.asarray(bare.edges)
    assert inverse is not None, "only models with fields come here"
    nodes = np.full(split.original.num_spins, 0.5)
    joined = inverse.bias_edge >= 0
    nodes[joined] = edges[inverse.bias_edge[joined]]
    unknown = ~joined & ~inverse.symmetric
    if unknown.any():
        found, error = correlations_with_bias(split, from_root)
        nodes[unknown] = (1.0 + found[:-1][unknown]) / 2
        bare = replace(bare, error=max(bare.error, error), proved=False)
    edges = edges[: split.original.num_edges]
    return replace(bare, nodes=nodes, edges=edges, seconds=budget.seconds())


def join_samples(
    split: Split, states: Sequence[Array], size: int, rng: np.random.Generator
) -> Int8Array:
    """Return samples of the whole: which edges differ in every part, a sign per component."""
    differ = np.zeros((size, split.bare.num_edges), dtype=bool)
    for part, found in zip(split.parts, states, strict=True):
        u, v = part.model.edges.T
        differ[:, part.edges] = found[:, u] != found[:, v]
    spins = np.empty((size, split.original.num_spins), dtype=np.int8)
    component = split.components()
    for row, marks in zip(spins, differ, strict=True):
        row[:] = split.join_spins(marks)
    signs = 1 - 2 * rng.integers(0, 2, (size, int(component.max(initial=-1)) + 1), dtype=np.int8)
    if split.inverse is not None:
        signs[:, component[-1]] = 1  # held by the bias spin
        component = component[:-1]
    return spins * signs[:, component]


def _shared(split: Split, results: Results, budget: Budget) -> dict[str, Any]:
    parts: list[Stats] = [
        {**part.describe(), "method": result.method, "exact": result.exact, **result.stats}
        for part, result in zip(split.parts, results, strict=True)
    ]
    return {
        "method": "+".join(sorted({result.method for result in results})) or "planar",
        "proved": all(result.proved for result in results),
        "seconds": budget.seconds(),
        "stats": {"parts": parts},
    }
