"""log Z of plane Ising models of any size at any temperature; see docs/theory/pfaffian.md.

Z = 2^c exp(Σ g) Pf(K): c components, g = J s s the couplings relative to a gauge state s, and
K the Kasteleyn matrix with one row per half-edge ("leg").
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from planaris.embed import Embedding, embed, split_faces
from planaris.errors import MethodError, ModelError
from planaris.kernels.pfaffian import Elimination, Factorization, LogPfaffian
from planaris.kernels.spins import spins_from_disagreements
from planaris.models import IsingModel
from planaris.models.arrays import as_positions
from planaris.planar.faces import face_centres
from planaris.planar.gauge import gauge_spins
from planaris.progress import ProgressCallback, ProgressOption, watch
from planaris.result import LogPartition, Marginals, Stats
from planaris.typing import ArrayLike, BoolArray, FloatArray, Int8Array

FACE_LENGTH = 8
"""Longer faces are split by chords of coupling zero."""

WEAK_COUPLING = 1.0
"""Up to here neither gauge nor scaling is needed: all entries are of one size."""

MARGINAL_ERROR = 1e-9
"""Residual of the inverse above which marginals are computed again in double-double."""

SAMPLE_EXCESS = 1e-7
"""How far a conditional probability may leave [0, 1] before a sample is drawn again."""

EPSILON = float(np.finfo(np.float64).eps)


def plan(graph: Any, *, positions: ArrayLike | None = None) -> Plan:
    """Prepare a plane graph for many evaluations with different couplings.

    Parameters
    ----------
    graph : IsingModel, Embedding, networkx graph, or pair (num_vertices, edges)
        What :func:`planaris.embed.embed` takes.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of the vertices; they only serve to find good separators. Default: those of
        the model.

    Examples
    --------
    >>> triangle = plan((3, [(0, 1), (1, 2), (0, 2)]))
    >>> round(float(triangle.log_partition([1.0, 1.0, -1.0])), 6)
    2.797846
    """
    if positions is None and isinstance(graph, IsingModel):
        positions = graph.positions
    return Plan(embed(graph), positions=positions)


@dataclass(frozen=True)
class _Entries:
    """Logarithms of the matrix entries for one vector of couplings."""

    spins: Int8Array
    gauged: FloatArray
    scale: FloatArray

    @property
    def face(self) -> FloatArray:
        return self.scale - np.repeat(self.gauged, 2)


class Plan:
    """A plane graph, dissected: symbolic work done once, numeric work for every coupling.

    Parameters
    ----------
    embedding : Embedding
        A plane rotation system.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of the vertices, to find good separators.

    Examples
    --------
    >>> square = Plan(Embedding.from_graph([(0, 1), (1, 2), (2, 3), (3, 0)], num_vertices=4))
    >>> [round(float(z), 6) for z in square.log_partition([[0, 0, 0, 0], [1, 1, 1, 1]])]
    [2.772589, 4.797714]
    """

    def __init__(self, embedding: Embedding, *, positions: ArrayLike | None = None) -> None:
        if embedding.genus:
            msg = f"`embedding` must be plane, got genus {embedding.genus}"
            raise MethodError(msg, genus=embedding.genus)
        self.embedding = embedding
        self._split = split_faces(embedding, FACE_LENGTH)
        spots = None if positions is None else as_positions(positions, embedding.num_vertices)
        self._centres = face_centres(self._split, spots)

    @cached_property
    def _elimination(self) -> Elimination:
        s = self._split
        return Elimination(s.edges, s.rotation, s.offsets, self._centres)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_elimination"}

    @property
    def num_spins(self) -> int:
        """Number of spins."""
        return self.embedding.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of couplings."""
        return self.embedding.num_edges

    def __repr__(self) -> str:
        return f"Plan({self.num_spins} spins, {self.num_edges} edges)"

    # -- log Z --------------------------------------------------------------------------------

    def log_partition(
        self,
        couplings: ArrayLike,
        *,
        threads: int | None = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Compute the natural logarithm of the partition function.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding; every row of a batch is evaluated.
        threads : int, optional
            Default: the processors this process may use.
        progress : bool or callable, optional
            See :func:`planaris.progress.watch`.

        Returns
        -------
        LogPartition
            Or a list of them for a batch. ``stats["error"]`` is the estimated rounding error.
        """
        values = self._as_couplings(couplings)
        with watch("log Z", progress) as callback:
            found = [self._log_partition(J, _threads(threads), callback) for J in values]
        return found[0] if np.ndim(couplings) <= 1 else found

    def _as_couplings(self, couplings: ArrayLike) -> FloatArray:
        try:
            values = np.asarray(couplings, dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = f"`couplings` must hold numbers: {error}"
            raise ModelError(msg) from error
        if values.ndim == 0:
            values = np.full(self.num_edges, values)
        if values.ndim > 2 or values.shape[-1] != self.num_edges:
            msg = (
                f"`couplings` must have shape ({self.num_edges},) or (k, {self.num_edges}), "
                f"got {values.shape}"
            )
            raise ModelError(msg)
        if not np.isfinite(values).all():
            at = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
            msg = f"`couplings` must be finite, got {values[at]} at {at[-1]}"
            raise ModelError(msg, index=at[-1])
        return np.atleast_2d(values)

    def _entries(self, couplings: FloatArray, progress: ProgressCallback | None) -> _Entries:
        """Gauge and scale; see DESIGN of the numerics in docs/theory/pfaffian.md."""
        chords = self._split.num_edges - self.num_edges
        spins = np.ones(self.num_spins, dtype=np.int8)
        strong = couplings.size > 0 and float(np.abs(couplings).max()) > WEAK_COUPLING
        if strong:
            spins = gauge_spins(self.embedding, couplings, progress=progress)
        relative = np.where(self._agree(spins), couplings, -couplings)
        gauged = np.concatenate([relative, np.zeros(chords)])
        if strong:
            scale = self._elimination.scaling(gauged, progress=progress)
        else:
            scale = np.zeros(2 * len(gauged))
        return _Entries(spins, gauged, scale)

    def _log_partition(
        self, couplings: FloatArray, threads: int, progress: ProgressCallback | None
    ) -> LogPartition:
        entries = self._entries(couplings, progress)
        options: dict[str, Any] = {"threads": threads, "progress": progress}
        constant = self._constant(entries)
        # What rounding of the inputs alone does: sums of m numbers, exponents of their size.
        floor = EPSILON * (
            float(np.abs(entries.gauged).sum()) + float(np.abs(entries.face).sum()) / 2 + 8.0
        )
        for wide in (False, True):
            first, error, stats = self._estimate(entries, wide=wide, **options)
            if error <= 1e-13 * (abs(first.log_magnitude + constant) + self.num_edges) + 1e-12:
                value = first.log_magnitude + constant
                error = 4 * error + floor + EPSILON * abs(value)
                return LogPartition(
                    value, value - error, value + error, True, "planar", {**stats, "error": error}
                )
        return self._bounds(couplings, entries, stats)

    def _estimate(
        self, entries: _Entries, *, wide: bool, **options: Any
    ) -> tuple[LogPfaffian, float, Stats]:
        """Eliminate, and again in another way unless nothing can have gone wrong."""
        run = self._elimination.log_pfaffian
        signs = self._elimination.signs
        first = run(entries.face, entries.scale, signs, wide=wide, **options)
        error = 0.0
        sound = first.left_over == 0 and (wide or first.smallest_exponent > -900)
        calm = first.delayed == 0 and first.worst_ratio >= 0.1
        if not sound:
            error = math.inf
        elif not calm or np.abs(entries.gauged).max(initial=0.0) > 8.0:
            # Other rounding errors and other pivots: a row scaling off by up to e, a stricter
            # threshold. Errors of the two are independent, so their difference shows them.
            shift = np.random.default_rng(0).uniform(-1, 1, len(entries.scale))
            second = run(
                entries.face + shift,
                entries.scale + shift,
                signs,
                wide=wide,
                threshold=0.3,
                **options,
            )
            error = abs(second.log_magnitude - first.log_magnitude)
            if second.left_over or not math.isfinite(error):
                error = math.inf
        stats: Stats = {
            "precision": "double-double" if wide else "double",
            "delayed": first.delayed,
            "largest_front": first.largest_front,
            "worst_ratio": first.worst_ratio,
            "multiplications": first.multiplications,
        }
        return first, float(error), stats

    # -- marginals and samples ----------------------------------------------------------------

    def marginals(
        self,
        couplings: ArrayLike,
        *,
        threads: int | None = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Compute P(s_u = s_v) of every edge.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding; every row of a batch is evaluated.
        threads, progress
            As for :meth:`log_partition`.

        Returns
        -------
        Marginals
            Or a list of them for a batch. Without fields every spin is +1 with probability ½.
            ``stats["error"]`` bounds the residual of the inverse that the marginals come from.

        Examples
        --------
        >>> pair = plan((2, [(0, 1)]))
        >>> pair.marginals([1.0]).edges.round(6).tolist()
        [0.880797]
        """
        values = self._as_couplings(couplings)
        with watch("marginals", progress) as callback:
            found = [self._marginals(J, _threads(threads), callback) for J in values]
        return found[0] if np.ndim(couplings) <= 1 else found

    def _marginals(
        self, couplings: FloatArray, threads: int, progress: ProgressCallback | None
    ) -> Marginals:
        entries = self._entries(couplings, progress)
        for wide in (False, True):
            factors = self._factorize(entries, wide=wide, threads=threads, progress=progress)
            if factors is None:
                continue
            uncut, residual = factors.uncut(threads=threads, progress=progress)
            if residual <= MARGINAL_ERROR:
                break
        else:
            msg = (
                "the marginals of these couplings cannot be computed to any accuracy; "
                "their log partition function is still bounded by `log_partition`"
            )
            raise MethodError(msg)
        uncut = np.clip(uncut[: self.num_edges], 0.0, 1.0)
        edges = np.where(self._agree(entries.spins), uncut, 1.0 - uncut)
        stats: Stats = {
            "error": 4 * residual + 4 * EPSILON,
            "precision": "double-double" if wide else "double",
            "log_partition": self._constant(entries) + factors.log_pfaffian.log_magnitude,
        }
        return Marginals(np.full(self.num_spins, 0.5), edges, True, "planar", stats)

    def sample(
        self,
        couplings: ArrayLike,
        size: int,
        rng: np.random.Generator,
        *,
        threads: int | None = None,
        progress: ProgressOption = None,
    ) -> Int8Array:
        """Draw independent exact samples.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge; ``size`` samples are drawn for every row of a batch.
        size : int
            Number of samples.
        rng : numpy.random.Generator
            The samples are a function of its state and the couplings alone.
        threads, progress
            As for :meth:`log_partition`.

        Returns
        -------
        numpy.ndarray
            int8, shape (size, n) or (k, size, n), of -1 and +1.

        Examples
        --------
        >>> ring = plan((4, [(0, 1), (1, 2), (2, 3), (3, 0)]))
        >>> ring.sample([9.0, 9.0, 9.0, 9.0], 2, np.random.default_rng(0)).shape
        (2, 4)
        """
        if size < 0:
            msg = f"`size` must not be negative, got {size}"
            raise ModelError(msg)
        values = self._as_couplings(couplings)
        with watch("samples", progress) as callback:
            found = np.stack(
                [self._sample(J, int(size), rng, _threads(threads), callback) for J in values]
            )
        return found[0] if np.ndim(couplings) <= 1 else found

    def _sample(
        self,
        couplings: FloatArray,
        size: int,
        rng: np.random.Generator,
        threads: int,
        progress: ProgressCallback | None,
    ) -> Int8Array:
        entries = self._entries(couplings, progress)
        factors: dict[bool, Factorization | None] = {}
        result = np.empty((size, self.num_spins), dtype=np.int8)
        component = self.embedding.component_of
        for row in result:
            uniform = rng.random(self._split.num_edges)
            flips = 1 - 2 * rng.integers(0, 2, self.embedding.num_components, dtype=np.int8)
            for wide in (False, True):
                if wide not in factors:
                    factors[wide] = self._factorize(
                        entries, wide=wide, threads=threads, progress=progress
                    )
                held = factors[wide]
                if held is None:
                    continue
                cut, excess = held.sample(uniform, threads=threads, progress=progress)
                spins, contradiction = spins_from_disagreements(
                    self.num_spins, self._split.edges, cut
                )
                # Edges around a face are cut an even number of times: a contradiction or a
                # probability outside [0, 1] shows that rounding has decided an edge.
                if contradiction < 0 and excess <= SAMPLE_EXCESS:
                    break
            else:
                msg = "no exact sample of these couplings can be drawn in double-double"
                raise MethodError(msg)
            row[:] = spins * entries.spins * flips[component]
        return result

    def _factorize(self, entries: _Entries, *, wide: bool, **options: Any) -> Factorization | None:
        """Return the factors, or None where double has too narrow a range."""
        factors = self._elimination.factorize(
            entries.face, entries.scale, self._elimination.signs, wide=wide, **options
        )
        found = factors.log_pfaffian
        sound = found.left_over == 0 and (wide or found.smallest_exponent > -900)
        return factors if sound else None

    def _agree(self, spins: Int8Array) -> BoolArray:
        u, v = self.embedding.edges[:, 0], self.embedding.edges[:, 1]
        return np.asarray(spins[u] == spins[v])

    def _constant(self, entries: _Entries) -> float:
        """Return log Z - log Pf: the gauge state and the flips of every component."""
        return self.embedding.num_components * math.log(2.0) + float(entries.gauged.sum())

    def _bounds(self, couplings: FloatArray, entries: _Entries, stats: Stats) -> LogPartition:
        """Return what holds without elimination: one state below, all states above."""
        free = self.embedding.num_components * math.log(2.0)
        lower = float(entries.gauged.sum()) + free
        upper = float(np.abs(couplings).sum()) + self.num_spins * math.log(2.0)
        slack = EPSILON * (float(np.abs(couplings).sum()) + self.num_spins)
        stats = {**stats, "error": upper - lower}
        return LogPartition(lower, lower - slack, upper + slack, False, "planar", stats)


def _threads(threads: int | None) -> int:
    if threads is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if threads < 1:
        msg = f"`threads` must be at least 1, got {threads}"
        raise ModelError(msg)
    return int(threads)
