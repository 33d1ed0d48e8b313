"""Rotation systems as arrays.

Half-edge ``2e`` runs ``edges[e, 0] → edges[e, 1]`` and ``2e + 1`` back, so the twin of ``h`` is
``h ^ 1`` and its edge is ``h >> 1``. A rotation lists the half-edges leaving every vertex
counter-clockwise. A face lies on the left of its half-edges: the face walk goes from ``h`` to
the half-edge clockwise after ``h ^ 1`` at the head of ``h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from planaris.errors import EmbeddingError
from planaris.kernels import embedding as kernel
from planaris.models.arrays import as_edges
from planaris.typing import ArrayLike, IntArray


@dataclass(frozen=True, eq=False)
class Embedding:
    """A graph with the cyclic order of the edges around every vertex.

    Attributes
    ----------
    num_vertices : int
        Number of vertices, isolated ones included.
    edges : numpy.ndarray
        int32, shape (m, 2); parallel edges are allowed here.
    rotation : numpy.ndarray
        int32, shape (2m,): half-edges grouped by tail, counter-clockwise in each group.
    offsets : numpy.ndarray
        int32, shape (n + 1,): where the group of each vertex begins.
    """

    num_vertices: int
    edges: IntArray
    rotation: IntArray
    offsets: IntArray

    @classmethod
    def from_rotation(
        cls, edges: ArrayLike, rotation: ArrayLike, *, num_vertices: int
    ) -> Embedding:
        """Build from half-edges grouped by tail vertex in increasing order of vertex.

        >>> triangle = Embedding.from_rotation([(0, 1), (1, 2), (2, 0)], [0, 5, 2, 1, 4, 3],
        ...                                    num_vertices=3)
        >>> triangle.num_faces, triangle.genus
        (2, 0)
        """
        pairs = as_edges(edges, num_vertices)
        order = np.ascontiguousarray(rotation, dtype=np.int32)
        if order.shape != (2 * len(pairs),):
            msg = (
                f"`rotation` must list each of the {2 * len(pairs)} half-edges once, "
                f"got shape {order.shape}"
            )
            raise EmbeddingError(msg)
        offsets = np.zeros(num_vertices + 1, dtype=np.int32)
        np.cumsum(np.bincount(pairs.ravel(), minlength=num_vertices), out=offsets[1:])
        embedding = cls(num_vertices, pairs, order, offsets)
        _ = embedding._faces
        return embedding

    @cached_property
    def _faces(self) -> tuple[IntArray, IntArray, IntArray]:
        try:
            return kernel.trace_faces(self.edges, self.rotation, self.offsets)
        except ValueError as error:
            msg = f"`rotation` must list every half-edge once, at its tail: {error}"
            raise EmbeddingError(msg) from error

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def face_of(self) -> IntArray:
        """Face on the left of every half-edge, shape (2m,)."""
        return self._faces[0]

    @property
    def face_walk(self) -> IntArray:
        """Half-edges face by face, in walking order, shape (2m,)."""
        return self._faces[1]

    @property
    def face_offsets(self) -> IntArray:
        """Where each face begins in ``face_walk``, shape (num_faces + 1,)."""
        return self._faces[2]

    @property
    def num_faces(self) -> int:
        """Number of face walks; an isolated vertex has none."""
        return len(self.face_offsets) - 1

    @cached_property
    def component_of(self) -> IntArray:
        """Connected component of every vertex."""
        return kernel.connected_components(self.num_vertices, self.edges)

    @property
    def num_components(self) -> int:
        """Number of connected components."""
        return int(self.component_of.max()) + 1 if self.num_vertices else 0

    @cached_property
    def genus(self) -> int:
        """Genus by Euler's formula, added up over the components; 0 means plane."""
        isolated = int(np.count_nonzero(np.diff(self.offsets) == 0))
        euler = self.num_vertices - self.num_edges + self.num_faces + isolated
        return (2 * self.num_components - euler) // 2

    @cached_property
    def dual_edges(self) -> IntArray:
        """Faces left and right of every edge, shape (m, 2); a bridge has the same on both sides."""
        return np.ascontiguousarray(self.face_of.reshape(-1, 2))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
