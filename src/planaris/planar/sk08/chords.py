"""Chords through faces: plane triangulation, and the paper's octangulation (section 3.1)."""

from __future__ import annotations

import numpy as np

from planaris.embed import Embedding
from planaris.errors import EmbeddingError
from planaris.typing import IntArray


def triangulate(embedding: Embedding) -> Embedding:
    """Add chords until no face has more than three sides.

    The new edges come after the old ones. A component that is a single edge keeps its one face
    of two sides; chords may be parallel to edges.

    Examples
    --------
    >>> square = Embedding.from_rotation([(0, 1), (1, 2), (2, 3), (3, 0)],
    ...                                  [0, 7, 2, 1, 4, 3, 6, 5], num_vertices=4)
    >>> triangulate(square).num_edges, triangulate(square).genus
    (6, 0)
    """
    return split_faces(embedding, piece=3, limit=3)


def octangulate(embedding: Embedding) -> Embedding:
    """Split octagons off all faces with more than 13 sides, as the paper found best."""
    return split_faces(embedding, piece=8, limit=13)


def split_faces(embedding: Embedding, *, piece: int, limit: int) -> Embedding:
    """Split polygons of ``piece`` sides off all faces with more than ``limit`` sides.

    Parameters
    ----------
    embedding : Embedding
        Without parallel edges.
    piece : int
        Sides of what is split off, its chord included; at least 3.
    limit : int
        Faces up to this size stay; at least ``piece``.

    Returns
    -------
    Embedding
        Same genus, new edges after the old ones.
    """
    if not 3 <= piece <= limit:
        msg = f"`piece` and `limit` must satisfy 3 <= piece <= limit, got {piece} and {limit}"
        raise EmbeddingError(msg)
    drawing = _Drawing(embedding)
    bounds = embedding.face_offsets.tolist()
    walk = embedding.face_walk.tolist()
    for face in range(embedding.num_faces):
        ring = walk[bounds[face] : bounds[face + 1]]
        if limit == 3:
            ring = _cut_at_repeated_vertices(drawing, ring)
        _cut_in_rounds(drawing, ring, piece, limit)
    return drawing.finish()


class _Drawing:
    """A rotation system as linked lists, so that a chord takes constant time."""

    def __init__(self, embedding: Embedding) -> None:
        self.num_vertices = embedding.num_vertices
        self.ends: list[int] = embedding.edges.ravel().tolist()
        rotation, offsets = embedding.rotation, embedding.offsets
        following = np.empty(len(rotation), dtype=np.int64)
        shifted = np.roll(rotation, -1)
        used = np.flatnonzero(np.diff(offsets))
        shifted[offsets[used + 1] - 1] = rotation[offsets[used]]
        following[rotation] = shifted
        before = np.empty_like(following)
        before[following] = np.arange(len(following))
        self.after: list[int] = following.tolist()
        self.before: list[int] = before.tolist()

    def chord(self, first: int, last: int) -> int:
        """Join the tail of ``first`` to the head of ``last``, both on one face.

        Returns the half-edge that takes the place of ``first … last`` on the face's walk.
        """
        new = len(self.ends)
        self.ends += [self.ends[first], self.ends[last ^ 1]]
        self.after += [0, 0]
        self.before += [0, 0]
        for at, half in ((first, new), (self.before[last ^ 1], new + 1)):
            then = self.after[at]
            self.after[at], self.before[half] = half, at
            self.after[half], self.before[then] = then, half
        return new

    def finish(self) -> Embedding:
        edges = np.array(self.ends, dtype=np.int32).reshape(-1, 2)
        rotation: list[int] = []
        start: list[int] = [-1] * self.num_vertices
        for half, tail in enumerate(self.ends):
            start[tail] = half
        for half in start:
            at = half
            while at >= 0:
                rotation.append(at)
                at = self.after[at] if self.after[at] != half else -1
        flat: IntArray = np.array(rotation, dtype=np.int32)
        return Embedding.from_rotation(edges, flat, num_vertices=self.num_vertices)


def _cut_at_repeated_vertices(drawing: _Drawing, ring: list[int]) -> list[int]:
    """Cut corners at vertices met more than once, until all are met once or three are left.

    A corner x, v, z needs x ≠ z, or the chord would be a loop. While some vertex repeats, one
    such corner exists unless the walk alternates between two vertices, which takes parallel
    edges; and cutting only at repeated vertices never makes a walk alternate.
    """
    ends = drawing.ends
    count: dict[int, int] = {}
    for half in ring:
        count[ends[half]] = count.get(ends[half], 0) + 1
    done: list[int] = []
    left = list(reversed(ring))
    idle, length = 0, len(ring)
    while length > 3 and idle <= 2 * length:
        if not left:
            done.reverse()
            left, done = done, []
        half = left.pop()
        v = ends[half]
        if done and count[v] > 1 and ends[done[-1]] != ends[half ^ 1]:
            count[v] -= 1
            left.append(drawing.chord(done.pop(), half))
            length -= 1
            idle = 0
        else:
            done.append(half)
            idle += 1
    return done + left[::-1]


def _cut_in_rounds(drawing: _Drawing, ring: list[int], piece: int, limit: int) -> None:
    """Cut pieces off, one after the other all around the face, again and again."""
    ends = drawing.ends
    length = len(ring)
    while length > limit:
        new, at, before = [], 0, length
        while at < len(ring):
            last = at + piece - 2
            fits = last < len(ring) and length > limit and length - piece + 2 >= 3
            if fits and ends[ring[at]] != ends[ring[last] ^ 1]:
                new.append(drawing.chord(ring[at], ring[last]))
                length -= piece - 2
                at = last + 1
            else:
                new.append(ring[at])
                at += 1
        ring = new
        if length == before:
            break
