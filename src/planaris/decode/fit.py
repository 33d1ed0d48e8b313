"""Maximum-likelihood fits of the probabilities of an error model to detection events.

An expectation-maximisation step replaces every probability by the expected share of shots in
which the edge is part of the error. The expectation is exact, a sum over all errors. Steps are
extrapolated by SQUAREM (Varadhan & Roland, Scand. J. Stat. 35, 2008, 335), which keeps the
likelihood rising and needs far fewer of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.decode.coset import CosetModel, make_inverse
from planaris.decode.graph import DecodingGraph
from planaris.decode.model import ErrorModel
from planaris.decode.shots import as_packed, distinct_rows, impossible_shot
from planaris.errors import MethodError, ModelError, PrecisionError
from planaris.kernels.decoding import EdgeInverse, ImpossibleSyndromeError, ShotMatcher
from planaris.notebook import Shown
from planaris.typing import Array, FloatArray

LEAST, MOST = 1e-9, 0.49
"""Probabilities stay between these."""

GROWS = 1.1
"""A step that multiplies a probability by more goes on, however little the likelihood rises:
one that was stated far too small has far to go, and gains little before it is there."""

SCORED_SHOTS = 5000
"""Syndromes, at least, whose scores the standard errors are estimated from; 4 per edge if more."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel(Shown):
    """Fitted probabilities of an error model; see :func:`fit_model`."""

    model: ErrorModel = field(repr=False)
    probabilities: FloatArray
    standard_errors: FloatArray
    log_likelihood: float
    num_iterations: int
    converged: bool


def fit_model(
    model: ErrorModel,
    shots: Any,
    *,
    bit_packed: bool = False,
    max_iterations: int = 100,
    tolerance: float = 1e-3,
    threads: int | None = None,
    time_limit: TimeLimit = None,
) -> FittedModel:
    """Fit the probabilities; see :func:`planaris.interop.stim.fit`.

    Examples
    --------
    >>> from planaris.decode.model import Mechanism
    >>> coin = ErrorModel((Mechanism(0.1, (0,), ()),), 1, 0)
    >>> fit_model(coin, [[1], [0], [0], [0]]).probabilities.round(4).tolist()
    [0.25]
    """
    budget = Budget.of(time_limit, threads=threads)
    packed = as_packed(shots, model.num_detectors, bit_packed=bit_packed)
    if not len(packed):
        msg = "`shots` must hold at least one shot to fit probabilities to"
        raise ModelError(msg)
    if max_iterations < 1:
        msg = f"`max_iterations` must be at least 1, got {max_iterations}"
        raise ModelError(msg)
    with budget.required("the probabilities were not fitted"):
        return _Fit(model, packed, budget).run(max_iterations, tolerance)


class _Fit:
    def __init__(self, model: ErrorModel, packed: Array, budget: Budget) -> None:
        self.model, self.budget = model, budget
        self.coset = CosetModel(model, None)
        g = self.coset.graph
        if g.detector_flips.any():
            worst = max(model.mechanisms, key=lambda m: m.probability)
            msg = f"`dem` must start from probabilities of at most 1/2, got {worst}"
            raise ModelError(msg)
        if self.coset.inverse(budget) is None:
            msg = (
                f"a fit of {len(g.edges)} edges needs {self.coset.inverse_bytes / 2**20:.0f} MiB "
                "for their inverse, more than there is"
            )
            raise MethodError(msg)
        self.rows, counts = distinct_rows(packed, budget)
        self.counts = counts.astype(np.float64)
        self.num_shots = float(counts.sum())
        self.evaluations = 0

    # -- the search -----------------------------------------------------------------------------

    def run(self, max_iterations: int, tolerance: float) -> FittedModel:
        p = np.clip(self.coset.graph.probability, LEAST, MOST)
        value, step = self._evaluate(p)
        converged = False
        longest = 4.0
        while self.evaluations + 2 <= max_iterations and not converged:
            self.budget.poll(self.evaluations / max_iterations)
            middle, beyond = self._evaluate(step)
            trial, length = _extrapolated(p, step, beyond, longest)
            reached, after = self._evaluate(trial)
            if length == longest:
                longest *= 4.0
            if reached < middle:  # too far: what plain steps gave is kept
                trial, (reached, after) = beyond, self._evaluate(beyond)
                longest = max(length / 4.0, 1.0)
            rises = reached - value >= tolerance * len(p) or bool(np.any(after > GROWS * trial))
            converged = not rises
            p, value, step = trial, reached, after
        return self._fitted(p, value, converged)

    def _parts(self, p: FloatArray) -> tuple[DecodingGraph, EdgeInverse, ShotMatcher]:
        graph = replace(self.coset.graph, probability=p)
        form = self.coset.form
        assert form is not None  # refused by `__init__`
        matcher = graph.matcher([graph.num_detectors, graph.num_detectors + 1])
        return graph, make_inverse(form, graph, self.budget), matcher

    def _evaluate(self, p: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood, and the probabilities after one step."""
        self.evaluations += 1
        graph, inverse, matcher = self._parts(p)
        place = self.coset.form.place  # type: ignore[union-attr]
        try:
            sums = matcher.sum_mechanisms(
                inverse, place, self.rows, self.counts, budget=self.budget
            )
        except ImpossibleSyndromeError as error:
            raise impossible_shot(error, graph, self.rows, self.model.silent_detectors()) from None
        if sums.failed:
            msg = f"{sums.failed} syndromes lost their digits; raise the smallest probabilities"
            raise PrecisionError(msg)
        value = self.num_shots * (graph.log_absent + inverse.log_pfaffian) + sums.log_weight
        expected = sums.bridges.copy()
        live = place >= 0
        expected[live] = self._expected(inverse, sums.pairs, sums.direct)[place[live]]
        return value, np.clip(expected / self.num_shots, LEAST, MOST)

    def _expected(self, inverse: EdgeInverse, pairs: Array, direct: FloatArray) -> FloatArray:
        """Return how many shots have each live edge in their error, in expectation."""
        dense = inverse.dense()
        # Only legs of edges that were part of some reference error count.
        used = np.flatnonzero(pairs.any(1))
        if not len(used):
            return np.asarray(self.num_shots * inverse.diagonal + direct)
        even, odd = dense[0::2][:, used], dense[1::2][:, used]
        turned = np.einsum("ij,ij->i", even @ pairs[np.ix_(used, used)], odd)
        return np.asarray(self.num_shots * inverse.diagonal + turned + direct)

    # -- what came of it ------------------------------------------------------------------------

    def _fitted(self, p: FloatArray, value: float, converged: bool) -> FittedModel:
        errors = self._standard_errors(p)
        graph = self.coset.graph
        probabilities = np.array([m.probability for m in self.model.mechanisms])
        shown = np.full(len(probabilities), np.nan)
        for e, sources in enumerate(graph.sources):
            listed = list(sources)
            probabilities[listed] = _shared(probabilities[listed], p[e])
            shown[listed] = errors[e]
        return FittedModel(self.model, probabilities, shown, value, self.evaluations, converged)

    def _standard_errors(self, p: FloatArray) -> FloatArray:
        """Invert the information that the scores of some syndromes estimate."""
        _graph, inverse, matcher = self._parts(p)
        place = self.coset.form.place  # type: ignore[union-attr]
        m = len(p)
        most = max(SCORED_SHOTS, 4 * m)
        rows, counts = self.rows, self.counts
        if len(rows) > most:
            rng = np.random.default_rng(0)
            chosen = np.sort(rng.choice(len(rows), most, replace=False, p=counts / counts.sum()))
            rows, counts = np.ascontiguousarray(rows[chosen]), np.ones(most)
        information = np.zeros((m, m))
        live = np.flatnonzero(place >= 0)
        bridges = np.flatnonzero(place < 0)
        for begin in range(0, len(rows), 512):
            part = np.ascontiguousarray(rows[begin : begin + 512])
            found = matcher.probabilities(inverse, place, part, budget=self.budget)
            scores = np.zeros((len(part), m))
            scores[:, live] = found[:, place[live]]
            if len(bridges):
                scores[:, bridges] = self._bridges(matcher, part)[:, bridges]
            scores = np.nan_to_num((scores - p) / (p * (1.0 - p)))
            information += (scores * counts[begin : begin + 512, None]).T @ scores
        information *= self.num_shots / counts.sum()
        scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1e-300))
        covariance = np.linalg.pinv(information * scale * scale[:, None], hermitian=True)
        return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)) * scale)

    def _bridges(self, matcher: ShotMatcher, rows: Array) -> FloatArray:
        """Return which edges are part of the lightest error: for bridges, of any."""
        found = matcher.match(rows, keep_edges=True, budget=self.budget)
        inside = np.zeros((len(rows), len(self.coset.graph.edges)))
        inside[np.repeat(np.arange(len(rows)), np.diff(found.offsets)), found.edges] = 1.0
        return inside


def _extrapolated(
    p0: FloatArray, p1: FloatArray, p2: FloatArray, longest: float
) -> tuple[FloatArray, float]:
    """Return where two steps lead to, in logarithms, and how far that is in steps."""
    t0, t1, t2 = np.log(p0), np.log(p1), np.log(p2)
    r, v = t1 - t0, t2 - 2 * t1 + t0
    size = float(np.linalg.norm(v))
    length = min(max(float(np.linalg.norm(r)) / size, 1.0), longest) if size > 0 else 1.0
    return np.clip(np.exp(t0 + 2 * length * r + length**2 * v), LEAST, MOST), length


def _shared(given: FloatArray, total: float) -> FloatArray:
    """Return probabilities, in proportion to those given, of which an odd number acts by total.

    1 - 2p of independent events multiply: each takes its share of the logarithm.
    """
    if len(given) == 1:
        return np.array([total])
    logs = np.log1p(-2 * np.minimum(given, MOST))
    share = logs / logs.sum() if logs.sum() < 0 else np.full(len(given), 1.0 / len(given))
    return np.asarray(-np.expm1(share * np.log1p(-2 * total)) / 2)
