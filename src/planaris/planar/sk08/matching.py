"""Ground states by maximum-weight perfect matching of the expanded dual (sections 3.1–3.3)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from planaris.embed import Embedding
from planaris.errors import EmbeddingError, MethodError, require_one_of
from planaris.kernels.cuts import spins_from_disagreements
from planaris.matching import min_weight_perfect_matching
from planaris.models import IsingModel
from planaris.planar.sk08.chords import octangulate, triangulate
from planaris.result import GroundState
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray, LongArray

_CHORDS = {"none": lambda e: e, "triangulate": triangulate, "octangulate": octangulate}


def expanded_dual(embedding: Embedding, costs: list[int]) -> Any:
    """Return the expanded dual as a networkx graph.

    One node per half-edge (a side of an edge); the half-edges of a face form a clique of weight
    zero, the two sides of an edge are joined with its disagreement cost. Where both happen, at
    bridges, the larger weight stands. Edge attribute ``join`` tells which.

    Parameters
    ----------
    embedding : Embedding
        A plane graph.
    costs : list of int
        Disagreement cost of every edge.

    Examples
    --------
    >>> edge = Embedding.from_rotation([(0, 1)], [0, 1], num_vertices=2)
    >>> expanded_dual(edge, [3])[0][1]["weight"]
    3
    """
    import networkx as nx

    graph = nx.Graph()
    bounds = embedding.face_offsets.tolist()
    walk = embedding.face_walk.tolist()
    for face in range(embedding.num_faces):
        sides = walk[bounds[face] : bounds[face + 1]]
        graph.add_edges_from(
            (a, b, {"weight": 0, "join": False}) for k, a in enumerate(sides) for b in sides[:k]
        )
    for e, cost in enumerate(costs):
        if not graph.has_edge(2 * e, 2 * e + 1) or cost > 0:
            graph.add_edge(2 * e, 2 * e + 1, weight=cost, join=True)
    return graph


def dual_arrays(embedding: Embedding, costs: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the edges of the expanded dual and their weights; those of the graph come last.

    As :func:`expanded_dual`, for compiled code: a bridge has two parallel edges.

    >>> edge = Embedding.from_rotation([(0, 1)], [0, 1], num_vertices=2)
    >>> [part.tolist() for part in dual_arrays(edge, np.array([3.0]))]
    [[[1, 0], [0, 1]], [0.0, 3.0]]
    """
    bounds = embedding.face_offsets.tolist()
    cliques = [np.zeros((0, 2), dtype=np.int32)]
    for face in range(embedding.num_faces):
        sides = embedding.face_walk[bounds[face] : bounds[face + 1]]
        i, j = np.tril_indices(len(sides), -1)
        cliques.append(np.column_stack([sides[i], sides[j]]).astype(np.int32))
    inside = np.concatenate(cliques)
    across = np.arange(2 * len(costs), dtype=np.int32).reshape(-1, 2)
    weights = np.concatenate([np.zeros(len(inside)), costs])
    return np.concatenate([inside, across]), weights


def _kept_by_planaris(embedding: Embedding, costs: FloatArray) -> tuple[LongArray, int, int]:
    """Return the edges whose sides are matched to each other, by planaris's own blossom code."""
    edges, weights = dual_arrays(embedding, costs)
    found = min_weight_perfect_matching(2 * len(costs), edges, -weights, threads=1)
    chosen = np.asarray(found.matching, dtype=np.int64) - (len(edges) - len(costs))
    return chosen[chosen >= 0], 2 * len(costs), len(edges)


def _kept_by_networkx(embedding: Embedding, exact: list[Fraction]) -> tuple[LongArray, int, int]:
    """Return the same by networkx, on integers."""
    import networkx as nx

    scale = math.lcm(*(x.denominator for x in exact)) if exact else 1
    costs = [int(x * scale) for x in exact] + [0] * (embedding.num_edges - len(exact))
    graph = expanded_dual(embedding, costs)
    matching = nx.max_weight_matching(graph, maxcardinality=True)
    kept = [a >> 1 for a, b in matching if graph.edges[a, b]["join"]]
    size = graph.number_of_nodes(), graph.number_of_edges()
    return np.array(kept, dtype=np.int64), *size


MATCHINGS = ("networkx", "planaris")


def ground_state(
    model: IsingModel,
    embedding: Embedding,
    *,
    chords: str = "triangulate",
    matching: str = "networkx",
) -> GroundState:
    """Find a ground state of a plane zero-field model, exactly.

    Couplings become integers without loss (every double is a dyadic fraction), and
    ``networkx.max_weight_matching`` is exact on integers. The blossom code of planaris takes
    the couplings as they are and is exact on them.

    Parameters
    ----------
    model : IsingModel
        Without fields.
    embedding : Embedding
        Of genus zero, with the edges of the model in their order.
    chords : {"triangulate", "octangulate", "none"}
        How to split big faces first.
    matching : {"networkx", "planaris"}
        Which blossom code matches the expanded dual.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2), (2, 0)], [1.0, 1.0, -1.0])
    >>> triangle = Embedding.from_rotation(model.edges, [0, 5, 2, 1, 4, 3], num_vertices=3)
    >>> ground_state(model, triangle).energy
    -1.0
    """
    check_plane_model(model, embedding)
    require_one_of("chords", chords, _CHORDS)
    require_one_of("matching", matching, MATCHINGS)
    split = _CHORDS[chords](embedding)
    exact = [Fraction(x) for x in model.couplings.tolist()]
    if matching == "networkx":
        kept, nodes, edges = _kept_by_networkx(split, exact)
    else:
        zeros = np.zeros(split.num_edges - model.num_edges)
        kept, nodes, edges = _kept_by_planaris(split, np.concatenate([model.couplings, zeros]))
    cut = np.ones(split.num_edges, dtype=bool)
    cut[kept] = False
    spins = state_from_cut(split, cut)
    energy = float(model.energy(spins))
    minimum = sum((x if c else -x) for x, c in zip(exact, cut.tolist(), strict=False))
    lower = math.nextafter(float(minimum - Fraction(model.offset)), -math.inf)
    return GroundState.of(
        model,
        spins,
        energy if _is_energy(minimum, model, energy) else lower,
        method="sk08",
        stats={"nodes": nodes, "edges": edges},
    )


def _is_energy(minimum: Fraction | int, model: IsingModel, energy: float) -> bool:
    return bool(minimum - Fraction(model.offset) == Fraction(energy))


def check_plane_model(model: IsingModel, embedding: Embedding) -> None:
    """Refuse fields, other graphs and higher genus."""
    if model.has_fields:
        msg = "the model must have no fields; join a bias spin to the spins in a field first"
        raise MethodError(msg)
    if embedding.num_vertices != model.num_spins or not np.array_equal(
        embedding.edges, model.edges
    ):
        msg = "`embedding` must have the spins and edges of the model, in the same order"
        raise EmbeddingError(msg)
    if embedding.genus:
        msg = f"`embedding` must be plane, got genus {embedding.genus}"
        raise EmbeddingError(msg, genus=embedding.genus)


def state_from_cut(embedding: Embedding, cut: BoolArray) -> Int8Array:
    """Label the spins so that exactly the edges of the cut join different ones (Algorithm 1)."""
    spins, conflict = spins_from_disagreements(embedding.num_vertices, embedding.edges, cut)
    if conflict >= 0:
        msg = f"edge {conflict} contradicts the others: this is not a cut"
        raise EmbeddingError(msg, edge=conflict)
    return spins
