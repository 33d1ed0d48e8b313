"""The decoding graph: detectors are vertices, mechanisms edges, and the boundary is split.

Mechanisms that flip one detector end at the boundary. A potential on the detectors moves the
observable there: the boundary becomes two vertices, b0 and b1, and the observable is the parity
of edges at b1, up to a sum over the syndrome. A logical class of a syndrome is then a parity at
b1, and only the split graph has to be planar. See docs/theory/decoding.md.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from planaris.decode.model import ErrorModel, parity
from planaris.errors import NotMatchableError
from planaris.kernels.decoding import ShotMatcher, packed_bits
from planaris.typing import Array, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class DecodingGraph:
    """Merged mechanisms of an error model as edges between detectors and boundaries.

    Attributes
    ----------
    num_detectors, num_vertices : int
        Vertices from ``num_detectors`` on are boundaries: b0 and b1 of a split graph, or one.
    edges : numpy.ndarray
        int32, shape (m, 2).
    probability : numpy.ndarray
        In (0, ½]: where it was larger, the edge is taken as present and its absence as the error.
    mask : numpy.ndarray
        bool, shape (m, observables): what the edge flips; at b1, for a split graph.
    potential : numpy.ndarray
        bool, one per detector: detection events that flip the observable of a split graph.
    detector_flips, observable_flips : numpy.ndarray
        bool: what the edges that are taken as present flip.
    free_flips, free_stays : numpy.ndarray
        Per observable: probability that mechanisms without detectors flip it, and that they do not.
    sources : tuple of tuple of int
        Mechanisms merged into every edge.
    """

    num_detectors: int
    num_vertices: int
    edges: IntArray
    probability: FloatArray
    mask: BoolArray
    potential: BoolArray
    detector_flips: BoolArray
    observable_flips: BoolArray
    free_flips: FloatArray
    free_stays: FloatArray
    sources: tuple[tuple[int, ...], ...]

    @property
    def weights(self) -> FloatArray:
        """Log of the odds against every edge, log((1 - p) / p)."""
        return np.asarray(np.log1p(-self.probability) - np.log(self.probability))

    @property
    def log_absent(self) -> float:
        """Logarithm of the probability that no edge is part of the error."""
        return float(np.log1p(-self.probability).sum())

    def matcher(self, boundary: list[int], *, by_parity: bool = False) -> ShotMatcher:
        """Return what finds lightest errors that may end at these vertices.

        ``by_parity``: of a given class, which the parity of the second boundary decides.
        """
        return ShotMatcher(
            self.num_detectors,
            self.num_vertices,
            self.edges,
            np.array(boundary, dtype=np.int32),
            self.weights,
            packed_bits(self.mask),
            packed_bits(self.potential) if by_parity else np.zeros(0, dtype=np.uint8),
            self.num_detectors + 1 if by_parity else -1,
        )


def matching_graph(model: ErrorModel) -> DecodingGraph:
    """Return the graph with one boundary vertex, for matching: any number of observables."""
    model.require_matchable("matching")
    n = model.num_detectors
    keys: dict[tuple[int, int, tuple[int, ...]], list[int]] = defaultdict(list)
    free: list[list[float]] = [[] for _ in range(model.num_observables)]
    alone: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for k, m in enumerate(model.mechanisms):
        if not m.detectors:
            alone[m.observables].append(m.probability)
            for o in m.observables:
                free[o].append(m.probability)
            continue
        if len(m.detectors) > 2:  # it never happens
            continue
        keys[m.detectors[0], m.detectors[1] if len(m.detectors) == 2 else n, m.observables].append(
            k
        )
    mask = np.zeros((len(keys), model.num_observables), dtype=np.bool_)
    for row, (_, _, observables) in zip(mask, keys, strict=True):
        row[list(observables)] = True
    edges = [(u, v) for u, v, _ in keys]
    none = np.zeros(n, dtype=np.bool_)
    graph = _finished(model, n + 1, edges, mask, none, free, keys.values())
    flips = graph.observable_flips.copy()
    for observables, probabilities in alone.items():
        odd, even = parity(probabilities)
        flips[list(observables)] ^= odd > even
    return replace(graph, observable_flips=flips)


def split_graph(model: ErrorModel, observable: int | None) -> DecodingGraph:
    """Return the graph with a split boundary, for one observable.

    Raises
    ------
    NotMatchableError
        For a mechanism with more than two detectors, and where a closed chain of mechanisms,
        none of them at the boundary, flips the observable: ``mechanisms`` lists it.
    """
    model.require_matchable()
    n = model.num_detectors
    flips = [observable in m.observables for m in model.mechanisms]
    potential = _potential(model, flips)
    keys: dict[tuple[int, int], list[int]] = defaultdict(list)
    free: list[list[float]] = [[]]
    for k, m in enumerate(model.mechanisms):
        if not m.detectors:
            free[0] += [m.probability] if flips[k] else []
        elif len(m.detectors) == 2:
            u, v = m.detectors
            if flips[k] == (potential[u] != potential[v]):  # else it never happens
                keys[u, v].append(k)
        elif len(m.detectors) == 1:
            u = m.detectors[0]
            keys[u, n + int(flips[k] != potential[u])].append(k)
    edges = list(keys)
    mask = np.array([[v == n + 1] for _, v in edges], dtype=np.bool_).reshape(-1, 1)
    return _finished(model, n + 2, edges, mask, potential, free, keys.values())


def _finished(
    model: ErrorModel,
    num_vertices: int,
    edges: list[tuple[int, int]],
    mask: BoolArray,
    potential: BoolArray,
    free: list[list[float]],
    sources: object,
) -> DecodingGraph:
    """Merge probabilities; take what is more likely than not as present; drop the impossible."""
    n = model.num_detectors
    members: list[tuple[int, ...]] = [tuple(s) for s in sources]  # type: ignore[attr-defined]
    merged = [parity(model.mechanisms[k].probability for k in group) for group in members]
    odd, even = np.array(merged).reshape(-1, 2).T
    ends = np.array(edges, dtype=np.int32).reshape(-1, 2)
    present = odd > even
    detector_flips = np.zeros(num_vertices, dtype=np.int64)
    np.add.at(detector_flips, ends[present].ravel(), 1)
    # The observable as the model states it: mask at b1 plus the potential of what is flipped.
    observable_flips = mask[present].sum(0) % 2 == 1
    flipped = detector_flips[:n] % 2 == 1
    if len(observable_flips) and potential.any():
        observable_flips = observable_flips ^ bool((flipped & potential).sum() % 2)
    probability = np.minimum(np.minimum(odd, even), 0.5)
    keep = np.flatnonzero(probability > 0.0)
    return DecodingGraph(
        num_detectors=n,
        num_vertices=num_vertices,
        edges=np.ascontiguousarray(ends[keep]),
        probability=probability[keep],
        mask=np.ascontiguousarray(mask[keep]),
        potential=potential,
        detector_flips=flipped,
        observable_flips=np.asarray(observable_flips, dtype=np.bool_),
        free_flips=np.array([parity(some)[0] for some in free]),
        free_stays=np.array([parity(some)[1] for some in free]),
        sources=tuple(members[e] for e in keep),
    )


def _potential(model: ErrorModel, flips: list[bool]) -> BoolArray:
    """Return phi with flips = phi(u) + phi(v) for every mechanism of two detectors."""
    n = model.num_detectors
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for k, m in enumerate(model.mechanisms):
        if len(m.detectors) == 2 and m.probability > 0.0:
            for d in m.detectors:
                neighbours[d].append(k)
    phi: Array = np.full(n, -1, dtype=np.int8)
    reached = np.full(n, -1, dtype=np.int64)  # by which mechanism
    for root in range(n):
        if phi[root] >= 0:
            continue
        phi[root], stack = 0, [root]
        while stack:
            u = stack.pop()
            for k in neighbours[u]:
                a, b = model.mechanisms[k].detectors
                v = a + b - u
                if phi[v] < 0:
                    phi[v], reached[v] = phi[u] ^ flips[k], k
                    stack.append(v)
                elif phi[v] != phi[u] ^ flips[k]:
                    raise _winding_error(model, [k, *_cycle(model, reached, u, v)])
    return np.asarray(phi == 1)


def _cycle(model: ErrorModel, reached: Array, u: int, v: int) -> list[int]:
    """Return the mechanisms of the tree path between two detectors."""

    def way(d: int) -> list[int]:
        path = []
        while reached[d] >= 0:
            k = int(reached[d])
            path.append(k)
            a, b = model.mechanisms[k].detectors
            d = a + b - d
        return path

    return sorted(set(way(u)) ^ set(way(v)))


def _winding_error(model: ErrorModel, cycle: list[int]) -> NotMatchableError:
    listed = [str(model.mechanisms[k]) for k in cycle]
    shown = "; ".join(listed[:6]) + ("; …" if listed[6:] else "")
    msg = (
        f"the observable winds around a hole: the closed chain of {len(cycle)} mechanisms "
        f"{shown} flips it without reaching the boundary, so that its logical classes are no "
        'parities at a boundary; method="matching" takes this model'
    )
    return NotMatchableError(msg, mechanisms=cycle, instructions=listed)
