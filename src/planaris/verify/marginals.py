"""Check marginals: that they are probabilities, fit together, and where possible their values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from planaris.errors import MethodError, VerificationError
from planaris.models import IsingModel, MarkovRandomField, mrf2ising
from planaris.result import CutSum, Marginals
from planaris.typing import Array, BoolArray, FloatArray
from planaris.verify.anew import LARGE, cut_sum_of
from planaris.verify.cut_sums import edge_sum_by_cuts
from planaris.verify.demands import components
from planaris.verify.determinant import edge_sum_by_determinant, is_warm
from planaris.verify.elimination import Recomputed, recompute
from planaris.verify.energy_bounds import BareModel
from planaris.verify.findings import Finding

EdgeSum = Callable[[BareModel, FloatArray], Recomputed | None]

CLOSE = 1e-9
"""Errors of single probabilities that exact methods may leave."""


def check_marginals(model: IsingModel | MarkovRandomField, result: Marginals) -> list[Finding]:
    """Return what is found of the marginals of a model; raise if something is wrong."""
    nodes, factors = _shaped(model, result)
    if not result.exact:
        return [Finding("marginals", "unproved", "estimates; only that they are probabilities")]
    _check_fit(model, nodes, factors)
    recipe = cut_sum_of(result.certificate)
    ways: list[Callable[[], list[Finding]]] = [
        lambda: _by_elimination(model, nodes, factors),
        lambda: _on_surface(model, nodes, factors, recipe),
    ]
    large = len(nodes) > LARGE
    findings: list[Finding] = []
    for way in ways[::-1] if large else ways:
        found = way()
        findings = findings or found
        if findings and (large or recipe is None):
            break
    weak = Finding("marginals", "unproved", "only that they are probabilities that fit together")
    return findings or [weak]


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
            if not (np.all(table >= -1e-12) and abs(table.sum() - 1) < CLOSE):
                msg = f"`{name}` {k} must hold probabilities, got {table.tolist()}"
                raise VerificationError(msg, claimed=table, found=k)
        found.append(tables)
    return found[0], found[1]


def _table(entry: Any, shape: tuple[int, ...]) -> FloatArray:
    value = np.asarray(entry, dtype=np.float64)
    if value.ndim == 0 and shape:
        value = np.array([1 - value, value])
    if value.size != np.prod(shape, dtype=int):
        msg = f"a table must have the shape {shape}, got {value.shape}"
        raise VerificationError(msg, claimed=value.shape, found=shape)
    return value.reshape(shape)


def _check_fit(
    model: IsingModel | MarkovRandomField, nodes: list[FloatArray], factors: list[FloatArray]
) -> None:
    """Raise unless some distribution on each edge or factor has these marginals."""
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
    if not np.all(miss <= 8 * CLOSE):
        at = int(np.argmax(miss))
        msg = f"marginals of spins and edges must fit together, but miss by {miss[at]} ({at})"
        raise VerificationError(msg, claimed=float(miss[at]), found=at)


def _by_elimination(
    model: IsingModel | MarkovRandomField, nodes: list[FloatArray], factors: list[FloatArray]
) -> list[Finding]:
    """Raise unless every table is the one that elimination finds; nothing where it is too wide."""
    whole = recompute(model, task="sum", marginals=True, max_entries=2**18)
    if whole is None:
        return []
    joint = whole.factor_marginals or []
    if isinstance(model, IsingModel):
        joint = [np.array([t[0, 1] + t[1, 0], t[0, 0] + t[1, 1]]) for t in joint[: len(factors)]]
    else:  # a factor of nothing is a number
        factors = [table for table in factors if table.ndim]
    pairs = (("x", nodes, whole.marginals or []), ("edge", factors, joint))
    for name, claimed, truth in pairs:
        for k, (table, found) in enumerate(zip(claimed, truth, strict=True)):
            if not np.abs(table - found).max(initial=0.0) <= CLOSE + 4 * whole.slack:
                msg = f"P({name} {k}) is claimed to be {table.tolist()}, but is {found.tolist()}"
                raise VerificationError(msg, claimed=table, found=found)
    return [Finding("marginals", "recomputed", "elimination")]


def _on_surface(
    model: IsingModel | MarkovRandomField,
    nodes: list[FloatArray],
    factors: list[FloatArray],
    recipe: CutSum | None,
) -> list[Finding]:
    """Check an Ising model, or a field that is one, by a random sum."""
    if isinstance(model, IsingModel):
        up, same = ([table[1] for table in tables] for tables in (nodes, factors))
        return _by_random_sum(model, np.array(up), np.array(same), recipe)
    if np.any(model.cardinalities != 2):
        return []
    try:
        ising, _ = mrf2ising(model)
    except MethodError:  # larger factors or hard constraints
        return []
    pairs = {
        tuple(sorted(model.scope(k).tolist())): table[0, 0] + table[1, 1]
        for k, table in enumerate(factors)
        if table.ndim == 2
    }
    edges = [pairs[min(u, v), max(u, v)] for u, v in ising.edges.tolist()]
    up = [table[1] for table in nodes]
    return _by_random_sum(ising, np.array(up), np.array(edges), recipe)


def _by_random_sum(
    model: IsingModel, nodes: FloatArray, edges: FloatArray, recipe: CutSum | None
) -> list[Finding]:
    """Check one random sum of all marginals of edges, and of spins as edges to the bias spin.

    The sum is the derivative of log Z along the random weights. Wrong marginals pass only if
    their errors cancel in it. The weights follow from the claim, so nobody can aim at them.
    Nothing is found out where the graph is too large, or neither planar and warm nor such that
    the result says how to sum over its cuts.
    """
    bare = BareModel.of(model)
    label = components(bare.num_vertices, *bare.edges.T)[1]
    alone = label[:-1] != label[-1]  # no field acts on them: up is as likely as down
    wrong = np.flatnonzero(alone & ~(np.abs(nodes - 0.5) <= CLOSE))
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
    for joined, add_up in ways:
        found = _check_sum(model, np.flatnonzero(joined), nodes, edges, add_up)
        if found is None:
            continue
        findings = [Finding("marginals", "recomputed", f"a random sum of all, by {found.how}")]
        left = int(np.count_nonzero(~joined & ~alone))
        if left:
            what = f"{left} spins without a field: only that they fit their edges"
            findings.append(Finding("marginals of spins", "unproved", what))
        return findings
    return []


def _check_sum(
    model: IsingModel, joined: Array, nodes: FloatArray, edges: FloatArray, add_up: EdgeSum
) -> Recomputed | None:
    """Raise if the random sum is wrong; return what it is, None if it is not known."""
    bias = np.column_stack([joined, np.full(len(joined), model.num_spins)])
    bare = BareModel(
        model.num_spins + 1,
        np.concatenate([model.edges.astype(np.int64), bias]),
        np.concatenate([model.couplings, model.fields[joined]]),
    )
    claimed = 2 * np.concatenate([edges, nodes[joined]]) - 1
    seed = hashlib.sha256(np.ascontiguousarray(claimed).tobytes()).digest()
    weights = np.random.default_rng(list(seed)).normal(size=len(claimed))
    found = add_up(bare, weights)
    if found is None:
        return None
    total = float(weights @ claimed)
    slack = found.slack + 4 * CLOSE * float(np.linalg.norm(weights))
    if not abs(total - found.value) <= slack:
        msg = (
            f"a random sum of the marginals must be {found.value}, to {slack:.0e}, but is {total}: "
            "some of them are wrong"
        )
        raise VerificationError(msg, claimed=total, found=found.value)
    return replace(found, slack=slack)
