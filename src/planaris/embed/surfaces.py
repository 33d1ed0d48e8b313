"""Rotation systems of lattices on the torus."""

from __future__ import annotations

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.errors import EmbeddingError, require_one_of

_STEPS = {"square": ((0, 1), (1, 0)), "triangular": ((0, 1), (1, 0), (1, 1))}
"""(down, right) steps of the edges that leave every site."""

_AROUND = {
    # Counter-clockwise, rows counted downwards: (kind of edge, whether it is left backwards).
    "square": ((0, False), (1, True), (0, True), (1, False)),
    "triangular": ((0, False), (1, True), (2, True), (0, True), (1, False), (2, False)),
}


def torus_lattice(rows: int, columns: int, kind: str = "square") -> Embedding:
    """Return a lattice with periodic boundaries in both directions.

    Site ``(r, c)`` is vertex ``r * columns + c``. Edges come site by site: to the right, down
    and, for the triangular lattice, down-right. Where the lattice is two sites wide there are
    parallel edges; where it is one site wide, edges that would join a site to itself are left
    out (their spins always agree), which may leave a plane graph.

    Parameters
    ----------
    rows, columns : int
        At least one each.
    kind : {"square", "triangular"}
        Which lattice.

    Returns
    -------
    Embedding
        Of genus one unless a side is one site long.

    Examples
    --------
    >>> torus_lattice(3, 4).genus, torus_lattice(2, 2).num_edges, torus_lattice(1, 5).genus
    (1, 8, 0)
    """
    if rows < 1 or columns < 1:
        msg = f"`rows` and `columns` must be at least 1, got {rows} and {columns}"
        raise EmbeddingError(msg)
    require_one_of("kind", kind, _STEPS, EmbeddingError)
    r, c = np.divmod(np.arange(rows * columns), columns)
    steps = _STEPS[kind]
    heads = [(r + down) % rows * columns + (c + right) % columns for down, right in steps]
    tails = [(r - down) % rows * columns + (c - right) % columns for down, right in steps]
    edges = np.stack([np.broadcast_to(r * columns + c, (len(steps), r.size)), heads], axis=2)
    edges = edges.transpose(1, 0, 2).reshape(-1, 2)
    around = [
        2 * (tails[k] * len(steps) + k) + 1 if back else 2 * (np.arange(r.size) * len(steps) + k)
        for k, back in _AROUND[kind]
    ]
    rotation = np.stack(around, axis=1).ravel()
    kept = edges[:, 0] != edges[:, 1]
    rotation = rotation[kept[rotation >> 1]]
    rank = np.cumsum(kept) - 1
    return Embedding.from_rotation(
        edges[kept], 2 * rank[rotation >> 1] + (rotation & 1), num_vertices=rows * columns
    )
