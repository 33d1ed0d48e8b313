"""The Pfaffian evaluator behind a plan: a graph on a surface, split and dissected once.

It also turns sums over cuts into results, with value, error and certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.embed import Embedding, split_faces
from planaris.embed.homology import sign_structures
from planaris.errors import MethodError, ModelError
from planaris.gpu.fronts import DeviceFronts
from planaris.kernels.cuts import CutPacking
from planaris.kernels.graph import connected_components
from planaris.kernels.graph import face_centres as centres_of_faces
from planaris.kernels.pfaffian import Elimination
from planaris.kernels.plane_models import PlaneModels
from planaris.planar.ground_state import gauge_spins
from planaris.planar.pfaffian.estimate import EPSILON
from planaris.result import CutSum, LogPartition, Proof, Stats
from planaris.typing import ArrayLike, FloatArray, Int8Array, IntArray

FACE_LENGTH = 8
"""Longer faces are split by chords of coupling zero."""

BYTES = {
    "log Z": 65.0,
    "marginals": 140.0,
    "proofs": 100.0,
    "proved marginals": 340.0,
    "correlations": 140.0,
    "samples": 140.0,
}
"""Memory per edge and per bit of their number: separators of m edges are of size sqrt(m).
Measured on Gaussian lattices of 100² to 400² at all temperatures, with a quarter as much again to
spare. Double-double, and couplings of one size at low temperature, take up to twice as much, for
which the default limit leaves room."""

MAX_GENUS = 6
"""4^6 = 4096 eliminations."""

MOST_WORK = 1e9
"""Multiplications, about, above which the threads share one model instead of one model each."""


WEAK_COUPLING = 3.0
"""Plane models with couplings up to this need no certificate: verify recomputes log Z without."""


@dataclass(frozen=True, eq=False, repr=False)
class CutSumCertificate(Proof):
    """The faces, the state and the order of a sum over cuts, found when they are asked for.

    Attributes
    ----------
    embedding : Embedding
        The surface.
    couplings : numpy.ndarray
        One per edge.
    biased : bool
        Whether the last spin is a bias spin, held at +1, and no spin of the model.
    """

    embedding: Embedding
    couplings: FloatArray
    biased: bool = False

    @cached_property
    def _gauge(self) -> tuple[Int8Array, CutPacking]:
        spins, unsatisfied = gauge_spins(self.embedding, self.couplings)
        return spins, unsatisfied.certificate

    @property
    def spins(self) -> Int8Array:
        """The state that cuts are relative to."""
        spins = self._gauge[0]
        return spins[:-1] * spins[-1] if self.biased else spins

    @property
    def packing(self) -> CutPacking | None:
        """The sets of faces that prove it a ground state; None on surfaces of higher genus."""
        return None if self.embedding.genus else self._gauge[1]

    def without_bias(self) -> CutSumCertificate:
        """Return it for the model whose fields are couplings to the last spin, held at +1."""
        return replace(self, biased=True)

    def as_proof(self) -> CutSum:
        """Return it as plain arrays, for :mod:`planaris.verify` and for files."""
        none: IntArray = np.zeros(0, dtype=np.int32)
        no_values: FloatArray = np.zeros(0)
        sets = self.packing
        return CutSum(
            walk=self.embedding.face_walk,
            offsets=self.embedding.face_offsets,
            spins=self.spins,
            order=none if sets is None else sets.order,
            start=none if sets is None else sets.start,
            stop=none if sets is None else sets.stop,
            parent=none if sets is None else sets.parent,
            values=no_values if sets is None else sets.values,
        )


class PfaffianEvaluator:
    """The symbolic part of all Pfaffians of a graph; couplings come later.

    Parameters
    ----------
    embedding : Embedding
        A rotation system of genus at most 6.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of the vertices, to find good separators; NaN where there is none.

    Attributes
    ----------
    embedding, split : Embedding
        The surface, as given and with long faces split by chords, which come after the edges.
    num_spins, num_edges, genus : int
        Of the surface.
    """

    def __init__(self, embedding: Embedding, positions: ArrayLike | None) -> None:
        if embedding.genus > MAX_GENUS:
            msg = (
                f"`embedding` must have genus at most {MAX_GENUS}, got {embedding.genus}: "
                f"4^{embedding.genus} Pfaffians would be needed"
            )
            raise MethodError(msg, genus=embedding.genus)
        self.embedding, self.genus = embedding, embedding.genus
        self.num_spins, self.num_edges = embedding.num_vertices, embedding.num_edges
        self.split = split_faces(embedding, FACE_LENGTH)
        spots = None if positions is None else np.asarray(positions, dtype=np.float64)
        if spots is not None and spots.shape != (embedding.num_vertices, 2):
            msg = f"`positions` must have shape ({embedding.num_vertices}, 2), got {spots.shape}"
            raise ModelError(msg)
        self._centres = face_centres(self.split, spots)

    @cached_property
    def elimination(self) -> Elimination:
        """The dissection of the faces."""
        return self._dissect(UNLIMITED)

    def _dissect(self, budget: Budget) -> Elimination:
        s = self.split
        return Elimination(s.edges, s.rotation, s.offsets, self._centres, budget=budget)

    def prepare(self, budget: Budget) -> None:
        """Dissect now, so that it may be stopped."""
        if "elimination" not in self.__dict__:
            self.__dict__["elimination"] = self._dissect(budget)

    @cached_property
    def models(self) -> PlaneModels | None:
        """What evaluates many models at once; None for surfaces, and for graphs without edges."""
        if self.genus or not self.num_edges:
            return None
        outer = self.embedding.outer_faces
        return PlaneModels(
            self.elimination,
            self.embedding.num_faces,
            self.embedding.dual_edges,
            outer[outer >= 0],
            self.face_of_piece,
        )

    @cached_property
    def _on_devices(self) -> dict[str, DeviceFronts]:
        return {}

    def on_device(self, device: Any) -> DeviceFronts | None:
        """Return what evaluates many models on a GPU; None where :attr:`models` is None."""
        if self.models is None:
            return None
        name, embedding = str(device), self.embedding
        if name not in self._on_devices:
            self._on_devices[name] = DeviceFronts(
                self.elimination, embedding.edges, embedding.num_vertices, device
            )
        return self._on_devices[name]

    @property
    def in_batches(self) -> bool:
        """Whether models are so small that each is eliminated by one thread."""
        return self.models is not None and self.models.work <= MOST_WORK

    @cached_property
    def face_of_piece(self) -> IntArray:
        """The face that every face of the split embedding is a piece of."""
        return face_of_pieces(self.embedding, self.split)

    @cached_property
    def flips(self) -> Int8Array:
        """Sign flips of all structures, shape (4^genus, edges and chords)."""
        if self.genus == 0:
            return np.ones((1, self.split.num_edges), dtype=np.int8)
        return sign_structures(self.split)

    def check_memory(self, task: str, budget: Budget) -> None:
        """Refuse what the fronts of the elimination would not leave room for."""
        instead = "use planaris.ground_state or bounds, or a machine with more memory"
        budget.check_memory(self.memory(task), f"{task} of {self.num_spins} spins", instead)

    def memory(self, task: str) -> float:
        """Return how many bytes the fronts of the elimination take, about."""
        m = max(self.split.num_edges, 2)
        needed = BYTES[task] * m * math.log2(m)
        return needed * 4.0**self.genus if task == "samples" else needed

    # -- how its sums are stated --------------------------------------------------------------

    def certificate(self, couplings: FloatArray) -> CutSumCertificate | None:
        """Return what verify needs to recompute log Z; None for weakly coupled plane models."""
        if self.genus == 0 and np.abs(couplings).max(initial=0.0) <= WEAK_COUPLING:
            return None
        return CutSumCertificate(self.embedding, couplings.copy())

    def around(self, value: float, error: float, stats: Stats, **details: Any) -> LogPartition:
        """Return log Z with its estimated error."""
        return LogPartition.around(
            value,
            error,
            num_variables=self.num_spins,
            method="planar",
            proved=False,
            stats={**stats, "error": error},
            **details,
        )

    def bounds(self, couplings: FloatArray, lower: float, stats: Stats) -> LogPartition:
        """Return what holds without elimination: one state below, all states above."""
        size = float(np.abs(couplings).sum())
        upper = size + self.num_spins * math.log(2.0)
        slack = EPSILON * (size + self.num_spins)
        return LogPartition.between(
            lower - slack,
            upper + slack,
            value=lower,
            num_variables=self.num_spins,
            method="planar",
            stats={**stats, "error": upper - lower},
        )

    def __getstate__(self) -> dict[str, Any]:
        again = ("elimination", "flips", "models", "_on_devices")
        return {k: v for k, v in self.__dict__.items() if k not in again}


def face_centres(embedding: Embedding, positions: FloatArray | None) -> FloatArray:
    """Return two coordinates per face: the mean of its corners; none without positions.

    Corners without a position (NaN: a bias spin lies nowhere) do not count.

    Examples
    --------
    >>> k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> face_centres(Embedding.from_graph(k4, num_vertices=4), None).shape
    (0, 2)
    """
    if positions is None or not len(embedding.face_walk):
        return np.zeros((0, 2))
    spots = np.ascontiguousarray(positions, dtype=np.float64)
    walk, offsets = embedding.face_walk, embedding.face_offsets
    return centres_of_faces(embedding.edges, walk, offsets, spots)


def face_of_pieces(embedding: Embedding, split: Embedding) -> IntArray:
    """Return the face that every face of an embedding with chords is a piece of.

    The chords of ``split`` come after the edges of ``embedding``; they join the pieces.
    """
    half_edges = 2 * embedding.num_edges
    group = connected_components(split.num_faces, split.dual_edges[embedding.num_edges :])
    face_of_group = np.zeros(split.num_faces, dtype=np.int32)
    face_of_group[group[split.face_of[:half_edges]]] = embedding.face_of
    return face_of_group[group]
