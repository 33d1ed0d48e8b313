"""Covers of lattices with long edges, for lower bounds: both ends of each in one strip."""

from __future__ import annotations

import numpy as np

from planaris.models import IsingModel
from planaris.subgraphs.covers import (
    Cover,
    LatticePlaces,
    StripShape,
    make_cover,
    next_on_line,
    shared_lines,
)
from planaris.typing import LongArray


def conditional_cover(model: IsingModel, places: LatticePlaces, shape: StripShape) -> Cover:
    """Return strips for bounds from below, in which one end of each extra edge is shared.

    That end is a guest in the strip of the other one. Where a strip holds both, both are
    shared, and the edge is a piece of its own. Such spins have no context.

    >>> from planaris.subgraphs.covers import lattice_places
    >>> square = [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8)]
    >>> square += [(k, k + 3) for k in range(6)] + [(0, 8)]
    >>> model = IsingModel(square, 1.0)
    >>> cover = conditional_cover(model, lattice_places(model), StripShape(1, 0))
    >>> cover.copies.tolist()
    [2, 1, 1, 2, 2, 2, 1, 1, 1]
    """
    return _Guests(model, places, shape).cover()


class _Guests:
    """Decides edge by edge which end becomes a guest where."""

    def __init__(self, model: IsingModel, places: LatticePlaces, shape: StripShape) -> None:
        self.model, self.places, self.shape = model, places, shape
        self.lines = shared_lines(places, shape.width)
        count = model.num_spins
        self.on_line = np.isin(places.lane, self.lines)
        self.root = np.zeros(count, dtype=bool)
        self.crowd = np.zeros(count, dtype=np.int64)
        self.guests: list[dict[int, int]] = [{} for _ in range(len(self.lines) - 1)]
        self.held: list[list[int]] = [[] for _ in self.guests]
        self.alone: list[int] = []
        order = np.argsort(model.edges.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(model.edges.ravel(), minlength=count))
        self.near = np.split(model.edges.ravel().reshape(-1, 2)[:, ::-1].ravel()[order], ends[:-1])

    def strips_of(self, spin: int) -> list[int]:
        """Return the strips that hold a spin on the lattice."""
        lane = int(self.places.lane[spin])
        return [k for k in range(len(self.guests)) if self.lines[k] <= lane <= self.lines[k + 1]]

    def make_root(self, spin: int) -> None:
        if not self.root[spin]:
            self.root[spin] = True
            self.crowd[self.near[spin]] += 1

    def place(self, edge: int) -> None:
        u, v = self.model.edges[edge].tolist()
        at_u, at_v = self.strips_of(u), self.strips_of(v)
        if not set(at_u) & set(at_v):
            # Shared already, then the one with fewer shared neighbours.
            keys = [(not self.root[s], not self.on_line[s], self.crowd[s]) for s in (u, v)]
            guest, host, there = (u, v, at_v) if keys[0] <= keys[1] else (v, u, at_u)
            strip = there[0]
            if guest not in self.guests[strip]:
                self.make_root(guest)
                self.guests[strip][guest] = host
                self.held[strip].append(edge)
                return
        self.make_root(u)
        self.make_root(v)
        self.alone.append(edge)

    def cover(self) -> Cover:
        """Return the pieces."""
        extra = np.flatnonzero(self.places.extra)
        for edge in extra.tolist():
            self.place(edge)
        lanes = self.places.lane[self.model.edges]
        pieces: list[tuple[LongArray, LongArray]] = []
        for k, (guests, held) in enumerate(zip(self.guests, self.held, strict=True)):
            a, b = self.lines[k], self.lines[k + 1]
            inside = ((lanes >= a) & (lanes <= b)).all(1) & ~self.places.extra
            edges = np.concatenate([np.flatnonzero(inside), np.array(held, dtype=np.int64)])
            pieces.append((self._spins(int(a), int(b), guests), edges))
        num_main = len(pieces)
        pieces += [(self.model.edges[e].astype(np.int64), np.array([e])) for e in self.alone]
        context = next_on_line(self.places, self.on_line)
        return make_cover(self.model, pieces, np.where(self.root, -1, context), num_main)

    def _spins(self, a: int, b: int, guests: dict[int, int]) -> LongArray:
        """Return the spins of a strip in order: shared ones after the others of their column."""
        places, lag = self.places, self.shape.lag
        own = np.flatnonzero((places.lane >= a) & (places.lane <= b))
        hosts = np.array(list(guests.values()), dtype=np.int64)
        spins = np.concatenate([own, np.array(list(guests), dtype=np.int64)])
        late = np.where(self.on_line[own], lag, 0)
        when = np.concatenate([places.position[own] + late, places.position[hosts] + lag])
        shared = (self.on_line | self.root)[own].astype(np.int64)
        turn = np.concatenate([shared, np.full(len(hosts), 2)])
        order: LongArray = spins[np.lexsort((places.lane[spins], turn, when))]
        return order
