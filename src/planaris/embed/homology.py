"""Homology basis of an embedding: 2g independent cycles, by tree–cotree decomposition.

Take a spanning forest of the graph, then a spanning forest of the dual among the edges that are
left; of the remaining edges there are 2g (Euler's formula), and each closes one cycle with the
first forest. These cycles are a basis of the first homology group mod 2 (Eppstein 2003).
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.errors import TooLargeError
from planaris.kernels import graph as kernel
from planaris.typing import Int8Array, IntArray

MAX_BYTES = 2**30
"""Largest size of all sign structures together."""


def homology_cycles(embedding: Embedding) -> list[IntArray]:
    """Return 2g independent non-contractible cycles, each as an array of edges.

    Examples
    --------
    >>> from planaris.embed.surfaces import torus_lattice
    >>> len(homology_cycles(torus_lattice(3, 4)))
    2
    """
    flat, offsets = kernel.homology_basis(
        embedding.edges, embedding.rotation, embedding.offsets, embedding.face_of
    )
    return [flat[a:b] for a, b in pairwise(offsets.tolist())]


def cycle_flips(embedding: Embedding) -> Int8Array:
    """Return the cycles of :func:`homology_cycles` as signs: -1 on the edges of the cycle.

    Returns
    -------
    numpy.ndarray
        int8, shape (2g, m).

    Examples
    --------
    >>> from planaris.embed.surfaces import torus_lattice
    >>> cycle_flips(torus_lattice(2, 2)).shape
    (2, 8)
    """
    cycles = homology_cycles(embedding)
    flips = np.ones((len(cycles), embedding.num_edges), dtype=np.int8)
    for flip, cycle in zip(flips, cycles, strict=True):
        flip[cycle] = -1
    return flips


def sign_structures(embedding: Embedding) -> Int8Array:
    """Return the sign flips of all 4^g Kasteleyn structures, the first one flipping nothing.

    Structures of one surface differ by flips along cycles; the mean of the 4^g Pfaffians, each
    signed relative to the term of the empty cut, counts the null-homologous domain walls only
    (Galluccio and Loebl 1999), and those are the cuts.

    Returns
    -------
    numpy.ndarray
        int8, shape (4^g, m).

    Raises
    ------
    TooLargeError
        When they would take more than a gibibyte.

    Examples
    --------
    >>> from planaris.embed.surfaces import torus_lattice
    >>> sign_structures(torus_lattice(3, 3)).shape
    (4, 18)
    """
    needed = 4**embedding.genus * max(embedding.num_edges, 1)
    if needed > MAX_BYTES:
        msg = (
            f"all sign structures of genus {embedding.genus} on {embedding.num_edges} edges take "
            f"{needed:.3g} bytes; at most {MAX_BYTES:.3g} are allowed"
        )
        raise TooLargeError(msg, bytes_needed=needed)
    flips = cycle_flips(embedding)
    chosen = np.array(list(product((False, True), repeat=len(flips))), dtype=bool)
    each = np.where(chosen[:, :, None], flips, np.int8(1))
    return np.asarray(np.prod(each, axis=1, dtype=np.int8))
