"""log Z of plane models in ball arithmetic, for lattices too large for one dense determinant.

Edges are eliminated in the order of a breadth-first search, a few at a time, by Schur
complements of matrices of balls; of the package only the textbook signs of the reference are used.

>>> from planaris import Embedding
>>> square = Embedding.from_graph([(0, 1), (1, 2), (2, 3), (3, 0)], num_vertices=4)
>>> ball_log_partition(square, [1.0, 1.0, 1.0, -1.0]).contains(arb(16).log())
False
"""

from __future__ import annotations

from collections import deque

import numpy as np
from flint import arb, arb_mat, ctx

from planaris import Embedding
from planaris.reference.kasteleyn import edge_signs, gauge_couplings

CHUNK = 12
"""Edges that are eliminated together."""


def ball_log_partition(embedding, couplings, spins=None, *, bits=192, width=1e-22):
    """Return a ball that contains log Z, no wider than ``width`` (relative to 1 + |log Z|)."""
    assert embedding.genus == 0
    g = gauge_couplings(embedding, couplings, spins)
    before = ctx.prec
    try:
        while bits <= 2**15:
            ctx.prec = bits
            ball = _attempt(embedding, g)
            if ball.is_finite() and float(ball.rad()) <= width * (1 + abs(float(ball.mid()))):
                return ball
            bits *= 2
    finally:
        ctx.prec = before
    msg = "no precision is enough"
    raise ArithmeticError(msg)


def _breadth_first(embedding: Embedding) -> np.ndarray:
    """Return when each vertex is reached, from one that is reached last from vertex 0."""
    neighbours = [[] for _ in range(embedding.num_vertices)]
    for u, v in embedding.edges.tolist():
        neighbours[u].append(v)
        neighbours[v].append(u)
    rank = np.zeros(embedding.num_vertices, dtype=np.int64)
    for _ in range(2):
        roots, rank[:] = np.argsort(-rank, kind="stable"), -1
        count, queue = 0, deque()
        for root in roots.tolist():
            if rank[root] < 0:
                queue.append(root)
                rank[root] = count
                count += 1
            while queue:
                for w in neighbours[queue.popleft()]:
                    if rank[w] < 0:
                        rank[w] = count
                        count += 1
                        queue.append(w)
    return rank


def _attempt(embedding: Embedding, g: np.ndarray) -> arb:
    signs = edge_signs(embedding).tolist()
    weight = [(-arb(x)).exp() for x in g.tolist()]
    walk, offsets = embedding.face_walk.tolist(), embedding.face_offsets.tolist()
    face_of = embedding.face_of.tolist()
    order = np.argsort(_breadth_first(embedding)[embedding.edges].max(1), kind="stable").tolist()
    opened: set[int] = set()
    legs: list[int] = []
    matrix = np.zeros((0, 0), dtype=object)
    total = arb(0)
    for first in range(0, len(order), CHUNK):
        chunk = order[first : first + CHUNK]
        for edge in chunk:
            for leg in (2 * edge, 2 * edge + 1):
                if face_of[leg] not in opened:
                    face = face_of[leg]
                    opened.add(face)
                    legs, matrix = _open(
                        walk[offsets[face] : offsets[face + 1]], legs, matrix, weight
                    )
        place = {leg: k for k, leg in enumerate(legs)}
        for edge in chunk:
            i, j = place[2 * edge], place[2 * edge + 1]
            matrix[i, j] += signs[edge]
            matrix[j, i] -= signs[edge]
        taken = [place[leg] for edge in chunk for leg in (2 * edge, 2 * edge + 1)]
        gone = set(taken)
        rest = [k for k in range(len(legs)) if k not in gone]
        pivot = arb_mat(matrix[np.ix_(taken, taken)].tolist())
        det = pivot.det()
        if not det > 0:
            return arb("nan")
        total += det.log() / 2
        kept = matrix[np.ix_(rest, rest)]
        if rest:
            columns = arb_mat(matrix[np.ix_(taken, rest)].tolist())
            try:
                solved = pivot.solve(columns)
            except ZeroDivisionError:
                return arb("nan")
            update = arb_mat(matrix[np.ix_(rest, taken)].tolist()) * solved
            kept = kept - np.array(update.tolist(), dtype=object)
        legs, matrix = [legs[k] for k in rest], kept
    constant = sum((arb(x) for x in g.tolist()), arb(0))
    return total + constant + embedding.num_components * arb(2).log()


def _open(face, legs, matrix, weight):
    size, more = len(legs), len(face)
    grown = np.full((size + more, size + more), arb(0), dtype=object)
    grown[:size, :size] = matrix
    for a in range(more):
        for b in range(a + 1, more):
            entry = weight[face[a] >> 1] * weight[face[b] >> 1]
            grown[size + a, size + b] = entry
            grown[size + b, size + a] = -entry
    return legs + face, grown
