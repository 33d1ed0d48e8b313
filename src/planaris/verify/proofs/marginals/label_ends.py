"""Ends of marginals of labels: from those of spins, and whatever the neighbours do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planaris.models import IsingModel, MarkovRandomField
from planaris.typing import FloatArray
from planaris.verify.proofs.marginals.neighbours import SpinEnds, outward

_UNIT = 2.0**-53

Ends = tuple[FloatArray, FloatArray]


class TableEnds(NamedTuple):
    """Lower and upper ends of the table of every variable and of every factor."""

    nodes: list[Ends]
    factors: list[Ends]

    def meet(self, other: TableEnds) -> TableEnds:
        """Return the tighter ends of two."""
        parts = [
            [
                (np.maximum(a, c.reshape(a.shape)), np.minimum(b, d.reshape(b.shape)))
                for (a, b), (c, d) in zip(mine, theirs, strict=True)
            ]
            for mine, theirs in zip(self, other, strict=True)
        ]
        return TableEnds(*parts)


def tables_of_spins(
    mrf: MarkovRandomField, model: IsingModel, ends: SpinEnds, off: float
) -> TableEnds:
    """Return ends of tables of two labels from those of spins, moved out by ``off``."""
    low, high = (part.tolist() for part in ends.nodes)
    least, most = (part.tolist() for part in ends.edges)
    names = {(u, v): k for k, (u, v) in enumerate(model.edges.tolist())}
    free = np.cumsum(mrf.cardinalities == 2) - 1  # spins are numbered without labels of one kind

    def moved(below: FloatArray, above: FloatArray) -> Ends:
        return outward(below - off, above + off, 8)

    def of_spin(s: int) -> Ends:
        return moved(np.array([1 - high[s], low[s]]), np.array([1 - low[s], high[s]]))

    one = (np.ones(1), np.ones(1))
    nodes = [
        of_spin(int(free[v])) if k == 2 else one for v, k in enumerate(mrf.cardinalities.tolist())
    ]
    factors: list[Ends] = []
    for f in range(mrf.num_factors):
        scope = mrf.scope(f)
        spins = free[scope[mrf.cardinalities[scope] == 2]].tolist()
        if len(spins) < 2:
            factors.append(of_spin(spins[0]) if spins else one)
            continue
        u, v = spins
        k = names[min(u, v), max(u, v)]
        same = np.array([[0, 1], [1, 0]])
        alike = [np.array([a, 1 - b])[same] for a, b in ((least[k], most[k]), (most[k], least[k]))]
        # P(a, b) = (P(a) + P(b) + P(alike or not) - 1) / 2
        sums = [np.add.outer(*pair) for pair in zip(of_spin(u), of_spin(v), strict=True)]
        below, above = ((x + y - 1) / 2 for x, y in zip(sums, alike, strict=True))
        factors.append(moved(below, above))
    return TableEnds(nodes, factors)


def label_ends(mrf: MarkovRandomField) -> TableEnds:
    """Return what neighbours can do at most.

    Given the others, P(x = a) is 1 / Σ_b exp Σ_f (log f(b, ·) - log f(a, ·)), and every difference
    is between its least and its largest over the labels of the others. Factors with zeros may
    do anything.

    Examples
    --------
    >>> mrf = MarkovRandomField([2, 3], [((0,), [1, 2]), ((0, 1), [[1, 2, 3], [2, 1, 1]])])
    >>> [end.round(3).tolist() for end in label_ends(mrf).nodes[0]]
    [[0.2, 0.4], [0.6, 0.8]]
    """
    cards = mrf.cardinalities.tolist()
    least = [np.zeros((k, k)) for k in cards]
    most = [np.zeros((k, k)) for k in cards]
    terms, sizes = np.ones(len(cards)), np.zeros(len(cards))
    for f in range(mrf.num_factors):
        table = np.asarray(mrf.log_table(f), dtype=np.float64)
        size = float(np.abs(table).max(initial=0.0))
        for axis, v in enumerate(mrf.scope(f).tolist()):
            rows = np.moveaxis(table, axis, 0).reshape(cards[v], -1)
            if not size < np.inf:
                least[v], most[v] = np.full_like(least[v], -np.inf), np.full_like(most[v], np.inf)
                continue
            moves = rows[None, :, :] - rows[:, None, :]
            least[v], most[v] = least[v] + moves.min(axis=2), most[v] + moves.max(axis=2)
            terms[v] += 1
            sizes[v] += 2 * size
    nodes = [
        _chances(*some) for some in zip(least, most, terms.tolist(), sizes.tolist(), strict=True)
    ]
    return TableEnds(nodes, [_frechet(mrf, f, nodes) for f in range(mrf.num_factors)])


def _chances(least: FloatArray, most: FloatArray, terms: float, size: float) -> Ends:
    for moves in (least, most):
        np.fill_diagonal(moves, 0.0)
    with np.errstate(over="ignore"):
        low, high = 1 / np.exp(most).sum(axis=1), 1 / np.exp(least).sum(axis=1)
    share = _UNIT * (2 * terms * size + len(low) + 8)  # of rounding, beside the numbers
    return outward(low * (1 - share), high * (1 + share), 1)


def _frechet(mrf: MarkovRandomField, factor: int, nodes: list[Ends]) -> Ends:
    """Return ends of a table: no entry is above its variables', nor below Σ P - (k - 1)."""
    scope = mrf.scope(factor).tolist()
    shape = tuple(mrf.cardinalities[scope].tolist())
    low, high = np.full(shape, 1.0 - len(scope)), np.ones(shape)
    for axis, v in enumerate(scope):
        along = [-1 if k == axis else 1 for k in range(len(scope))]
        low = low + nodes[v][0].reshape(along)
        high = np.minimum(high, nodes[v][1].reshape(along))
    return outward(low, high, 2.0 * len(scope) if len(scope) > 1 else 0.0)
