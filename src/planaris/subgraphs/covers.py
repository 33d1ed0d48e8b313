"""Pieces of small width that share spins, and together hold every edge of a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planaris.kernels.graph import connected_components
from planaris.kernels.piece_bounds import PieceSweep
from planaris.models import IsingModel
from planaris.models.base import once_per_model
from planaris.typing import BoolArray, LongArray

MAX_BITS = 24
"""Most spins in the table of a piece."""

LARGEST_COMPONENT = 12
"""Most spins of a component of extra edges that becomes one piece."""

LEAST_SHARE = 0.25
"""Edges per spin from which a difference of spin numbers counts as a direction of a lattice."""


@dataclass(frozen=True, eq=False)
class Cover:
    """Pieces of a model, their spins in the order in which they are eliminated.

    Attributes
    ----------
    model : IsingModel
        The model.
    spin_offsets, spins : numpy.ndarray
        Spins of every piece, one piece after the other; a spin of several pieces is shared.
    edge_offsets, edges : numpy.ndarray
        Edges of the model that every piece holds, with both ends.
    context : numpy.ndarray
        For every spin of the model a shared one that its probability may depend on, or -1. It
        comes later in every piece that holds the spin.
    num_main : int
        The first pieces are the main ones; the others hold edges that these leave out.
    """

    model: IsingModel
    spin_offsets: LongArray
    spins: LongArray
    edge_offsets: LongArray
    edges: LongArray
    context: LongArray
    num_main: int

    @cached_property
    def copies(self) -> LongArray:
        """The number of pieces that hold each spin."""
        return np.bincount(self.spins, minlength=self.model.num_spins)

    @cached_property
    def holders(self) -> LongArray:
        """The number of pieces that hold each edge."""
        return np.bincount(self.edges, minlength=self.model.num_edges)

    @cached_property
    def sweep(self) -> PieceSweep:
        """The compiled sums. ``OverflowError`` if a table would be too large."""
        place = np.full(self.model.num_spins, -1)
        ends, context = np.empty((len(self.edges), 2), np.int32), np.full(len(self.spins), -1)
        for k in range(len(self.spin_offsets) - 1):
            spins = self.spins[self.spin_offsets[k] : self.spin_offsets[k + 1]]
            place[:] = -1
            place[spins] = np.arange(len(spins))
            some = slice(self.edge_offsets[k], self.edge_offsets[k + 1])
            ends[some] = place[self.model.edges[self.edges[some]]]
            after = self.context[spins]
            here = np.where(after >= 0, place[after], -1)
            context[self.spin_offsets[k] : self.spin_offsets[k + 1]] = here
        shared = (self.copies[self.spins] > 1).astype(np.uint8)
        return PieceSweep(
            self.spin_offsets, self.edge_offsets, ends, shared, context.astype(np.int32), MAX_BITS
        )


def make_cover(
    model: IsingModel,
    pieces: list[tuple[LongArray, LongArray]],
    context: LongArray,
    num_main: int | None = None,
) -> Cover:
    """Return the cover by pieces (spins in the order of their elimination, edges).

    All are main ones unless ``num_main`` says otherwise. Contexts of spins that are not shared,
    or that are not shared themselves, are dropped.

    >>> model = IsingModel([(0, 1), (1, 2)], 1.0)
    >>> both = [(np.array([0, 1]), np.array([0])), (np.array([1, 2]), np.array([1]))]
    >>> make_cover(model, both, np.full(3, -1)).copies.tolist()
    [1, 2, 1]
    """
    spins = [np.asarray(some, dtype=np.int64) for some, _ in pieces]
    edges = [np.asarray(some, dtype=np.int64) for _, some in pieces]
    none = [np.zeros(0, dtype=np.int64)]
    flat = np.concatenate(none + spins)
    shared = np.bincount(flat, minlength=model.num_spins) > 1
    kept = np.where(shared & (context >= 0) & shared[context], context, -1)
    return Cover(
        model,
        np.cumsum([0, *(len(some) for some in spins)]),
        flat,
        np.cumsum([0, *(len(some) for some in edges)]),
        np.concatenate(none + edges),
        kept,
        len(pieces) if num_main is None else num_main,
    )


# -- lattices -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LatticePlaces:
    """Coordinates of spins on a lattice, and the edges that join no neighbours.

    Attributes
    ----------
    position, lane, across : numpy.ndarray
        Coordinates of every spin: along the longest side, along the next one in two dimensions
        and the shortest in three, and along the side that is left (zero in two dimensions).
    sides : tuple of int
        The number of positions, of lanes, and of spins across.
    extra : numpy.ndarray
        True for edges that do not join neighbours on the lattice.
    """

    position: LongArray
    lane: LongArray
    across: LongArray
    sides: tuple[int, int, int]
    extra: BoolArray


@once_per_model
def lattice_places(model: IsingModel) -> LatticePlaces | None:
    """Return places on a lattice of two or three dimensions, numbered line by line.

    Edges may be missing, and up to half as many as there are spins may be extra ones.

    >>> edges = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5), (0, 5)]
    >>> places = lattice_places(IsingModel(edges, 1.0))
    >>> places.position.tolist(), places.lane.tolist(), places.extra.tolist()[-2:]
    ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [False, True])
    """
    n = model.num_spins
    if n < 4 or model.num_edges < 4:
        return None
    step = np.abs(model.edges[:, 0] - model.edges[:, 1])
    steps = np.flatnonzero(np.bincount(step, minlength=2) >= LEAST_SHARE * n).tolist()
    if len(steps) not in (2, 3) or steps[0] != 1:
        return None
    if any(b % a or b == a for a, b in zip(steps, [*steps[1:], n], strict=True)):
        return None
    sides = [b // a for a, b in zip(steps, [*steps[1:], n], strict=True)]
    coordinates = np.array([np.arange(n) // a % side for a, side in zip(steps, sides, strict=True)])
    ends = coordinates[:, model.edges]
    near = np.abs(ends[..., 0] - ends[..., 1]).sum(0) == 1
    if np.count_nonzero(~near) > n // 2:
        return None
    order = np.argsort(-np.array(sides), kind="stable").tolist()
    along, lane, across = order[0], order[-1], order[1] if len(order) == 3 else -1
    return LatticePlaces(
        coordinates[along],
        coordinates[lane],
        coordinates[across] if across >= 0 else np.zeros(n, dtype=np.int64),
        (sides[along], sides[lane], sides[across] if across >= 0 else 1),
        ~near,
    )


@dataclass(frozen=True)
class StripShape:
    """How a lattice is cut into strips that share lines of spins.

    Attributes
    ----------
    width : int
        Lines inside a strip, between two lines that it shares with its neighbours.
    lag : int
        Columns by which shared spins are eliminated after the others.
    """

    width: int
    lag: int

    def bits(self, across: int) -> int:
        """Return the spins in a table of a strip with two neighbours."""
        return across * (self.width + 2 * (self.lag + 1))


def shared_lines(places: LatticePlaces, width: int) -> LongArray:
    """Return the lines before, between and after the strips; the first and last lie outside.

    >>> from planaris import generate
    >>> model = IsingModel(generate.square_lattice(9).edges, 1.0)
    >>> shared_lines(lattice_places(model), 4).tolist()
    [-1, 4, 9]
    """
    lanes = places.sides[1]
    if width == 0:  # two lines each
        return np.arange(lanes)
    strips = max(1, round((lanes + 1) / (width + 1)))
    return np.linspace(-1, lanes, strips + 1).round().astype(np.int64)


def strip_cover(model: IsingModel, places: LatticePlaces, shape: StripShape) -> Cover:
    """Return strips that share lines, for bounds from above; extra edges are other pieces.

    >>> from planaris import generate
    >>> model = IsingModel(generate.square_lattice(6, 5).edges, 1.0)
    >>> cover = strip_cover(model, lattice_places(model), StripShape(2, 0))
    >>> len(cover.spin_offsets) - 1, cover.sweep.bits().tolist()
    (2, [3, 3])
    """
    lines = shared_lines(places, shape.width)
    shared = np.isin(places.lane, lines)
    late = places.position + np.where(shared, shape.lag, 0)
    rank = np.empty(model.num_spins, dtype=np.int64)
    order = np.lexsort((places.across, places.lane, shared, late))
    rank[order] = np.arange(model.num_spins)
    pieces = []
    lane = places.lane[order]
    first, second = places.lane[model.edges[:, 0]], places.lane[model.edges[:, 1]]
    low, high = np.minimum(first, second), np.maximum(first, second)
    for a, b in zip(lines[:-1].tolist(), lines[1:].tolist(), strict=True):
        held = (low >= a) & (high <= b) & ~places.extra
        pieces.append((order[(lane >= a) & (lane <= b)], np.flatnonzero(held)))
    num_main = len(pieces)
    pieces += _components(model, np.flatnonzero(places.extra), rank)
    context = next_on_line(places, shared)
    if len(pieces) > num_main:  # which do not hold the contexts of their spins
        context[:] = -1
    return make_cover(model, pieces, context, num_main)


def _components(
    model: IsingModel, edges: LongArray, rank: LongArray
) -> list[tuple[LongArray, LongArray]]:
    """Return pieces for some edges: what they connect, or edge by edge where that is much."""
    ends = np.ascontiguousarray(model.edges[edges])
    label = connected_components(model.num_spins, ends) if len(edges) else np.zeros(0, np.int64)
    of_edge = label[ends[:, 0]] if len(edges) else label
    size = np.bincount(label, minlength=1)
    large = size[of_edge] > LARGEST_COMPONENT
    of_edge = np.where(large, len(size) + np.arange(len(edges)), of_edge)
    order = np.argsort(of_edge, kind="stable")
    pieces = []
    for some in np.split(edges[order], np.flatnonzero(np.diff(of_edge[order])) + 1):
        spins = np.unique(model.edges[some]).astype(np.int64)
        if len(some):
            pieces.append((spins[np.argsort(rank[spins])], some))
    return pieces


def next_on_line(places: LatticePlaces, shared: BoolArray) -> LongArray:
    """Return the spin after each shared one on its line, or -1.

    >>> from planaris import generate
    >>> places = lattice_places(IsingModel(generate.square_lattice(2, 3).edges, 1.0))
    >>> next_on_line(places, places.lane == 1).tolist()
    [-1, -1, -1, 4, 5, -1]
    """
    length = places.sides[0]
    place = np.full((places.sides[1], places.sides[2], length + 1), -1)
    place[places.lane, places.across, places.position] = np.arange(len(shared))
    after = place[places.lane, places.across, places.position + 1]
    return np.where(shared, after, -1)


def rods(places: LatticePlaces, width: int) -> list[LongArray]:
    """Return the spins of rods along the longest side, at most ``width`` of them in a section.

    Of all blocks of that size those that cut fewest edges.

    >>> cube = [(u, v) for u in range(27) for v in range(27) if v - u == 9 and u < 18
    ...         or v - u == 3 and u % 9 < 6 or v - u == 1 and u % 3 < 2]
    >>> [len(rod) for rod in rods(lattice_places(IsingModel(cube, 1.0)), 6)]
    [18, 9]
    """
    _, lanes, across = places.sides
    best = (np.inf, 1, 1)
    for b in range(1, min(across, width) + 1):
        down, right = -(-lanes // min(width // b, lanes)), -(-across // b)
        best = min(best, ((down - 1) * across + (right - 1) * lanes, down, right))
    _, down, right = best
    row, column = places.lane * down // lanes, places.across * right // across
    return [np.flatnonzero((row == i) & (column == j)) for i in range(down) for j in range(right)]
