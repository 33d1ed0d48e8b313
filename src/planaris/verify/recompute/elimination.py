"""Recomputes log Z and the minimum energy of small models: plain variable elimination in NumPy.

Slow and simple on purpose: tables are arrays with one axis per variable, variables go in the
order of fewest neighbours, and every sum is charged for its rounding.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from planaris.models import IsingModel
from planaris.typing import Array, FloatArray
from planaris.verify.conversions import BareModel

MAX_ENTRIES = 2**22
"""Entries of the largest table that is computed here."""

MAX_MARGINAL_ENTRIES = 2**18
"""The same for marginals."""

MAX_EXACT_ENTRIES = 2**14
"""Entries of the largest table of whole numbers."""

_UNIT = 2.0**-53

Factor = tuple[tuple[int, ...], FloatArray]


@dataclass(frozen=True, eq=False)
class Recomputed:
    """A number known to within ``slack``; marginals of variables and factors where asked for."""

    value: float
    slack: float
    marginals: list[FloatArray] | None = None
    factor_marginals: list[FloatArray] | None = None
    estimated: bool = False
    """Whether the slack is an estimate, which plain elimination does not need."""
    way: str = "elimination"
    """How it was computed."""
    unit: float = 0.0
    """What rounding may make of a mean under the distribution that the marginals are those of,
    relative to the numbers it is a mean of. Its weights are off by factors exp(±slack)."""

    @property
    def how(self) -> str:
        """The way it was computed, and what it is good for."""
        return f"{self.way}, to {self.slack:.0e}" if self.estimated else self.way


@dataclass(eq=False)
class _Bucket:
    """What was joined to eliminate one variable, the first of the scope."""

    scope: tuple[int, ...]
    total: FloatArray
    message: FloatArray
    joint: FloatArray | None = None


def recompute(
    model: Any, *, task: str, marginals: bool = False, max_entries: int = MAX_ENTRIES
) -> Recomputed | None:
    """Return log Z (``task="sum"``) or the largest log weight (``"max"``).

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model.
    task : {"sum", "max"}
        What to do with a variable that goes.
    marginals : bool
        Compute the marginals of all variables and factors as well (``task="sum"``); the
        factors of an Ising model are its edges, then its nonzero fields.
    max_entries : int
        Larger tables are not made.

    Returns
    -------
    Recomputed or None
        None when a table would be too large.

    Examples
    --------
    >>> found = recompute(IsingModel([(0, 1)], [0.0]), task="sum", marginals=True)
    >>> round(found.value, 6), found.marginals[0].tolist()
    (1.386294, [0.5, 0.5])
    """
    return eliminate(*_factors(model), task=task, marginals=marginals, max_entries=max_entries)


def recompute_marginals(model: Any, max_entries: int) -> Recomputed | None:
    """Return the marginals of a model; the value is log Z but for finite constants.

    No probability depends on those, so their rounding does not count, however large they are.

    >>> found = recompute_marginals(IsingModel([(0, 1)], [0.5], offset=1e17), 4)
    >>> found.factor_marginals[0].sum().round(12), found.slack < 1e-13
    (np.float64(1.0), True)
    """
    cards, factors, constants = _factors(model)
    never = [one for one in constants if not math.isfinite(one)]
    return eliminate(cards, factors, never, task="sum", marginals=True, max_entries=max_entries)


def edge_sum_by_elimination(bare: BareModel, weights: FloatArray) -> Recomputed | None:
    """Return Σ weights <s_u s_v> over the edges; None when a table would be too large.

    >>> pair = BareModel(2, np.array([[0, 1]]), np.array([0.5]))
    >>> found = edge_sum_by_elimination(pair, np.array([2.0]))
    >>> bool(abs(found.value - 2 * np.tanh(0.5)) < 1e-12)
    True
    """
    found = recompute_marginals(bare.as_model(), MAX_MARGINAL_ENTRIES)
    if found is None or found.factor_marginals is None:
        return None
    equal = np.array([table[0, 0] + table[1, 1] for table in found.factor_marginals])
    slack = 16 * found.slack * float(np.abs(weights).sum())  # of each probability: 4 slacks
    return Recomputed(float(weights @ (2 * equal - 1)), slack)


def eliminate(
    cards: list[int],
    factors: list[Factor],
    constants: list[float],
    *,
    task: str,
    marginals: bool = False,
    max_entries: int = MAX_ENTRIES,
) -> Recomputed | None:
    """Do what :func:`recompute` does, for tables of logarithms over variables and for none."""
    order = _order(cards, factors, max_entries)
    if order is None:
        return None
    at: list[list[Factor]] = [[] for _ in cards]
    rank = np.empty(len(cards), dtype=np.int64)
    rank[order] = np.arange(len(cards))
    terms, depth = list(constants), 4
    magnitude = abs(math.fsum(terms)) if all(map(math.isfinite, terms)) else 0.0
    for scope, table in factors:
        _file(at, rank, terms, scope, table)
        magnitude += float(np.abs(table[np.isfinite(table)]).max(initial=0.0))
    buckets: list[_Bucket] = []
    for v in order:
        scope, total = _joined(at[v], v, rank, cards)
        depth += len(at[v]) + cards[v] + 2
        at[v] = []
        message = _reduce(total, task)
        _file(at, rank, terms, scope[1:], message)
        if marginals:
            buckets.append(_Bucket(scope, total, message))
    value = math.fsum(terms) if all(map(math.isfinite, terms)) else float(sum(terms))
    size = magnitude + sum(math.log(k) for k in cards if k)
    size += abs(value) if math.isfinite(value) else 0.0  # zeros are exact
    slack = 4 * depth * _UNIT * (size + 1.0)
    if not marginals:
        return Recomputed(value, slack)
    nodes = _sweep_back(buckets, rank, len(cards))
    found = [_marginal_of(scope, buckets, rank) for scope, _ in factors]
    return Recomputed(value, slack, nodes, found, unit=4 * depth * _UNIT)


def least_energy(
    model: Any, allowed: float, *, held: dict[int, int] | None = None
) -> Fraction | float | None:
    """Return the least energy, at most ``allowed`` below the true one; None if it is too wide.

    Variables in ``held`` keep their labels.

    Where rounding may cost more than that, tables hold whole numbers of the last binary place of
    all log potentials. The result is infinite if no state is allowed.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1e17, 1.0], fields=[0.5, 0.0, 0.0])
    >>> least_energy(model, 1e-9) + 10**17
    Fraction(-3, 2)
    """
    cards, factors, constants = _factors(model)
    for v, label in (held or {}).items():
        other = np.arange(cards[v]) != label
        factors.append(((v,), np.where(other, -math.inf, 0.0)))
    found = eliminate(cards, factors, constants, task="max")
    if found is None or not math.isfinite(found.value):
        return None if found is None else -found.value
    if found.slack <= allowed / 2:
        return Fraction(-found.value) - Fraction(found.slack)
    order = _order(cards, factors, MAX_EXACT_ENTRIES)
    if order is None:
        return None
    entries = [*constants, *(x for _, table in factors for x in table.ravel().tolist())]
    finite = [Fraction(x) for x in entries if math.isfinite(x)]
    unit = max((x.denominator for x in finite), default=1)
    never = -(2 * sum(abs(int(x * unit)) for x in finite) + 1)  # less than any state may have

    def whole(x: float) -> int:
        return int(Fraction(x) * unit) if math.isfinite(x) else never

    at: list[list[Factor]] = [[] for _ in cards]
    rank = np.empty(len(cards), dtype=np.int64)
    rank[order] = np.arange(len(cards))
    terms: list[Any] = list(map(whole, constants))
    for scope, table in factors:
        numbers = np.array([whole(x) for x in table.ravel().tolist()], dtype=object)
        _file(at, rank, terms, scope, numbers.reshape(table.shape))
    for v in order:
        joint, numbers = _joined(at[v], v, rank, cards, kind=object)
        _file(at, rank, terms, joint[1:], numbers.max(axis=0))
    total = sum(terms)
    return math.inf if 2 * total <= never else Fraction(-total, unit)


def _marginal_of(scope: tuple[int, ...], buckets: list[_Bucket], rank: Any) -> FloatArray:
    """Return the joint distribution of some variables that shared a table."""
    bucket = buckets[int(rank[min(scope, key=lambda u: int(rank[u]))])]
    assert bucket.joint is not None, "all buckets are filled"
    kept = [u for u in bucket.scope if u in scope]
    away = tuple(k for k, u in enumerate(bucket.scope) if u not in scope)
    return np.transpose(bucket.joint.sum(axis=away), [kept.index(u) for u in scope])


def _sweep_back(buckets: list[_Bucket], rank: Any, count: int) -> list[FloatArray]:
    """Return all marginals: p(v, rest) = p(rest) * bucket / message, last bucket first.

    Messages are rounded, so the quotients are made to add up to one: whatever the rounding, the
    marginals are those of one distribution.
    """
    nodes: list[FloatArray] = [np.zeros(0)] * count
    for bucket in reversed(buckets):
        rest = bucket.scope[1:]
        shift = np.where(np.isfinite(bucket.message), bucket.message, 0.0)
        joint = np.exp(bucket.total - shift)
        whole = joint.sum(axis=0)
        joint = joint / np.where(whole > 0, whole, 1.0)
        if rest:
            above = buckets[int(rank[min(rest, key=lambda u: int(rank[u]))])]
            assert above.joint is not None, "buckets are filled from the last to the first"
            away = tuple(k for k, u in enumerate(above.scope) if u not in rest)
            joint = joint * above.joint.sum(axis=away)
        bucket.joint = joint
        nodes[bucket.scope[0]] = joint.sum(axis=tuple(range(1, joint.ndim)))
    return nodes


def _reduce(total: FloatArray, task: str) -> FloatArray:
    top = total.max(axis=0)
    if task == "max":
        return np.asarray(top)
    with np.errstate(divide="ignore", invalid="ignore"):
        shifted = np.exp(total - np.where(np.isfinite(top), top, 0.0))
        return np.asarray(np.where(np.isfinite(top), top + np.log(shifted.sum(axis=0)), top))


def _joined(
    factors: list[Factor], v: int, rank: Any, cards: list[int], *, kind: Any = np.float64
) -> tuple[tuple[int, ...], Array]:
    """Return the sum of some tables, and its variables: ``v``, which goes first, and the others."""
    scope = tuple(sorted({u for one, _ in factors for u in one} | {v}, key=lambda u: rank[u]))
    total = np.zeros(tuple(cards[u] for u in scope), dtype=kind)
    for one, table in factors:
        total = total + _spread(one, table, scope)
    return scope, total


def _file(
    at: list[list[Factor]], rank: Any, terms: list[Any], scope: tuple[int, ...], table: Any
) -> None:
    """Put a table where its first variable to go is; a table without variables is a number."""
    if not scope:
        terms.append(np.asarray(table).item())
    else:
        at[min(scope, key=lambda u: int(rank[u]))].append((scope, table))


def _spread(scope: tuple[int, ...], table: FloatArray, whole: tuple[int, ...]) -> FloatArray:
    places = [whole.index(u) for u in scope]
    turned = np.transpose(table, np.argsort(places))
    shape = [1] * len(whole)
    for size, place in zip(turned.shape, sorted(places), strict=True):
        shape[place] = size
    return turned.reshape(shape)


def _factors(model: Any) -> tuple[list[int], list[Factor], list[float]]:
    if isinstance(model, IsingModel):
        pairs = np.array([[1.0, -1.0], [-1.0, 1.0]])
        factors: list[Factor] = [
            ((u, v), coupling * pairs)
            for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True)
        ]
        factors += [
            ((v,), field * np.array([-1.0, 1.0]))
            for v, field in enumerate(model.fields.tolist())
            if field
        ]
        return [2] * model.num_spins, factors, [float(model.offset)]
    cards = [int(k) for k in model.cardinalities]
    found: list[Factor] = []
    constants: list[float] = []
    for k in range(model.num_factors):
        scope = tuple(int(v) for v in model.scope(k))
        table = np.asarray(model.log_table(k), dtype=np.float64)
        if scope:
            found.append((scope, table))
        else:
            constants.append(float(table))
    return cards, found, constants


def _order(cards: list[int], factors: list[Factor], max_entries: int) -> list[int] | None:
    """Return variables by fewest entries of the table that joins their neighbours."""
    around: list[set[int]] = [set() for _ in cards]
    for scope, _ in factors:
        for v in scope:
            around[v].update(scope)
    for v in range(len(cards)):
        around[v].discard(v)

    def size(v: int) -> float:
        return math.log2(max(cards[v], 1)) + sum(math.log2(max(cards[u], 1)) for u in around[v])

    heap = [(size(v), v) for v in range(len(cards))]
    heapq.heapify(heap)
    gone = [False] * len(cards)
    order = []
    while heap:
        claimed, v = heapq.heappop(heap)
        if gone[v]:
            continue
        now = size(v)
        if now > claimed:
            heapq.heappush(heap, (now, v))
            continue
        if now > math.log2(max_entries) + 1e-9 or len(around[v]) > 60:
            return None
        gone[v] = True
        order.append(v)
        for u in around[v]:
            around[u] |= around[v]
            around[u] -= {u, v}
            heapq.heappush(heap, (size(u), u))
    return order
