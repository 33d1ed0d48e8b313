"""Check marginals: that they are probabilities, fit together, and where possible their values."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import CutSum, Marginals
from planaris.typing import Array, BoolArray, FloatArray
from planaris.verify.conversions import BareModel, as_spins
from planaris.verify.exactness import MARGINALS
from planaris.verify.findings import Finding
from planaris.verify.proof_arrays import components
from planaris.verify.proofs.marginals.claimed_ends import check_neighbour_ends, check_proved_ends
from planaris.verify.recompute.blocks import EdgeSum, edge_sum_by_blocks, first_found
from planaris.verify.recompute.cut_sums import edge_sum_by_cuts
from planaris.verify.recompute.determinant import edge_sum_by_determinant, is_warm
from planaris.verify.recompute.elimination import (
    MAX_MARGINAL_ENTRIES,
    Recomputed,
    edge_sum_by_elimination,
    recompute_marginals,
)
from planaris.verify.recompute.log_partition import LARGE, cut_sum_of

Ends = list[tuple[FloatArray, FloatArray]]
"""Lower and upper ends of tables."""


ROUNDED = 1e-8
"""Largest rounding of log weights, of labels written as spins, at which these are used."""

GRACE = 1e-12
"""Tolerance of any probability beside the claimed error."""

FIT = 1e-9
"""Tolerance, beside eight errors, for probabilities of spins and edges to be consistent."""

COARSEST = 1e-7
"""Rounding of a recomputation beyond which nothing is said about probabilities."""

SIGMAS = 12.0
"""Twice the six standard deviations that a random sum of errors exceeds by chance once in 10^9."""


def check_marginals(
    model: IsingModel | MarkovRandomField, result: Marginals, again: bool = True
) -> list[Finding]:
    """Return what is found of the marginals of a model; raise if something is wrong."""
    if not result.error >= 0:
        msg = f"`error` must be a number from 0 on, got {result.error}"
        raise VerificationError(msg, claimed=result.error, found=0.0)
    claim = _Claim.of(model, result)
    if not math.isfinite(result.error) and claim.node_ends is None:
        return [Finding("marginals", "unproved", "estimates; only that they are probabilities")]
    if result.exact:
        _check_fit(model, claim)
    proved = check_proved_ends(model, result)
    if proved is not None and proved.status == "proved":
        return [proved]
    recipe = cut_sum_of(result.certificate)
    ways: list[Callable[[], list[Finding]]] = [
        lambda: _by_elimination(model, claim),
        lambda: _on_surface(model, claim, recipe),
    ]
    large = len(claim.nodes) > LARGE
    findings: list[Finding] = []
    for way in (ways[::-1] if large else ways) if again else []:
        found = way()
        findings = findings or found
        if findings and (large or recipe is None):
            break
    weak = Finding("marginals", "unproved", "only that they are probabilities that fit together")
    if not findings and claim.node_ends is not None:
        by_neighbours = check_neighbour_ends(model, result)
        if by_neighbours.status == "proved":
            return [by_neighbours]
    findings = findings or [weak if proved is None else proved]
    if math.isinf(result.error) and claim.factor_ends is None and claim.factors:
        findings.append(Finding("marginals of edges", "unproved", "estimates without intervals"))
    return findings


@dataclass(frozen=True)
class _Claim:
    """Tables of probabilities per variable and per edge or factor, and how far they are off.

    ``node_ends`` and ``factor_ends`` hold the lower and the upper ends of each table, if any.
    """

    nodes: list[FloatArray]
    factors: list[FloatArray]
    error: float
    node_ends: Ends | None
    factor_ends: Ends | None

    @classmethod
    def of(cls, model: IsingModel | MarkovRandomField, result: Marginals) -> _Claim:
        """Read the tables of a result, all of them probabilities, or refuse them."""
        nodes, factors = _shaped(model, result)
        binary = isinstance(model, IsingModel)
        given = (
            (result.nodes_lower, result.nodes_upper, nodes),
            (result.edges_lower, result.edges_upper, factors),
        )
        ends = [_ends(low, high, tables, binary) for low, high, tables in given]
        return cls(nodes, factors, result.error, ends[0], ends[1])


def _ends(lower: Any, upper: Any, tables: list[FloatArray], binary: bool) -> Ends | None:
    """Return lower and upper ends as tables; of spins and edges they are those of one number."""
    if lower is None and upper is None:
        return None
    if lower is None or upper is None or not len(lower) == len(upper) == len(tables):
        msg = f"there must be {len(tables)} intervals with both ends"
        raise VerificationError(msg, claimed=None, found=len(tables))
    if binary:
        low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
        below, above = np.stack([1 - high, low], axis=-1), np.stack([1 - low, high], axis=-1)
        both = list(zip(below, above, strict=True))
    else:
        pairs = zip(lower, upper, tables, strict=True)
        both = [(_table(low, t.shape), _table(high, t.shape)) for low, high, t in pairs]
    for k, (table, (low, high)) in enumerate(zip(tables, both, strict=True)):
        if not (np.all(low <= table + GRACE) and np.all(table <= high + GRACE)):
            msg = f"probabilities {k} must lie between their ends, got {table.tolist()}"
            raise VerificationError(msg, claimed=table, found=k)
    return both


def _shaped(
    model: IsingModel | MarkovRandomField, result: Marginals
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return a table per variable and per edge or factor, all of them probabilities."""
    if isinstance(model, IsingModel):
        shapes: list[tuple[int, ...]] = [(2,)] * model.num_spins
        joint: list[tuple[int, ...]] = [(2,)] * model.num_edges
    else:
        shapes = [(int(k),) for k in model.cardinalities]
        joint = [
            tuple(model.cardinalities[model.scope(k)].tolist()) for k in range(model.num_factors)
        ]
    found = []
    for name, claimed, wanted in (("nodes", result.nodes, shapes), ("edges", result.edges, joint)):
        if len(claimed) != len(wanted):
            msg = f"`{name}` must have {len(wanted)} entries, got {len(claimed)}"
            raise VerificationError(msg, claimed=len(claimed), found=len(wanted))
        tables = [_table(entry, shape) for entry, shape in zip(claimed, wanted, strict=True)]
        for k, table in enumerate(tables):
            if not (np.all(table >= -GRACE) and abs(table.sum() - 1) <= _sum_grace(result.error)):
                msg = f"`{name}` {k} must hold probabilities, got {table.tolist()}"
                raise VerificationError(msg, claimed=table, found=k)
        found.append(tables)
    return found[0], found[1]


def _sum_grace(error: float) -> float:
    """Return how far the sum of a table may be from 1; estimates may be that of 1e-6."""
    return 4 * (min(error, COARSEST) + GRACE)


def _table(entry: Any, shape: tuple[int, ...]) -> FloatArray:
    value = np.asarray(entry, dtype=np.float64)
    if value.ndim == 0 and shape:
        value = np.array([1 - value, value])
    if value.size != np.prod(shape, dtype=int):
        msg = f"a table must have the shape {shape}, got {value.shape}"
        raise VerificationError(msg, claimed=value.shape, found=shape)
    return value.reshape(shape)


def _check_fit(model: IsingModel | MarkovRandomField, claim: _Claim) -> None:
    """Raise unless some distribution on each edge or factor has these marginals."""
    nodes, factors = claim.nodes, claim.factors
    if isinstance(model, IsingModel):
        up = np.array([table[1] for table in nodes])
        same = np.array([table[1] for table in factors])
        u, v = up[model.edges[:, 0]], up[model.edges[:, 1]]
        miss = np.maximum(np.abs(u + v - 1) - same, same - 1 + np.abs(u - v))
    else:
        gaps = [
            np.abs(table.sum(axis=tuple(a for a in range(table.ndim) if a != axis)) - nodes[v])
            for k, table in enumerate(factors)
            for axis, v in enumerate(model.scope(k).tolist())
        ]
        miss = np.array([gap.max(initial=0.0) for gap in gaps])
    if not np.all(miss <= 8 * claim.error + FIT):
        at = int(np.argmax(miss))
        msg = f"marginals of spins and edges must fit together, but miss by {miss[at]} ({at})"
        raise VerificationError(msg, claimed=float(miss[at]), found=at)


def _by_elimination(model: IsingModel | MarkovRandomField, claim: _Claim) -> list[Finding]:
    """Raise unless every table is the one that elimination finds; nothing where it is too wide."""
    whole = recompute_marginals(model, MAX_MARGINAL_ENTRIES)
    if whole is None or not 4 * whole.slack <= COARSEST:
        return []
    if whole.value == -math.inf:
        msg = "probabilities are claimed, but no state is allowed"
        raise VerificationError(msg, claimed=None, found=whole.value)
    joint = whole.factor_marginals or []
    factors = claim.factors
    if isinstance(model, IsingModel):
        joint = [np.array([t[0, 1] + t[1, 0], t[0, 0] + t[1, 1]]) for t in joint[: len(factors)]]
    kept = [k for k, table in enumerate(factors) if table.ndim]  # a factor of nothing is a number
    truth = {"x": whole.marginals or [], "edge": joint}
    claims = {"x": claim.nodes, "edge": [factors[k] for k in kept]}
    of_factors = claim.factor_ends
    ends = {"x": claim.node_ends, "edge": of_factors and [of_factors[k] for k in kept]}
    grace = 4 * whole.slack + GRACE
    for name, tables in claims.items():
        for k, (table, found) in enumerate(zip(tables, truth[name], strict=True)):
            inside = bool(np.all(np.abs(table - found) <= claim.error + grace))
            if (intervals := ends[name]) is not None:
                below, above = intervals[k]
                inside &= bool(np.all((below <= found + grace) & (found - grace <= above)))
            if not inside:
                msg = f"P({name} {k}) is claimed to be {table.tolist()}, but is {found.tolist()}"
                raise VerificationError(msg, claimed=table, found=found)
    return [Finding("marginals", "recomputed", "elimination")]


def _on_surface(
    model: IsingModel | MarkovRandomField, claim: _Claim, recipe: CutSum | None
) -> list[Finding]:
    """Check an Ising model, or a Markov random field that is one, by a random sum."""
    if not claim.error <= MARGINALS or claim.node_ends or claim.factor_ends:
        return []  # wide intervals say nothing about a sum
    if isinstance(model, IsingModel):
        up, same = ([table[1] for table in tables] for tables in (claim.nodes, claim.factors))
        return _by_random_sum(model, np.array(up), np.array(same), claim.error, recipe)
    if np.any(model.cardinalities != 2):
        return []
    spins = as_spins(model)
    if spins is None or spins.rounding > ROUNDED:  # larger factors, hard constraints, huge numbers
        return []
    pairs: dict[tuple[int, int], float] = {}
    for k, table in enumerate(claim.factors):
        if table.ndim == 2:
            key = min(model.scope(k).tolist()), max(model.scope(k).tolist())
            equal = float(table[0, 0] + table[1, 1])
            if abs(pairs.setdefault(key, equal) - equal) > 4 * (claim.error + GRACE):
                msg = f"factors on the variables {key} must have one table, got {table.tolist()}"
                raise VerificationError(msg, claimed=equal, found=pairs[key])
    edges = [pairs[min(u, v), max(u, v)] for u, v in spins.model.edges.tolist()]
    up = [table[1] for table in claim.nodes]
    error = claim.error + 4 * spins.rounding  # weights are off by as much, and so are their ratios
    return _by_random_sum(spins.model, np.array(up), np.array(edges), error, recipe)


def _by_random_sum(
    model: IsingModel,
    nodes: FloatArray,
    edges: FloatArray,
    error: float,
    recipe: CutSum | None,
) -> list[Finding]:
    """Check one random sum of all marginals of edges, and of spins as edges to the bias spin.

    The sum is the derivative of log Z along the random weights. Wrong marginals pass only if
    their errors cancel in it. The weights are drawn anew each time, so nobody can aim at them,
    and none is less than 1 in size: a single wrong value shows at any of them.
    Nothing is found out where the graph is too large, or neither planar and warm nor such that
    the result says how to sum over its cuts, nor made of blocks that are narrow or planar and warm.
    """
    bare = BareModel.of(model)
    label = components(bare.num_vertices, *bare.edges.T)[1]
    alone = label[:-1] != label[-1]  # no field acts on them: up is as likely as down
    wrong = np.flatnonzero(alone & ~(np.abs(nodes - 0.5) <= error + GRACE))
    if len(wrong):
        at = int(wrong[0])
        msg = f"P(x {at}) must be 1/2 without fields, got {nodes[at]}"
        raise VerificationError(msg, claimed=float(nodes[at]), found=0.5)
    # All spins that fields act on, if the graph stays planar; else those with a field.
    with_field: BoolArray = model.fields != 0
    ways: list[tuple[BoolArray, EdgeSum]] = [
        (~alone, edge_sum_by_determinant),
        *([(with_field, edge_sum_by_determinant)] if np.any(with_field == alone) else []),
    ]
    if recipe is not None:
        prefer = np.array_equal(with_field, ~alone) and not is_warm(bare)
        first = 0 if prefer else len(ways)
        ways.insert(first, (with_field, partial(edge_sum_by_cuts, recipe)))
    ways.append((with_field, partial(edge_sum_by_blocks, compute=_of_block)))
    for joined, add_up in ways:
        found = _check_sum(model, np.flatnonzero(joined), nodes, edges, error, add_up)
        if found is None:
            continue
        findings = [Finding("marginals", "recomputed", f"a random sum of all, by {found.how}")]
        left = int(np.count_nonzero(~joined & ~alone))
        if left:
            what = f"{left} spins without a field: only that they fit their edges"
            findings.append(Finding("marginals of spins", "unproved", what))
        return findings
    return []


def _of_block(block: BareModel, weights: FloatArray) -> Recomputed | None:
    ways: list[EdgeSum] = [edge_sum_by_elimination, edge_sum_by_determinant]
    return first_found(ways if block.num_vertices <= LARGE else ways[::-1], block, weights)


def _check_sum(
    model: IsingModel,
    joined: Array,
    nodes: FloatArray,
    edges: FloatArray,
    error: float,
    add_up: EdgeSum,
) -> Recomputed | None:
    """Raise if the random sum is wrong; return what it is, None if it is not known."""
    bias = np.column_stack([joined, np.full(len(joined), model.num_spins)])
    bare = BareModel(
        model.num_spins + 1,
        np.concatenate([model.edges.astype(np.int64), bias]),
        np.concatenate([model.couplings, model.fields[joined]]),
    )
    claimed = 2 * np.concatenate([edges, nodes[joined]]) - 1
    rng = np.random.default_rng(secrets.randbits(128))
    weights = rng.choice([-1.0, 1.0], len(claimed)) * rng.uniform(1.0, 2.0, len(claimed))
    found = add_up(bare, weights)
    if found is None:
        return None
    total, length = float(weights @ claimed), float(np.linalg.norm(weights))
    slack = found.slack + SIGMAS * (error + GRACE) * length
    if not abs(total - found.value) <= slack:
        msg = (
            f"a random sum of the marginals must be {found.value}, to {slack:.0e}, but is {total}: "
            "some of them are wrong"
        )
        raise VerificationError(msg, claimed=total, found=found.value)
    if not found.slack <= MARGINALS * length:  # couplings so large that the sum says too little
        return None
    return replace(found, slack=slack)
