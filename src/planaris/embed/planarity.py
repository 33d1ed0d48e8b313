"""Plane embeddings of graphs, models and drawings, as rotation systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.errors import EmbeddingError, NotPlanarError
from planaris.models.bias_spin import fields2bias
from planaris.models.ising import IsingModel, require_ising
from planaris.result import NotPlanar, Plane


def embed(graph: Any) -> Embedding:
    """Embed a graph in the plane.

    Parameters
    ----------
    graph : IsingModel, Lattice, networkx graph, Embedding, or pair (num_vertices, edges)
        A lattice, or a model with positions, is embedded by them; everything else by the
        planarity test. A networkx graph has its nodes numbered in their order; a
        ``PlanarEmbedding`` and an ``Embedding`` keep their rotation, which must be plane.

    Raises
    ------
    CrossingError
        If the positions do not draw the graph without crossings.
    NotPlanarError
        With a subdivided K5 or K3,3 as ``kuratowski_edges``.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2), (0, 2)], 1.0)
    >>> embed(model).num_faces
    2
    >>> embed((5, [(u, v) for u in range(5) for v in range(u)]))
    Traceback (most recent call last):
    ...
    planaris.errors.NotPlanarError: `edges` must form a planar graph, but 10 of the 10 edges are
    a subdivided K5 (see `kuratowski_edges`); ...
    """
    if isinstance(graph, IsingModel):
        if graph.positions is None:
            return Embedding.from_graph(graph.edges, num_vertices=graph.num_spins)
        return Embedding.from_coordinates(
            graph.edges, graph.positions, num_vertices=graph.num_spins
        )
    if isinstance(graph, Embedding):
        return require_plane(graph)
    if isinstance(graph, tuple) and hasattr(graph, "positions"):  # a Lattice
        return Embedding.from_coordinates(graph.edges, graph.positions)  # type: ignore[attr-defined]
    if isinstance(graph, tuple) and len(graph) == 2:
        num_vertices, edges = graph
        return Embedding.from_graph(edges, num_vertices=num_vertices)
    if hasattr(graph, "neighbors_cw_order"):
        return require_plane(Embedding.from_networkx(graph))
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        place = {node: k for k, node in enumerate(graph.nodes)}
        edges = [(place[u], place[v]) for u, v in graph.edges()]
        return Embedding.from_graph(
            np.array(edges, dtype=np.int32).reshape(-1, 2), num_vertices=len(place)
        )
    msg = (
        "`graph` must be an IsingModel, a Lattice, a networkx graph, an Embedding or a pair "
        f"(num_vertices, edges), got {type(graph).__name__}"
    )
    raise EmbeddingError(msg)


def prove_planarity(model: IsingModel) -> Plane | NotPlanar:
    """Return a plane rotation system, or edges that no plane drawing can have.

    Fields count as edges to a bias spin behind the last spin.

    Examples
    --------
    >>> k5 = IsingModel([(u, v) for u in range(5) for v in range(u)], 1.0)
    >>> prove_planarity(k5).KIND
    'not-planar'
    """
    require_ising(model)
    bare = fields2bias(model)[0] if model.has_fields else model
    try:
        plane = embed((bare.num_spins, bare.edges))
    except NotPlanarError as error:
        return NotPlanar(np.asarray(error.kuratowski_edges))
    return Plane(plane.rotation, plane.offsets)


def require_plane(embedding: Embedding) -> Embedding:
    """Return the embedding if it is plane, else raise an EmbeddingError with its ``genus``.

    >>> k4 = Embedding.from_graph([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    ...                           num_vertices=4)
    >>> require_plane(k4) is k4
    True
    """
    if embedding.genus:
        msg = (
            f"`embedding` must be plane (genus 0), got a rotation system of genus "
            f"{embedding.genus}; `Embedding.from_graph` finds a plane one if there is any"
        )
        raise EmbeddingError(msg, genus=embedding.genus)
    return embedding
