"""Weights of the two logical classes of a syndrome, for one observable."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.decode.coupling_rows import (
    coupling_rows,
    erasures_of,
    even_slices,
    marked_rows,
)
from planaris.decode.graph import DecodingGraph, split_graph
from planaris.decode.model import ErrorModel
from planaris.decode.on_device import weigh_on_device
from planaris.decode.planar_form import PlanarForm, planar_form
from planaris.embed import split_faces
from planaris.errors import NotPlanarError, PrecisionError, TooLargeError
from planaris.gpu.cosets import DeviceCosets
from planaris.gpu.device import find_device
from planaris.kernels.decoding import (
    NO_ERASURES,
    EdgeInverse,
    Erasures,
    LaneCosets,
    ShotMatcher,
    WideInverse,
)
from planaris.planar import Plan
from planaris.typing import Array, BoolArray, FloatArray, IntArray

FACE_LENGTH = 8
"""Longer faces of the dual, detectors of many mechanisms and boundaries, are split by chords."""

INVERSE_BYTES = 2**29
"""Largest inverse that is kept; larger models are eliminated again for every syndrome."""

MOST_CHANGES = 300
"""Reference errors with more edges are left to sparse elimination, where that is faster."""

EXPECTED_PER_WORTH = 1.3
"""Expected number of errors, over the number of changes from which sparse elimination is faster,
beyond which it takes all shots."""

QUIET, VERY_QUIET = 1e-3, 3e-4
"""Probability of a mechanism below which elimination is done twice, in two orders: for ratios,
and where only probabilities are asked for."""

LARGEST_DOUBT = 300.0
"""Cancellation, relative to the rounding of a double, up to which a small Pfaffian is trusted."""

FEW_CHANGES, LONG_DOUBT = 30, 1e5
"""With more changes than these, probabilities of eleven digits are enough."""

QUIET_DOUBT, SHAKEN_DOUBT = 2.0, 30.0
"""The same where elimination is done twice, relative to the change of entries: for ratios, and
where only probabilities are asked for."""

WIDE_DOUBT = 1e12
"""The same for double-double numbers: at least fifteen digits are left."""

SUMMED = 2**21
"""Couplings of syndromes that are written out at a time for sparse elimination."""

ROWS_PER_THREAD = 32
"""Syndromes that are eliminated at a time, if that is more."""

WRITTEN = 2**18
"""Couplings that are written between two looks at the clock."""

LEAST_ON_DEVICE = 2048
"""Smaller batches are weighed by the CPU: a device would be idle for the most part."""

ROUNDED_EDGES, WIDE_EDGES = 500, 1000
"""Quiet models with at most so many edges are inverted in wide numbers from the start; models with
more edges never."""


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """What is known of a batch of syndromes.

    Attributes
    ----------
    flips : numpy.ndarray
        bool: the more likely observable.
    log_ratio : numpy.ndarray
        log P(this class) - log P(other class), at least 0 up to rounding.
    log_probability : numpy.ndarray
        log P(syndrome).
    slow : numpy.ndarray
        bool: shots that took more than one small Pfaffian of doubles.
    on_device : numpy.ndarray or None
        bool: shots that a device weighed; None where none was asked for.
    """

    flips: BoolArray
    log_ratio: FloatArray
    log_probability: FloatArray
    slow: BoolArray
    on_device: BoolArray | None = None

    def put(self, chosen: BoolArray, other: ClassWeights) -> None:
        """Replace the chosen syndromes."""
        self.flips[chosen] = other.flips
        self.log_ratio[chosen] = other.log_ratio
        self.log_probability[chosen] = other.log_probability


class CosetModel:
    """One observable of an error model: matching, inverse and sparse elimination.

    Parameters
    ----------
    model : ErrorModel
        Mechanisms of at most two detectors, with a planar split graph.
    observable : int or None
        Which one; None if only the syndrome matters.
    """

    def __init__(self, model: ErrorModel, observable: int | None) -> None:
        self.model, self.observable = model, observable
        self.graph: DecodingGraph = split_graph(model, observable)
        try:
            self.form: PlanarForm | None = planar_form(model, self.graph, joined=True)
        except NotPlanarError:
            self.apart  # noqa: B018  # refused there too, unless only the logical edge is too much
            self.form = None

    # -- parts, made when first needed ----------------------------------------------------------

    @cached_property
    def apart(self) -> PlanarForm:
        """The form without the logical edge: each class on its own."""
        return planar_form(self.model, self.graph, joined=False)

    @cached_property
    def plan(self) -> Plan:
        """For sparse elimination of one class."""
        return Plan(self.apart.dual)

    @cached_property
    def whole_plan(self) -> Plan:
        """For sparse elimination of both classes at once."""
        assert self.form is not None
        return Plan(self.form.dual)

    @cached_property
    def matcher(self) -> ShotMatcher:
        """Lightest errors of any class."""
        n = self.graph.num_detectors
        return self.graph.matcher([n, n + 1], by_parity=True)

    @cached_property
    def class_matcher(self) -> ShotMatcher:
        """Lightest errors of a given class."""
        return self.graph.matcher([self.graph.num_detectors], by_parity=True)

    @cached_property
    def _least(self) -> float:
        return float(self.graph.probability.min(initial=1.0))

    @property
    def is_decided(self) -> bool:
        """Whether the syndrome alone decides the observable: no chain joins the boundaries."""
        return self.form is not None and self.form.logical < 0

    @property
    def inverse_bytes(self) -> float:
        """Bytes of the inverse, were it made."""
        edges = 0 if self.form is None else self.form.dual.num_edges
        return 16.0 * edges * edges

    def inverse(self, budget: Budget) -> EdgeInverse | None:
        """Return the inverse without a syndrome, or None if it is too large."""
        if self.form is None or self.inverse_bytes > min(INVERSE_BYTES, budget.bytes()):
            return None
        if "_inverse" not in self.__dict__:
            # At low noise small entries decide, and cancel: they are computed in wide numbers.
            quiet = self._least < QUIET and self.form.dual.num_edges <= ROUNDED_EDGES
            wide = self._wide(budget) if quiet else None
            self.__dict__["_inverse"] = (
                make_inverse(self.form, self.graph, budget)
                if wide is None
                else EdgeInverse.rounded(wide)
            )
        found: EdgeInverse = self.__dict__["_inverse"]
        return found

    def _wide(self, budget: Budget) -> WideInverse | None:
        if self.form is None or self.form.dual.num_edges > WIDE_EDGES:
            return None
        if "_wide_inverse" not in self.__dict__:
            self.__dict__["_wide_inverse"] = WideInverse(
                *_pieces(self.form, self.graph), budget=budget
            )
        found: WideInverse = self.__dict__["_wide_inverse"]
        return found

    def _lanes(self, budget: Budget) -> LaneCosets | None:
        """Return sparse elimination with the logical edge last, or None without such an edge."""
        if self.form is None or self.is_decided:
            return None
        if "_lane_cosets" not in self.__dict__:
            self.__dict__["_lane_cosets"] = LaneCosets(
                *_pieces(self.form, self.graph), self.form.logical, budget=budget
            )
        found: LaneCosets = self.__dict__["_lane_cosets"]
        return found

    def _has_many_changes(self, lanes: LaneCosets | None) -> bool:
        """Return True if typical errors have so many edges that no inverse is worth its while."""
        if lanes is None or "_inverse" in self.__dict__:
            return False
        return bool(self.graph.probability.sum() > EXPECTED_PER_WORTH * lanes.worth_from)

    def __getstate__(self) -> tuple[ErrorModel, int | None]:
        return self.model, self.observable

    def __setstate__(self, state: tuple[ErrorModel, int | None]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    # -- answers --------------------------------------------------------------------------------

    def weigh(
        self,
        shots: Array,
        budget: Budget,
        *,
        erasures: Erasures = NO_ERASURES,
        sharp: bool = True,
        device: str | None = None,
    ) -> ClassWeights:
        """Return the weights of both classes of every syndrome.

        ``shots`` are rows of bits. With ``sharp`` ratios keep their digits where they are huge;
        without, they are right wherever a probability differs from 0 and 1, and a ``device`` may
        weigh them.
        """
        careful = self._least < (QUIET if sharp else VERY_QUIET)
        if device is not None and not sharp and not careful and len(shots) >= LEAST_ON_DEVICE:
            found_there = self._weigh_there(shots, erasures, budget, device)
            if found_there is not None:
                return found_there
        lanes = None if sharp or careful else self._lanes(budget)
        inverse = None if self._has_many_changes(lanes) else self.inverse(budget)
        if self.form is None or (inverse is None and lanes is None):
            return self._sparse(shots, erasures, budget, sharp=sharp)
        found = self.matcher.weigh(
            inverse,
            lanes,
            self.form.place,
            self.form.logical,
            MOST_CHANGES,
            shots,
            erasures=erasures,
            careful=careful,
            budget=budget,
        )
        flips = (found.flips & 1).astype(np.bool_)
        other = np.asarray(found.other)
        # Every pivot comes with a doubt of one; an absolute error of a probability is allowed
        # where the digits of a ratio do not matter.
        most: Any = (QUIET_DOUBT if sharp else SHAKEN_DOUBT) if careful else LARGEST_DOUBT
        if not sharp and not careful:  # many digits are lost in long sums only
            most = np.where(found.num_changes <= FEW_CHANGES, most, LONG_DOUBT)
        room = most * np.maximum(other, 0.0) if sharp else most
        known = np.asarray(found.doubt <= found.num_changes + 1 + most)
        trusted = known & (found.other_error <= room)
        if sharp:  # smaller doubles have lost digits
            trusted &= other >= np.finfo(np.float64).tiny
        if self.is_decided:
            ratio = np.full(len(other), np.inf)
            trusted = known
        else:
            ratio = _log_odds_against(other)
        log_pfaffian = 0.0 if inverse is None else inverse.log_pfaffian
        log_probability = self.graph.log_absent + log_pfaffian + found.log_weight
        slow = np.asarray(~trusted)
        result = ClassWeights(flips ^ (ratio < 0), np.abs(ratio), log_probability, slow)
        if slow.any():
            few = int(found.num_changes[slow].max()) <= FEW_CHANGES
            again = self._again if few else partial(self._sparse, sharp=sharp)
            result.put(slow, again(shots[slow], erasures_of(erasures, slow), budget))
        return result

    def on_device(self, device: Any, budget: Budget) -> DeviceCosets | None:
        """Return what weighs syndromes on a device, or None without a logical edge."""
        lanes = self._lanes(budget)
        if lanes is None:
            return None
        kept: dict[str, DeviceCosets] = self.__dict__.setdefault("_on_devices", {})
        if str(device) not in kept:
            kept[str(device)] = DeviceCosets(lanes, find_device(device))
        return kept[str(device)]

    def _weigh_there(
        self, shots: Array, erasures: Erasures, budget: Budget, device: str
    ) -> ClassWeights | None:
        """Return what a device finds, and have the CPU weigh what it cannot tell.

        None, and a warning, if the device has too little memory; None without a logical edge.
        """
        there = self.on_device(device, budget)
        if there is None or self.form is None:
            return None
        try:
            found = weigh_on_device(
                there, self.matcher, self.graph, self.form, shots, erasures, budget
            )
        except TooLargeError as error:
            warnings.warn(f"{error}; the CPU is used", stacklevel=2)
            return None
        ratio = _log_odds_against(found.other)
        lost = ~found.sound
        flips = found.flips ^ (ratio < 0)
        result = ClassWeights(flips, np.abs(ratio), found.log_probability, lost, found.sound)
        if lost.any():
            given = erasures_of(erasures, lost)
            result.put(lost, self.weigh(shots[lost], budget, erasures=given, sharp=False))
        return result

    def _sparse(
        self, shots: Array, erasures: Erasures, budget: Budget, *, sharp: bool
    ) -> ClassWeights:
        """Return the same by two sparse eliminations."""
        if sharp or self.form is None or self.is_decided:
            return self._eliminate(shots, erasures, budget)
        return self._share(shots, erasures, budget)

    def _share(self, shots: Array, erasures: Erasures, budget: Budget) -> ClassWeights:
        """Return the share of the lightest error's class in both, right as a probability.

        The sum over a class that holds none of the likely errors cancels; here it is left out.
        """
        assert self.form is not None
        found = self.matcher.match(shots, erasures=erasures, keep_edges=True, budget=budget)
        given = found.offsets, found.edges, erasures, budget
        whole = self._sums(self.form, self.whole_plan, *given)
        own = self._sums(self.apart, self.plan, *given)
        ratio = _log_odds_against(-np.expm1(own - whole))
        flips = (np.asarray(found.flips) & 1).astype(np.bool_) ^ (ratio < 0)
        return ClassWeights(flips, np.abs(ratio), whole, np.ones(len(shots), dtype=np.bool_))

    def _again(self, shots: Array, erasures: Erasures, budget: Budget) -> ClassWeights:
        """Return the same in wide numbers, or by sparse elimination where these are too many."""
        wide = self._wide(budget)
        if wide is None or self.form is None:
            return self._eliminate(shots, erasures, budget)
        found = self.matcher.weigh_wide(
            wide, self.form.place, self.form.logical, shots, erasures=erasures, budget=budget
        )
        ratio = np.full(len(shots), np.inf) if self.is_decided else np.asarray(found.log_ratio)
        flips = (found.flips & 1).astype(np.bool_)
        log_probability = self.graph.log_absent + wide.log_pfaffian + found.log_weight
        slow = np.asarray(~(found.doubt <= WIDE_DOUBT))
        result = ClassWeights(flips ^ (ratio < 0), np.abs(ratio), log_probability, slow)
        if slow.any():
            result.put(slow, self._eliminate(shots[slow], erasures_of(erasures, slow), budget))
        return result

    def _eliminate(self, shots: Array, erasures: Erasures, budget: Budget) -> ClassWeights:
        """Return the same by one sparse elimination for each class."""
        logs = np.full((len(shots), 2), -np.inf)
        if self.is_decided:
            found = self.matcher.match(shots, erasures=erasures, keep_edges=True, budget=budget)
            sums = self._sums(self.apart, self.plan, found.offsets, found.edges, erasures, budget)
            logs[np.arange(len(shots)), np.asarray(found.flips) & 1] = sums
        else:
            for c in (0, 1):
                found = self.class_matcher.match(
                    shots, erasures=erasures, observable=c, keep_edges=True, budget=budget
                )
                given = found.offsets, found.edges, erasures, budget
                logs[:, c] = self._sums(self.apart, self.plan, *given)
        flips = logs[:, 1] > logs[:, 0]
        top = logs.max(1)
        with np.errstate(invalid="ignore"):
            ratio = np.abs(logs[:, 0] - logs[:, 1])
        return ClassWeights(
            flips, ratio, top + np.log1p(np.exp(-ratio)), np.ones(len(shots), dtype=np.bool_)
        )

    def _sums(
        self,
        form: PlanarForm,
        plan: Plan,
        offsets: Array,
        edges: Array,
        erasures: Erasures,
        budget: Budget,
    ) -> FloatArray:
        """Return log P(syndrome, class of the reference), or of both classes if joined."""
        count, num_edges = len(offsets) - 1, len(self.graph.weights)
        width = max(num_edges, 1)
        sums = np.empty(count)
        for rows in even_slices(0, count, max(SUMMED // width, ROWS_PER_THREAD * budget.workers())):
            parts = []
            for part in even_slices(rows.start, rows.stop, WRITTEN // width):
                budget.check()
                references = marked_rows(offsets, edges, part, num_edges)
                erased = marked_rows(erasures.offsets, erasures.edges, part, num_edges)
                parts.append(coupling_rows(self.graph, form, references, erased))
            budget.check()
            couplings, constant = (np.concatenate(each) for each in zip(*parts, strict=True))
            found = self._log_partitions(plan, couplings, budget)
            # Z counts every cut twice per component, relative to exp(-|J|) for what is not cut.
            twice = plan.embedding.num_components * math.log(2.0)
            sums[rows] = found + constant - twice
        return sums

    def _log_partitions(self, plan: Plan, couplings: FloatArray, budget: Budget) -> FloatArray:
        found = plan.log_partition(couplings, time_limit=budget)
        for each in found:
            if not each.exact:
                budget.check()  # it may be the time that did not suffice
                msg = (
                    "the weights of a logical class cannot be computed to twelve digits: "
                    f'log Z lies in [{each.lower}, {each.upper}]; use method="matching"'
                )
                raise PrecisionError(msg)
        return np.array([each.value for each in found])


def _log_odds_against(probability: FloatArray) -> FloatArray:
    held = np.clip(probability, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.log1p(-held) - np.log(held)


def make_inverse(form: PlanarForm, graph: DecodingGraph, budget: Budget) -> EdgeInverse:
    """Return the inverse of the Kasteleyn matrix without a syndrome."""
    return EdgeInverse(*_pieces(form, graph), budget=budget)


def _pieces(
    form: PlanarForm, graph: DecodingGraph
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the dual with chords, and the log odds of its edges."""
    pieces = split_faces(form.dual, FACE_LENGTH)
    odds = np.zeros(form.dual.num_edges)
    live = form.place >= 0
    odds[form.place[live]] = -graph.weights[live]
    return pieces.edges, pieces.rotation, pieces.offsets, odds
