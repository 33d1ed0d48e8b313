"""States of low energy of many models of one graph, which eliminations are relative to."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planaris.gpu.compiler import compile_module, find_kernel
from planaris.gpu.device import import_torch
from planaris.typing import IntArray

THREADS, ANNEAL_THREADS = 32, 256
REPLICAS = 24
"""States of every model that are annealed."""


class GaugeKernels(Protocol):
    """The compiled kernels of gauge.cu."""

    def lower_energy(self, graph: bytes, couplings: Any, spins: Any, field: Any) -> None:
        """Flip spins and pairs of spins of every model; arrays have a column for each."""

    def anneal(self, colours: bytes, couplings: Any, arrays: tuple[Any, ...], count: int) -> None:
        """Anneal ``count`` states of every model into the first of ``arrays``, a row for each."""


class CudaGaugeKernels:
    """Kernels on a GPU."""

    def __init__(self, device: Any) -> None:
        few = compile_module("gauge.cu", device.index, THREADS=THREADS)
        many = compile_module("gauge.cu", device.index, THREADS=ANNEAL_THREADS)
        self._lower = find_kernel(few, "lower_energy", THREADS, 0)
        self._anneal = find_kernel(many, "anneal", ANNEAL_THREADS, 8)

    def lower_energy(self, graph: bytes, couplings: Any, spins: Any, field: Any) -> None:
        """Launch; one thread for each model."""
        models = couplings.shape[1]
        self._lower(-(-models // THREADS), graph, couplings, spins, field, models)

    def anneal(self, colours: bytes, couplings: Any, arrays: tuple[Any, ...], count: int) -> None:
        """Launch; one block for each model."""
        self._anneal(len(couplings), colours, couplings, *arrays, count)


class GaugeStates:
    """What finds states of low energy of models of one graph.

    Parameters
    ----------
    edges : numpy.ndarray, shape (m, 2)
        Of the graph.
    num_vertices : int
        Number of spins.
    device : torch.device
        Where couplings are.
    kernels : GaugeKernels
        What does it.
    """

    def __init__(
        self, edges: IntArray, num_vertices: int, device: Any, kernels: GaugeKernels
    ) -> None:
        self._num_vertices, self._device, self._kernels = num_vertices, device, kernels
        self._held: list[Any] = []  # keeps the memory that the structs point to
        flat = (*neighbours(edges, num_vertices), np.asarray(edges).ravel())
        addresses = [self._hold(x).data_ptr() for x in flat]
        self._graph = struct.pack("4Q2i", *addresses, num_vertices, len(edges))
        found = colours(edges, num_vertices)
        listed = (found.begin, found.first, found.heads)
        addresses = [self._hold(x).data_ptr() for x in listed]
        counts = len(found.begin) - 1, num_vertices, len(found.heads)
        self._colours = struct.pack("3Q2iq", *addresses, *counts)
        self._edge_of, self._place = (
            self._hold(found.edge_of).long(),
            self._hold(found.place).long(),
        )

    def _hold(self, array: IntArray) -> Any:
        found = import_torch().as_tensor(np.array(array, np.int32), device=self._device)
        self._held.append(found)
        return found

    def by_flips(self, couplings: Any) -> Any:
        """Return a row of spins ±1 (int8) for every row of couplings, by a few sweeps of flips."""
        torch = import_torch()
        columns = couplings.T.contiguous()
        shape = (self._num_vertices, columns.shape[1])
        spins = torch.empty(shape, dtype=torch.int8, device=self._device)
        field = torch.empty(shape, dtype=torch.float64, device=self._device)
        self._kernels.lower_energy(self._graph, columns, spins, field)
        return spins.T

    def by_annealing(self, couplings: Any) -> Any:
        """Return the same by annealing: energies within a hundredth of the lowest, about."""
        torch = import_torch()
        size = couplings.abs().mean(1, keepdim=True).clamp_min(1e-300)
        rows = (couplings / size).float()[:, self._edge_of].contiguous()
        kinds = (torch.int8, torch.int8, torch.int32, torch.int64)
        shape = (len(rows), self._num_vertices)
        arrays = tuple(torch.empty(shape, dtype=kind, device=self._device) for kind in kinds)
        self._kernels.anneal(self._colours, rows, arrays, REPLICAS)
        return arrays[0][:, self._place]


def neighbours(edges: IntArray, num_vertices: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return offsets, neighbours and edges of every vertex; loops are left out.

    >>> [x.tolist() for x in neighbours(np.array([[0, 1], [1, 1], [2, 1]]), 3)]
    [[0, 1, 3, 4], [1, 0, 2, 1], [0, 0, 2, 2]]
    """
    u, v = np.asarray(edges, dtype=np.int32).reshape(-1, 2).T
    real = np.flatnonzero(u != v).astype(np.int32)
    tails, heads = np.concatenate([u[real], v[real]]), np.concatenate([v[real], u[real]])
    order = np.argsort(tails, kind="stable")
    offsets = np.searchsorted(tails[order], np.arange(num_vertices + 1)).astype(np.int32)
    return offsets, heads[order], np.tile(real, 2)[order]


@dataclass(frozen=True, eq=False)
class Colours:
    """Vertices by colour: no two neighbours share one. All are arrays of int32.

    Attributes
    ----------
    begin : numpy.ndarray
        Where the places of a colour begin.
    first, heads, edge_of : numpy.ndarray
        By place: where its neighbours begin, the places and edges of these.
    place : numpy.ndarray
        Of every vertex.
    """

    begin: IntArray
    first: IntArray
    heads: IntArray
    edge_of: IntArray
    place: IntArray


def colours(edges: IntArray, num_vertices: int) -> Colours:
    """Colour the vertices of a graph, each with the first colour that no neighbour has.

    >>> found = colours(np.array([[0, 1], [1, 2], [2, 3], [0, 3]]), 4)
    >>> found.begin.tolist(), found.place.tolist()
    ([0, 2, 4], [0, 2, 1, 3])
    """
    offsets, heads, edge_of = neighbours(edges, num_vertices)
    first, head = offsets.tolist(), heads.tolist()
    colour = [-1] * num_vertices
    for v in range(num_vertices):
        taken = {colour[w] for w in head[first[v] : first[v + 1]]}
        colour[v] = next(c for c in range(len(taken) + 1) if c not in taken)
    order = np.argsort(colour, kind="stable")
    place = np.empty(num_vertices, dtype=np.int32)
    place[order] = np.arange(num_vertices, dtype=np.int32)
    sizes = np.diff(offsets)[order]
    ends = np.cumsum(sizes)
    at = np.arange(sizes.sum()) + np.repeat(offsets[:-1][order] - ends + sizes, sizes)
    counts = np.bincount(np.asarray(colour, dtype=np.int64), minlength=1)
    begin, starts = (np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in (counts, sizes))
    return Colours(begin, starts, place[heads[at]], edge_of[at], place)
