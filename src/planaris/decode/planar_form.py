"""The plane graph whose cuts are the closed chains of a decoding graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.decode.graph import DecodingGraph
from planaris.decode.model import ErrorModel
from planaris.embed import Embedding
from planaris.errors import NotPlanarError
from planaris.typing import BoolArray, IntArray

LOGICAL_EDGE = "the logical edge, which joins the two boundaries"


@dataclass(frozen=True, eq=False)
class PlanarForm:
    """A split decoding graph in the plane, and its dual.

    Attributes
    ----------
    place : numpy.ndarray
        int32, per edge of the decoding graph: edge of the dual, or -1 for a bridge, which is
        part of no closed chain.
    dual : Embedding
        Its vertices are faces, its edges the edges that are no bridges; the logical edge comes
        last, if it is there.
    logical : int
        Edge of the dual that joins the boundaries, or -1: no chain joins them.
    """

    place: IntArray
    dual: Embedding
    logical: int


def planar_form(model: ErrorModel, graph: DecodingGraph, *, joined: bool) -> PlanarForm:
    """Embed a split graph and return its dual.

    Parameters
    ----------
    model : ErrorModel
        Where the graph came from, to name mechanisms.
    graph : DecodingGraph
        Of :func:`~planaris.decode.graph.split_graph`.
    joined : bool
        With the logical edge between the boundaries.

    Raises
    ------
    NotPlanarError
        ``instructions`` names the mechanisms of a Kuratowski subgraph.
    """
    n = graph.num_detectors
    edges = graph.edges
    if joined:
        edges = np.concatenate([edges, np.array([[n, n + 1]], dtype=np.int32)])
    try:
        plane = Embedding.from_graph(edges, num_vertices=graph.num_vertices)
    except NotPlanarError as error:
        raise _in_instructions(error, model, graph) from None
    live: BoolArray = plane.dual_edges[:, 0] != plane.dual_edges[:, 1]
    place = np.full(len(edges), -1, dtype=np.int32)
    place[live] = np.arange(np.count_nonzero(live), dtype=np.int32)
    dual = Embedding.from_graph(
        np.ascontiguousarray(plane.dual_edges[live]), num_vertices=plane.num_faces
    )
    logical = int(place[-1]) if joined else -1
    return PlanarForm(np.ascontiguousarray(place[: len(graph.edges)]), dual, logical)


def _in_instructions(
    refusal: NotPlanarError, model: ErrorModel, graph: DecodingGraph
) -> NotPlanarError:
    """Return the refusal with its edges told as instructions of the detector error model."""
    mechanisms: list[int] = []
    listed: list[str] = []
    for e in np.asarray(refusal.kuratowski_edges).tolist():
        if e >= len(graph.sources):
            listed.append(LOGICAL_EDGE)
            continue
        most = max(graph.sources[e], key=lambda k: model.mechanisms[k].probability)
        mechanisms.append(most)
        listed.append(str(model.mechanisms[most]))
    shown = "; ".join(listed[:9]) + ("; …" if listed[9:] else "")
    msg = (
        "`dem` must have a planar decoding graph for exact decoding, but "
        f"{len(listed)} of its edges form a subdivided {refusal.evidence['kind']} (see "
        f'`instructions`): {shown}; method="matching" takes any graph, and drop="smallest" '
        "leaves out mechanisms until the graph is planar"
    )
    return NotPlanarError(msg, mechanisms=mechanisms, instructions=listed, **refusal.evidence)
