"""Strips of a lattice with long edges: spins in the middle of these are shared by two strips."""

from __future__ import annotations

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.models import IsingModel
from planaris.subgraphs.covers import (
    Cover,
    LatticePlaces,
    make_cover,
    next_on_line,
    shared_lines,
)
from planaris.subgraphs.split_edges import Splitter
from planaris.typing import LongArray

MOST_OPEN = 4
"""Most long edges inside a strip that pass a column uncut; others are cut twice."""

MOST_NEIGHBOURS = 8
"""Most neighbours of a spin that are not eliminated before it."""

STRONGER = 0.5
"""Increase of the outer couplings of an edge that is cut twice."""


class SplitStrips:
    """Strips that share lines and the new spins of long edges, each of them in two pieces.

    Long edges from strip to strip are split, and both strips hold the new spin. Those inside a
    strip are kept as they are, or split twice, with a piece of its own for the part between the
    two new spins.

    Parameters
    ----------
    model : IsingModel
        A lattice of two dimensions with extra edges.
    places : LatticePlaces
        Where its spins lie.
    width : int
        Lines inside a strip.

    Examples
    --------
    >>> from planaris.subgraphs.covers import lattice_places
    >>> square = [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8)]
    >>> square += [(k, k + 3) for k in range(6)] + [(0, 8)]
    >>> model = IsingModel(square, 1.0)
    >>> strips = SplitStrips(model, lattice_places(model), 1)
    >>> cover = strips.cover(8)
    >>> strips.split.model.edges[12:].tolist(), cover.copies.tolist()
    ([[0, 9], [8, 9]], [1, 1, 1, 2, 2, 2, 1, 1, 1, 2])
    """

    def __init__(self, model: IsingModel, places: LatticePlaces, width: int) -> None:
        self.model, self.places = model, places
        self.lines = shared_lines(places, width)
        count = len(self.lines) - 1
        self.held: list[list[int]] = [[] for _ in range(count)]
        self.guests: list[dict[int, int]] = [{} for _ in range(count)]
        self.between: list[tuple[int, int, int]] = []
        self.splitter = Splitter(model)
        self._place_edges()
        self.split = self.splitter.done()
        on_line = np.isin(places.lane, self.lines)
        none = np.full(self.split.model.num_spins - model.num_spins, -1)
        self.context = np.concatenate([next_on_line(places, on_line), none])
        self.shared = np.concatenate([on_line, none < 0])

    # -- which strip holds what -------------------------------------------------------------

    def _strips_of(self, spin: int) -> list[int]:
        lane = int(self.places.lane[spin])
        pairs = zip(self.lines[:-1].tolist(), self.lines[1:].tolist(), strict=True)
        return [k for k, (a, b) in enumerate(pairs) if a <= lane <= b]

    def _place_edges(self) -> None:
        inside: list[list[int]] = [[] for _ in self.held]
        for edge in np.flatnonzero(self.places.extra).tolist():
            u, v = self.model.edges[edge].tolist()
            here, there = self._strips_of(u), self._strips_of(v)
            if both := set(here) & set(there):
                inside[min(both, key=lambda k: (len(inside[k]), k))].append(edge)
            else:
                a, b = (min(some, key=lambda k: (len(self.guests[k]), k)) for some in (here, there))
                new = self.splitter.split(edge)
                self._host(a, edge, new, u)
                self._host(b, self.splitter.last_edge, new, v)
        for k, edges in enumerate(inside):
            self._keep_or_split(k, edges)

    def _host(self, strip: int, edge: int, new: int, host: int) -> None:
        self.held[strip].append(edge)
        self.guests[strip][new] = host

    def _keep_or_split(self, strip: int, edges: list[int]) -> None:
        """Keep edges inside a strip while few pass any column, short and strong ones first."""
        columns = np.sort(self.places.position[self.model.edges[edges]], axis=1)
        size = np.tanh(np.abs(self.model.couplings[edges]))
        passing = np.zeros(self.places.sides[0], dtype=np.int64)
        first = np.argsort(-size / (1 + columns[:, 1] - columns[:, 0]), kind="stable")
        for k in first.tolist():
            edge, passed = edges[k], slice(columns[k, 0], columns[k, 1])
            if np.all(passing[passed] < MOST_OPEN):
                passing[passed] += 1
                self.held[strip].append(edge)
                continue
            u, v = self.model.edges[edge].tolist()
            outer = abs(float(self.model.couplings[edge])) + STRONGER
            new = self.splitter.split(edge, outer)
            other = self.splitter.last_edge
            newer = self.splitter.split(other, outer)
            self._host(strip, edge, new, u)
            self._host(strip, other, newer, v)
            self.between.append((new, newer, self.splitter.last_edge))

    # -- orders -----------------------------------------------------------------------------

    def cover(self, bits: int, budget: Budget = UNLIMITED) -> Cover:
        """Return the pieces in orders for tables of about so many spins.

        Lattice spins of one strip go column by column. Shared spins go when there is no more room,
        the first column first. ``TimeoutError`` when the time is over before.
        """
        model, places = self.split.model, self.places
        lanes = places.lane[self.model.edges]
        pieces: list[tuple[LongArray, LongArray]] = []
        for k, (held, guests) in enumerate(zip(self.held, self.guests, strict=True)):
            a, b = self.lines[k], self.lines[k + 1]
            inside = np.flatnonzero(((lanes >= a) & (lanes <= b)).all(1) & ~places.extra)
            edges = np.concatenate([inside, np.array(held, dtype=np.int64)])
            own = np.flatnonzero((places.lane >= a) & (places.lane <= b))
            spins = np.concatenate([own, np.array(list(guests), dtype=np.int64)])
            hosts = np.concatenate([own, np.array(list(guests.values()), dtype=np.int64)])
            first = np.lexsort((spins, places.lane[hosts], places.position[hosts]))
            order = _Order(self, spins[first].tolist(), model.edges[edges].tolist(), len(inside))
            pieces.append((np.array(order.run(bits, budget), dtype=np.int64), edges))
        pieces += [(np.array(pair), np.array([edge])) for *pair, edge in self.between]
        return make_cover(model, pieces, self.context)


class _Order:
    """An order of the spins of a strip.

    ``spins`` come column by column, edges of the lattice before others.
    """

    def __init__(
        self,
        strips: SplitStrips,
        spins: list[int],
        edges: list[list[int]],
        num_lattice_edges: int,
    ) -> None:
        self.num_lattice_spins = strips.model.num_spins
        self.rank = {spin: k for k, spin in enumerate(spins)}
        self.shared = {spin for spin in spins if strips.shared[spin]}
        self.near: dict[int, list[int]] = {spin: [] for spin in spins}
        self.beside: dict[int, list[int]] = {spin: [] for spin in spins}
        for k, (u, v) in enumerate(edges):
            for a, b in ((u, v), (v, u)):
                self.near[a].append(b)
                if k < num_lattice_edges:
                    self.beside[a].append(b)
        self.before = {  # spins whose probability depends on the key go first
            int(strips.context[spin]): spin for spin in spins if strips.context[spin] >= 0
        }
        self.order: list[int] = []
        self.gone: set[int] = set()
        self.open: set[int] = set()

    def run(self, bits: int, budget: Budget) -> list[int]:
        for spin in self.rank:
            if spin in self.shared:
                continue
            budget.check()
            while self._table(spin) > bits and (late := self._ready()):
                self._remove(min(late, key=self.rank.__getitem__))
            self._remove(spin)
        for spin in self.rank:
            if spin not in self.gone:
                self._remove(spin)
        return self.order

    def _fresh(self, spin: int) -> list[int]:
        return [v for v in self.near[spin] if v not in self.gone and v not in self.open]

    def _table(self, spin: int) -> int:
        """Return the spins in the table when one is removed; the first new one takes its place."""
        return len(self.open | {spin}) + max(len(self._fresh(spin)) - 1, 0)

    def _ready(self) -> list[int]:
        """Return open shared spins that may go, and whose lattice neighbours are open or gone."""
        return [
            spin
            for spin in self.open & self.shared
            if (spin not in self.before or self.before[spin] in self.gone)
            and all(v in self.open or v in self.gone for v in self.beside[spin])
        ]

    def _remove(self, spin: int) -> None:
        """Remove a spin, after new spins beside it where there are too many of them."""
        later = [v for v in self.near[spin] if v not in self.gone]
        new = [v for v in self._fresh(spin) if v >= self.num_lattice_spins]
        for early in new[: max(len(later) - MOST_NEIGHBOURS, 0)]:
            self._remove(early)
        self.open |= set(self._fresh(spin))
        self.open.discard(spin)
        self.gone.add(spin)
        self.order.append(spin)
