"""Decoders of detector error models: most likely logical class, or most likely error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.decode.coset import CosetModel
from planaris.decode.drop import Dropped, drop_smallest, drop_wide
from planaris.decode.erasures import edges_of_erasures
from planaris.decode.graph import DecodingGraph, matching_graph
from planaris.decode.model import ErrorModel
from planaris.decode.shots import as_packed, impossible_shot
from planaris.errors import MethodError, require_one_of
from planaris.gpu.device import device_or_cpu
from planaris.kernels.decoding import (
    ImpossibleSyndromeError,
    ShotMatcher,
    packed_bits,
)
from planaris.show import many
from planaris.typing import Array, BoolArray, FloatArray

Method = Literal["ml", "matching"]
METHODS = ("ml", "matching")
DROPS = ("never", "smallest")


@dataclass(frozen=True, eq=False)
class Decoding:
    """Predictions of a batch of shots, how sure they are, and what computed them.

    Attributes
    ----------
    predictions : numpy.ndarray
        bool, shape (k, num_observables): whether an observable is more likely flipped than not.
    posterior : numpy.ndarray
        P(observable is flipped | detection events), same shape.
    on_cpu : numpy.ndarray
        bool, same shape: False where a GPU computed the posterior. All True without a device, and
        for small batches; True for shots whose pivots had lost digits on the device.
    """

    predictions: BoolArray
    posterior: FloatArray
    on_cpu: BoolArray


class PlanarDecoder:
    """Decodes shots of an error model; see :class:`planaris.interop.stim.Decoder`.

    Parameters
    ----------
    model : ErrorModel
        What flips detectors and observables.
    method : {"ml", "matching"}
        The most likely logical class, or the class of a most likely error.
    drop : {"never", "smallest"}
        Whether mechanisms may be left out: for ``"ml"`` until the decoding graph is planar, for
        ``"matching"`` those of more than two detectors.
    threads : int, optional
        Default: the processors this process may use.
    device : str, optional
        A GPU, such as ``"cuda"``, that sums over errors of large batches for ``decode``,
        ``posterior`` and ``evaluate``. Where there is none a warning says why, and the CPU is
        used.

    Examples
    --------
    >>> from planaris.decode.model import ErrorModel, Mechanism
    >>> chain = [Mechanism(0.1, (0,), (0,)), Mechanism(0.1, (0, 1), ()), Mechanism(0.1, (1,), ())]
    >>> decoder = PlanarDecoder(ErrorModel(tuple(chain), 2, 1))
    >>> decoder.decode([[0, 0], [1, 0], [0, 1]]).ravel().tolist()
    [False, True, False]
    >>> decoder.posterior([[1, 0]]).round(6).tolist()
    [[0.9]]
    """

    def __init__(
        self,
        model: ErrorModel,
        *,
        method: Method = "ml",
        drop: Literal["never", "smallest"] = "never",
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        require_one_of("method", method, METHODS)
        require_one_of("drop", drop, DROPS)
        self.method, self.threads = method, threads
        Budget(threads=threads)  # checks the number
        found = None if device is None else device_or_cpu(device)
        self.device = None if found is None or found.type == "cpu" else str(found)
        self.stated = model
        self.dropped: Dropped | None = None
        if drop == "smallest":
            self.dropped = (drop_smallest if method == "ml" else drop_wide)(model)
            model = self.dropped.model
        model.require_matchable(method)
        self.model = model
        self._silent = model.silent_detectors()
        if method == "ml":
            # One observable at a time: each is moved to the boundary by a potential of its own.
            self._cosets = [CosetModel(model, o) for o in range(model.num_observables)]
            # For probabilities of syndromes, whatever the observables are.
            self._syndromes = self._cosets[0] if self._cosets else CosetModel(model, None)

    # -- sizes ----------------------------------------------------------------------------------

    @property
    def num_detectors(self) -> int:
        """Number of detectors."""
        return self.model.num_detectors

    @property
    def num_observables(self) -> int:
        """Number of observables."""
        return self.model.num_observables

    @property
    def weights(self) -> FloatArray:
        """Weight log((1 - p) / p) of every edge of the matching graph."""
        return self._matching[0].weights

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({many(self.num_detectors, 'detector')}, "
            f"{many(len(self.model.mechanisms), 'mechanism')}, method={self.method!r})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_matching"}

    @cached_property
    def _matching(self) -> tuple[DecodingGraph, ShotMatcher]:
        """The graph with one boundary, and lightest errors on it."""
        graph = matching_graph(self.model)
        return graph, graph.matcher([graph.num_detectors])

    # -- answers --------------------------------------------------------------------------------

    def decode(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        bit_packed_predictions: bool = False,
        time_limit: TimeLimit = None,
    ) -> Array:
        """Predict the observables of every shot.

        Parameters
        ----------
        shots : array_like
            Detection events: bool, shape (k, num_detectors), or with ``bit_packed`` uint8 of
            shape (k, ceil(num_detectors / 8)), as stim writes them.
        erasures : array_like of bool, optional
            Shape (k, num_mechanisms): mechanisms that are known, in that shot, to have acted
            with probability one half, in the order of the flattened model.
        bit_packed : bool
            Eight detectors share a byte of ``shots``.
        bit_packed_predictions : bool
            Return observables in the same way.
        time_limit : float, optional
            Seconds, after which :class:`~planaris.errors.TimeLimitError` is raised.

        Returns
        -------
        numpy.ndarray
            bool, shape (k, num_observables); or uint8, packed.
        """
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            if self.method == "matching":
                graph, matcher = self._matching
                found = self._guarded(graph, packed, erasures, matcher.match, budget)
                bits: Array = found.flips.reshape(len(packed), (self.num_observables + 7) // 8)
                bits = bits ^ packed_bits(graph.observable_flips)
                if bit_packed_predictions:
                    return bits
                return _unpacked(bits, self.num_observables)
            flips = [c.flips for c in self._classes(packed, erasures, budget, sharp=False)]
            predictions = np.array(flips, dtype=np.bool_).reshape(len(flips), len(packed)).T
        return packed_bits(predictions) if bit_packed_predictions else predictions

    def posterior(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        time_limit: TimeLimit = None,
    ) -> FloatArray:
        """Return P(observable is flipped | detection events), shape (k, num_observables).

        Parameters are those of :meth:`decode`.
        """
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            found = self._ratios(packed, erasures, budget, sharp=False)
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(found)))

    def evaluate(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        time_limit: TimeLimit = None,
    ) -> Decoding:
        """Return predictions and posteriors at once, and which shots the CPU computed.

        Parameters are those of :meth:`decode`.

        Examples
        --------
        >>> from planaris.decode.model import ErrorModel, Mechanism
        >>> chain = [Mechanism(0.1, (0,), (0,)), Mechanism(0.1, (0,), ())]
        >>> found = PlanarDecoder(ErrorModel(tuple(chain), 1, 1)).evaluate([[0], [1]])
        >>> found.posterior.round(6).ravel().tolist(), found.on_cpu.ravel().tolist()
        ([0.012195, 0.5], [True, True])
        """
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            found = list(self._classes(packed, erasures, budget, sharp=False))
        shape = len(found), len(packed)
        flips = np.array([c.flips for c in found], dtype=np.bool_).reshape(shape).T
        ratio = np.array([c.log_ratio for c in found], dtype=np.float64).reshape(shape).T
        with np.errstate(over="ignore"):
            posterior = 1.0 / (1.0 + np.exp(np.where(flips, -ratio, ratio)))
        on_cpu = np.ones(shape, dtype=np.bool_)
        for row, each in zip(on_cpu, found, strict=True):
            if each.on_device is not None:
                row[:] = ~each.on_device
        return Decoding(flips, np.asarray(posterior), on_cpu.T)

    def llr(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        time_limit: TimeLimit = None,
    ) -> FloatArray:
        """Return log P(not flipped) - log P(flipped), given the detection events.

        Exact where probabilities round to 0 or 1, too. Parameters are those of :meth:`decode`.
        """
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            return self._ratios(packed, erasures, budget, sharp=True)

    def log_likelihood(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        time_limit: TimeLimit = None,
    ) -> FloatArray:
        """Return the natural logarithm of the probability of each syndrome, shape (k,).

        Parameters are those of :meth:`decode`.
        """
        self._require_ml("log_likelihood")
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            coset = self._syndromes
            found = self._guarded(coset.graph, packed, erasures, coset.weigh, budget)
            return np.asarray(found.log_probability)

    def gap(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        time_limit: TimeLimit = None,
    ) -> FloatArray:
        """Return how much heavier the lightest error of the other class is, by matching.

        The complementary gap, shape (k, num_observables); infinite where there is no other
        class. Parameters are those of :meth:`decode`.
        """
        self._require_ml("gap")
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            columns = [self._gap(c, packed, erasures, budget) for c in self._cosets]
        return np.array(columns, dtype=np.float64).reshape(len(columns), len(packed)).T

    def minimum_weights(
        self,
        shots: Any,
        *,
        erasures: Any = None,
        bit_packed: bool = False,
        time_limit: TimeLimit = None,
    ) -> FloatArray:
        """Return the weight of a most likely error of each shot, shape (k,).

        Weights are rounded to 2^-40 of the largest for the search, at the coarsest.
        Parameters are those of :meth:`decode`.
        """
        with self._rows(shots, bit_packed, time_limit) as (packed, budget):
            graph, matcher = self._matching
            found = self._guarded(graph, packed, erasures, matcher.match, budget)
            return np.asarray(found.weight)

    # -- what they share ------------------------------------------------------------------------

    def _require_ml(self, what: str) -> None:
        if self.method != "ml":
            msg = f'`{what}` needs method="ml", got method={self.method!r}'
            raise MethodError(msg)

    @contextmanager
    def _rows(
        self, shots: Any, bit_packed: bool, time_limit: TimeLimit
    ) -> Iterator[tuple[Array, Budget]]:
        budget = Budget.of(time_limit, threads=self.threads)
        packed = as_packed(shots, self.num_detectors, bit_packed=bit_packed)
        with budget.required("not all shots were decoded"):
            yield packed, budget

    @contextmanager
    def _explained(self, graph: DecodingGraph, packed: Array) -> Iterator[None]:
        try:
            yield
        except ImpossibleSyndromeError as error:
            raise impossible_shot(error, graph, packed, self._silent) from None

    def _guarded(
        self, graph: DecodingGraph, packed: Array, erasures: Any, match: Any, budget: Budget
    ) -> Any:
        """Call what matches or weighs rows in terms of a graph; name a shot that is impossible."""
        listed = edges_of_erasures(self.model, graph, erasures, len(packed))
        with self._explained(graph, packed):
            rows = packed ^ packed_bits(graph.detector_flips)
            return match(rows, erasures=listed, budget=budget)

    def _classes(
        self, packed: Array, erasures: Any, budget: Budget, *, sharp: bool
    ) -> Iterator[Any]:
        """Yield flips and log ratios of every observable, in terms of the stated model."""
        self._require_ml("posteriors")
        if not self._cosets:  # shots are still refused that no error explains
            alone = self._syndromes
            self._guarded(alone.graph, packed, erasures, alone.weigh, budget)
        for coset in self._cosets:
            weigh = partial(coset.weigh, sharp=sharp, device=self.device)
            found = self._guarded(coset.graph, packed, erasures, weigh, budget)
            if coset.graph.observable_flips[0]:
                found.flips[:] ^= True
            _mix(found.flips, found.log_ratio, *self._free_flips(coset, erasures, len(packed)))
            yield found

    def _free_flips(
        self, coset: CosetModel, erasures: Any, count: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(mechanisms without detectors flip the observable) and P(not), by shot."""
        free = np.full(count, coset.graph.free_flips[0])
        stays = np.full(count, coset.graph.free_stays[0])
        if erasures is not None and coset.observable is not None:
            given = np.atleast_2d(np.asarray(erasures, dtype=np.bool_))
            alone = [
                k
                for k, m in enumerate(self.model.mechanisms)
                if not m.detectors and coset.observable in m.observables
            ]
            erased = given[:, alone].any(1)
            free[erased] = stays[erased] = 0.5
        return free, stays

    def _ratios(self, packed: Array, erasures: Any, budget: Budget, *, sharp: bool) -> FloatArray:
        columns = [
            np.where(c.flips, -c.log_ratio, c.log_ratio)
            for c in self._classes(packed, erasures, budget, sharp=sharp)
        ]
        return np.array(columns, dtype=np.float64).reshape(len(columns), len(packed)).T

    def _gap(self, coset: CosetModel, packed: Array, erasures: Any, budget: Budget) -> FloatArray:
        free, stays = self._free_flips(coset, erasures, len(packed))
        with np.errstate(divide="ignore"):  # as heavy as a flip by these is, at the most
            heaviest: FloatArray = np.abs(np.log(stays) - np.log(free))
        if coset.is_decided:
            self.minimum_weights(packed, erasures=erasures, bit_packed=True, time_limit=budget)
            return heaviest

        def both(rows: Array, **options: Any) -> list[FloatArray]:
            match = coset.class_matcher.match
            return [match(rows, observable=c, **options).weight for c in (0, 1)]

        same, other = self._guarded(coset.graph, packed, erasures, both, budget)
        return np.asarray(np.minimum(np.abs(other - same), heaviest))


def _mix(flips: BoolArray, log_ratio: FloatArray, free: FloatArray, stays: FloatArray) -> None:
    """Let an independent event of probability ``free`` flip the observable as well."""
    some = free > 0.0
    if not some.any():
        return
    with np.errstate(divide="ignore"):
        odd, even = np.log(free[some]), np.log(stays[some])
    away = log_ratio[some]  # of the other class, in logarithms: exp(-700) is a double, not its like
    ratio = np.logaddexp(even, odd - away) - np.logaddexp(odd, even - away)
    log_ratio[some] = np.abs(ratio)
    flips[some] ^= ratio < 0


def _unpacked(bits: Array, count: int) -> BoolArray:
    return np.unpackbits(bits, axis=1, bitorder="little", count=count).astype(np.bool_)
