"""log Z, marginals and samples of Ising models on plane graphs and surfaces of low genus.

Z = 2^c exp(Σ g) Pf(K): c components, g = J s s the couplings relative to a gauge state s, and
K the Kasteleyn matrix with one row per half-edge ("leg"). On a surface of genus h the Pfaffian
becomes the mean of 4^h signed ones. See docs/theory/pfaffian.md.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from planaris.embed import Embedding, embed, split_faces
from planaris.embed.homology import sign_structures
from planaris.errors import MethodError, ModelError, within
from planaris.kernels.pfaffian import Elimination, Factorization, sample_surface
from planaris.kernels.spins import spins_from_disagreements
from planaris.memory import check_memory
from planaris.models import IsingModel
from planaris.planar.entries import Entries
from planaris.planar.estimate import EPSILON, SAFETY, SignedSum, estimate_log_pfaffian, is_sound
from planaris.planar.faces import face_centres
from planaris.planar.gauge import gauge_spins
from planaris.progress import ProgressCallback, ProgressOption, until, watch
from planaris.result import LogPartition, Marginals, Stats
from planaris.typing import Array, ArrayLike, BoolArray, FloatArray, Int8Array

FACE_LENGTH = 8
"""Longer faces are split by chords of coupling zero."""

MAX_GENUS = 6
"""4^6 = 4096 eliminations."""

WEAK_COUPLING = 1.0
"""Up to here no gauge is needed: all entries are of one size."""

MODERATE_COUPLING = 8.0
"""Up to here elimination is tried without scaling first."""

SIGNED_SUM_ERROR = 1e-9
"""Error of log Z up to which a sum of signed Pfaffians is still taken for exact."""

BYTES = {"log Z": 30.0, "marginals": 100.0, "correlations": 110.0, "samples": 110.0}
"""Memory per edge and per bit of their number: separators of m edges are of size sqrt(m).
Measured on lattices of 200² and 400², with half as much again to spare."""

MARGINAL_ERROR = 1e-9
"""Residual of the inverse above which marginals are computed again in double-double."""


CutSampler = Callable[[FloatArray], tuple[Array, int]]
"""From one number in [0, 1) per edge to a cut, and how many edges no weight decided."""


def plan(graph: Any, *, positions: ArrayLike | None = None) -> Plan:
    """Prepare a graph for many evaluations with different couplings.

    Parameters
    ----------
    graph : IsingModel, Embedding, networkx graph, or pair (num_vertices, edges)
        What :func:`planaris.embed.embed` takes; an Embedding may have a genus of up to 6.
        Fields of a model are not part of its plan.
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
    embedding = graph if isinstance(graph, Embedding) else embed(graph)
    return Plan(embedding, positions=positions)


class Plan:
    """A graph on a surface, dissected: symbolic work once, numeric work for every coupling.

    Parameters
    ----------
    embedding : Embedding
        A rotation system of genus at most 6; plane ones are the fast case.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of the vertices, to find good separators; NaN where there is none.

    Examples
    --------
    >>> square = Plan(Embedding.from_graph([(0, 1), (1, 2), (2, 3), (3, 0)], num_vertices=4))
    >>> [round(float(z), 6) for z in square.log_partition([[0, 0, 0, 0], [1, 1, 1, 1]])]
    [2.772589, 4.797714]
    """

    def __init__(self, embedding: Embedding, *, positions: ArrayLike | None = None) -> None:
        if embedding.genus > MAX_GENUS:
            msg = (
                f"`embedding` must have genus at most {MAX_GENUS}, got {embedding.genus}: "
                f"4^{embedding.genus} Pfaffians would be needed"
            )
            raise MethodError(msg, genus=embedding.genus)
        self.embedding = embedding
        self._split = split_faces(embedding, FACE_LENGTH)
        spots = None if positions is None else np.asarray(positions, dtype=np.float64)
        if spots is not None and spots.shape != (embedding.num_vertices, 2):
            msg = f"`positions` must have shape ({embedding.num_vertices}, 2), got {spots.shape}"
            raise ModelError(msg)
        self._centres = face_centres(self._split, spots)

    @cached_property
    def _elimination(self) -> Elimination:
        return self._dissect(None)

    def _dissect(self, progress: ProgressCallback | None) -> Elimination:
        s = self._split
        return Elimination(s.edges, s.rotation, s.offsets, self._centres, progress=progress)

    def _prepare(self, progress: ProgressCallback | None) -> None:
        """Dissect now, so that it may be stopped."""
        if progress is not None and "_elimination" not in self.__dict__:
            self.__dict__["_elimination"] = self._dissect(progress)

    @cached_property
    def _flips(self) -> Int8Array:
        """Sign flips of all structures, shape (4^genus, edges and chords)."""
        if self.genus == 0:
            return np.ones((1, self._split.num_edges), dtype=np.int8)
        return sign_structures(self._split)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_elimination", "_flips")}

    @property
    def num_spins(self) -> int:
        """Number of spins."""
        return self.embedding.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of couplings."""
        return self.embedding.num_edges

    @property
    def genus(self) -> int:
        """Genus of the embedding."""
        return self.embedding.genus

    def __repr__(self) -> str:
        return f"Plan({self.num_spins} spins, {self.num_edges} edges)"

    # -- log Z --------------------------------------------------------------------------------

    def log_partition(
        self,
        couplings: ArrayLike,
        *,
        threads: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Compute the natural logarithm of the partition function.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding; every row of a batch is evaluated.
        threads : int, optional
            Default: the processors this process may use.
        time_limit : float, optional
            Seconds for all of it; what is not done by then comes as an interval.
        memory_limit : int, optional
            Bytes; default: half of the memory. More is refused before it is taken.
        progress : bool or callable, optional
            See :func:`planaris.progress.watch`.

        Returns
        -------
        LogPartition
            Or a list of them for a batch. ``stats["error"]`` is the estimated rounding error;
            a value that cannot be trusted comes as an interval with ``exact=False``.
        """
        values, deadline = self._as_couplings(couplings), _deadline(time_limit)
        self._check_memory("log Z", memory_limit)
        with watch("log Z", progress) as callback:
            tell = until(deadline, callback)
            found = [self._timed_log_partition(J, _threads(threads), tell) for J in values]
        return found[0] if np.ndim(couplings) <= 1 else found

    def _timed_log_partition(
        self, couplings: FloatArray, threads: int, progress: ProgressCallback | None
    ) -> LogPartition:
        try:
            self._prepare(progress)
            return self._log_partition(couplings, threads, progress)
        except TimeoutError:
            # All spins up: a state needs no elimination.
            lower = self.embedding.num_components * math.log(2.0) + math.fsum(couplings.tolist())
            return self._bounds(couplings, lower, {"status": "time_limit"})

    def _log_partition(
        self, couplings: FloatArray, threads: int, progress: ProgressCallback | None
    ) -> LogPartition:
        options: dict[str, Any] = {"threads": threads, "progress": progress}
        spins = self._gauge(couplings, progress)
        entries = self._entries(couplings, spins)
        for wide in (None, False, True):  # None: double, without scaling
            if wide is None and np.abs(couplings).max(initial=0.0) > MODERATE_COUPLING:
                continue
            if wide is False:
                entries = self._scaled(entries, progress)
            if not wide and not entries.in_double_range:
                continue
            total, stats = self._sum_pfaffians(entries, wide=bool(wide), **options)
            if not self._is_possible(total):
                continue
            value = total.log_value + self._constant(entries)
            # What rounding of the couplings alone does: sums of m numbers and their exponentials.
            size = float(np.abs(entries.gauged).sum() + np.abs(entries.face).sum() / 2) + 8.0
            enough = 1e-13 * (abs(value) + self.num_edges) + 1e-12
            if wide and self.genus:  # what cancels in a signed sum is lost in any precision
                enough = max(enough, SIGNED_SUM_ERROR)
            if total.error <= enough:
                error = SAFETY * total.error + EPSILON * (size + abs(value))
                # log Z minus the log weight of the gauge state, without their cancellation.
                excess = total.log_value + self.embedding.num_components * math.log(2.0)
                stats = {**stats, "error": error, "excess": excess}
                return LogPartition(value, value - error, value + error, True, "planar", stats)
        return self._bounds(couplings, self._constant(entries), stats)

    def _is_possible(self, total: SignedSum) -> bool:
        """Whether a sum of weights relative to the gauge state can be what was found.

        The gauge state itself has weight one, so the sum is at least one.
        """
        possible = total.log_value >= -total.error - 1e-9 * self.num_edges
        return possible and math.isfinite(total.log_value)

    def _sum_pfaffians(
        self, entries: Entries, *, wide: bool, **options: Any
    ) -> tuple[SignedSum, Stats]:
        total = SignedSum()
        stats: Stats = {}
        for flips in self._flips:
            turned = entries.with_signs(flips)
            found, error, stats = estimate_log_pfaffian(
                self._elimination, turned, wide=wide, **options
            )
            # Signs are counted relative to the term of the empty cut, the product of all joins.
            sign = found.sign * (1 if np.count_nonzero(turned.signs < 0) % 2 == 0 else -1)
            total.add(found.log_magnitude, sign if self.genus else 1, error)
        return total.scaled(4.0**self.genus), stats

    def _bounds(self, couplings: FloatArray, lower: float, stats: Stats) -> LogPartition:
        """Return what holds without elimination: one state below, all states above."""
        upper = float(np.abs(couplings).sum()) + self.num_spins * math.log(2.0)
        slack = EPSILON * (float(np.abs(couplings).sum()) + self.num_spins)
        stats = {**stats, "error": upper - lower}
        return LogPartition(lower, lower - slack, upper + slack, False, "planar", stats)

    # -- marginals ----------------------------------------------------------------------------

    def marginals(
        self,
        couplings: ArrayLike,
        *,
        threads: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Compute P(s_u = s_v) of every edge.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding; every row of a batch is evaluated.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`planaris.TimeLimitError` is raised.

        Returns
        -------
        Marginals
            Or a list of them for a batch. Without fields every spin is +1 with probability ½.
            ``stats["error"]`` says how far rounding may have moved a marginal.

        Examples
        --------
        >>> pair = plan((2, [(0, 1)]))
        >>> pair.marginals([1.0]).edges.round(6).tolist()
        [0.880797]
        """
        values, deadline = self._as_couplings(couplings), _deadline(time_limit)
        self._check_memory("marginals", memory_limit)
        with (
            watch("marginals", progress) as callback,
            within(time_limit, "the marginals were not computed"),
        ):
            tell = until(deadline, callback)
            self._prepare(tell)
            found = [self._marginals(J, _threads(threads), tell) for J in values]
        return found[0] if np.ndim(couplings) <= 1 else found

    def _marginals(
        self, couplings: FloatArray, threads: int, progress: ProgressCallback | None
    ) -> Marginals:
        options: dict[str, Any] = {"threads": threads, "progress": progress}
        entries = self._entries(couplings, self._gauge(couplings, progress))
        for wide in (None, False, True):
            if wide is None and np.abs(couplings).max(initial=0.0) > MODERATE_COUPLING:
                continue
            if wide is False:
                entries = self._scaled(entries, progress)
            if not wide and not entries.in_double_range:
                continue
            uncut, error, log_sum = self._uncut(entries, wide=bool(wide), **options)
            if error <= MARGINAL_ERROR:
                break
        else:
            msg = (
                "the marginals of these couplings cannot be computed to nine digits; "
                "`log_partition` still bounds their partition function"
            )
            raise MethodError(msg, error=error)
        uncut = np.clip(uncut[: self.num_edges], 0.0, 1.0)
        stats: Stats = {
            "error": 4 * error + 4 * EPSILON,
            "precision": "double-double" if wide else "double",
            "log_partition": self._constant(entries) + log_sum,
        }
        edges = np.where(self._agree(entries.spins), uncut, 1.0 - uncut)
        return Marginals(np.full(self.num_spins, 0.5), edges, True, "planar", stats)

    def _uncut(
        self, entries: Entries, *, wide: bool, **options: Any
    ) -> tuple[FloatArray, float, float]:
        """Return P(not cut) of all edges, its error, and the logarithm of the Pfaffian."""
        parts, total = [], SignedSum()
        for flips in self._flips:
            turned = entries.with_signs(flips)
            factors = self._factorize(turned, wide=wide, **options)
            if factors is None:
                return np.zeros(0), math.inf, 0.0
            uncut, residual = factors.uncut(**options)
            found = factors.log_pfaffian
            sign = found.sign * (1 if np.count_nonzero(turned.signs < 0) % 2 == 0 else -1)
            total.add(found.log_magnitude, sign if self.genus else 1, residual)
            parts.append(uncut)
        if self.genus == 0:
            return parts[0], total.error, total.log_value
        if not math.isfinite(total.error):  # nothing is left of the signed sum
            return np.zeros(0), math.inf, 0.0
        weights = total.weights()
        return weights @ np.array(parts), total.error, total.scaled(4.0**self.genus).log_value

    def correlations(
        self,
        couplings: ArrayLike,
        pairs: ArrayLike,
        *,
        threads: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> FloatArray:
        """Compute ⟨s_u s_v⟩ of chosen pairs of spins, joined by an edge or not.

        One elimination and sweep for every spin that is needed to have one in each pair. Spins
        of different components are independent.

        Parameters
        ----------
        couplings : array_like of float, shape (m,)
            One coupling per edge of the embedding.
        pairs : array_like of int, shape (k, 2)
            Pairs of spins.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`planaris.TimeLimitError` is raised.

        Examples
        --------
        >>> path = plan((3, [(0, 1), (1, 2)]))
        >>> path.correlations([1.0, 1.0], [(0, 2), (0, 1)]).round(6).tolist()
        [0.580026, 0.761594]
        """
        from planaris.planar.correlations import pair_correlations

        values, deadline = self._as_couplings(couplings), _deadline(time_limit)
        self._check_memory("correlations", memory_limit)
        with (
            watch("correlations", progress) as callback,
            within(time_limit, "the correlations were not computed"),
        ):
            tell = until(deadline, callback)
            self._prepare(tell)
            return pair_correlations(
                self, values[0], pairs, threads=_threads(threads), progress=tell
            )

    def spin_correlations(
        self,
        couplings: ArrayLike,
        spin: int,
        *,
        threads: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> FloatArray:
        """Compute ⟨s_u s_v⟩ of one spin u with every spin v.

        Flipping the weight of cutting every edge of a path from u to v multiplies each state by
        s_u s_v; one elimination and one sweep down its fronts serve all v.

        Parameters
        ----------
        couplings : array_like of float, shape (m,)
            One coupling per edge of the embedding.
        spin : int
            The spin u.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`planaris.TimeLimitError` is raised.

        Examples
        --------
        >>> path = plan((3, [(0, 1), (1, 2)]))
        >>> path.spin_correlations([1.0, 1.0], 0).round(6).tolist()
        [1.0, 0.761594, 0.580026]
        """
        from planaris.planar.correlations import spin_correlations

        values, deadline = self._as_couplings(couplings), _deadline(time_limit)
        self._check_memory("correlations", memory_limit)
        with (
            watch("correlations", progress) as callback,
            within(time_limit, "the correlations were not computed"),
        ):
            tell = until(deadline, callback)
            self._prepare(tell)
            return spin_correlations(
                self, values[0], int(spin), threads=_threads(threads), progress=tell
            )[0]

    # -- samples ------------------------------------------------------------------------------

    def sample(
        self,
        couplings: ArrayLike,
        size: int,
        rng: np.random.Generator,
        *,
        threads: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> Int8Array:
        """Draw independent exact samples.

        On a surface of genus g a sample takes 4^g times as long, and twice that, as on a plane.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge; ``size`` samples are drawn for every row of a batch.
        size : int
            Number of samples.
        rng : numpy.random.Generator
            The samples are a function of its state and the couplings alone.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`planaris.TimeLimitError` is raised.

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
        values, deadline = self._as_couplings(couplings), _deadline(time_limit)
        self._check_memory("samples", memory_limit)
        late = within(time_limit, "the samples were not drawn")
        with watch("samples", progress) as callback, late:
            tell = until(deadline, callback)
            self._prepare(tell)
            options: dict[str, Any] = {"threads": _threads(threads), "progress": tell}
            found = np.stack([self._sample(J, int(size), rng, **options) for J in values])
        return found[0] if np.ndim(couplings) <= 1 else found

    def _sample(
        self, couplings: FloatArray, size: int, rng: np.random.Generator, **options: Any
    ) -> Int8Array:
        spins = self._gauge(couplings, options["progress"])
        entries = self._scaled(self._entries(couplings, spins), options["progress"])
        drawers: dict[bool, CutSampler | None] = {}
        result = np.empty((size, self.num_spins), dtype=np.int8)
        component = self.embedding.component_of
        for row in result:
            uniform = rng.random(self._split.num_edges)
            flips = 1 - 2 * rng.integers(0, 2, self.embedding.num_components, dtype=np.int8)
            for wide in (False, True):
                if not wide and not entries.in_double_range:
                    continue
                if wide not in drawers:
                    drawers[wide] = self._cut_sampler(entries, wide=wide, **options)
                draw = drawers[wide]
                if draw is None:
                    continue
                cut, undecided = draw(uniform)
                turned, contradiction = spins_from_disagreements(
                    self.num_spins, self._split.edges, cut
                )
                # Edges around a face are cut an even number of times: a contradiction shows
                # that rounding has decided an edge.
                if contradiction < 0 and undecided == 0:
                    break
            else:
                msg = (
                    "at this temperature a sample would be decided by rounding, even in "
                    "double-double; raise the temperature"
                )
                raise MethodError(msg)
            row[:] = turned * spins * flips[component]
        return result

    def _cut_sampler(self, entries: Entries, *, wide: bool, **options: Any) -> CutSampler | None:
        """Return what turns one random number per edge into a cut; None out of range."""
        if self.genus == 0:
            factors = self._factorize(entries, wide=wide, for_samples=True, **options)
            return None if factors is None else lambda uniform: factors.sample(uniform, **options)
        structures = [
            self._elimination.factorize(
                turned.face, turned.scale, turned.signs, wide=wide, for_samples=True, **options
            )
            for turned in map(entries.with_signs, self._flips)
        ]
        if not wide and min(f.log_pfaffian.smallest_exponent for f in structures) < -900:
            return None
        return lambda uniform: sample_surface(structures, uniform, progress=options["progress"])

    # -- what they share ----------------------------------------------------------------------

    def _check_memory(self, task: str, memory_limit: int | None) -> None:
        """Refuse what the fronts of the elimination would not leave room for."""
        m = max(self._split.num_edges, 2)
        needed = BYTES[task] * m * math.log2(m)
        if task == "samples":
            needed *= 4.0**self.genus
        instead = "use planaris.ground_state or bounds, or a machine with more memory"
        check_memory(
            needed, f"{task} of {self.num_spins} spins", instead, memory_limit=memory_limit
        )

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
            msg = f"`couplings` must be finite, got {values[at]} at edge {at[-1]}"
            raise ModelError(msg, index=at[-1])
        return np.atleast_2d(values)

    def _gauge(self, couplings: FloatArray, progress: ProgressCallback | None) -> Int8Array:
        if np.abs(couplings).max(initial=0.0) <= WEAK_COUPLING:
            return np.ones(self.num_spins, dtype=np.int8)
        return gauge_spins(self.embedding, couplings, progress=progress)

    def _entries(self, couplings: FloatArray, spins: Int8Array) -> Entries:
        """Return the entries relative to a gauge state, rows not scaled."""
        relative = np.where(self._agree(spins), couplings, -couplings)
        gauged = np.concatenate([relative, np.zeros(self._split.num_edges - self.num_edges)])
        return Entries(spins, gauged, np.zeros(2 * len(gauged)), self._elimination.signs)

    def _scaled(self, entries: Entries, progress: ProgressCallback | None) -> Entries:
        if np.abs(entries.gauged).max(initial=0.0) <= WEAK_COUPLING:
            return entries
        scale = self._elimination.scaling(entries.gauged, progress=progress)
        return Entries(entries.spins, entries.gauged, scale, entries.signs)

    def _factorize(self, entries: Entries, *, wide: bool, **options: Any) -> Factorization | None:
        """Return the factors, or None where double has too narrow a range."""
        factors = self._elimination.factorize(
            entries.face, entries.scale, entries.signs, wide=wide, **options
        )
        return factors if is_sound(factors.log_pfaffian, wide=wide) else None

    def _agree(self, spins: Int8Array) -> BoolArray:
        u, v = self.embedding.edges[:, 0], self.embedding.edges[:, 1]
        return np.asarray(spins[u] == spins[v])

    def _constant(self, entries: Entries) -> float:
        """Return log Z - log Pf: the gauge state and the flips of every component."""
        return self.embedding.num_components * math.log(2.0) + math.fsum(entries.gauged.tolist())


def _deadline(time_limit: float | None) -> float:
    return math.inf if time_limit is None else time.monotonic() + time_limit


def _threads(threads: int | None) -> int:
    if threads is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if threads < 1:
        msg = f"`threads` must be at least 1, got {threads}"
        raise ModelError(msg)
    return int(threads)
