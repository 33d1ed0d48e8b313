"""Estimators of more than two labels from noisy nodes and edges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from planaris.errors import ModelError
from planaris.infer import ground_state, marginals
from planaris.notebook import Shown
from planaris.recover.labels.observations import (
    LabelObservations,
    as_classes,
    as_label_noise,
    label_posterior,
)
from planaris.typing import ArrayLike, FloatArray, LongArray

TIE = 1e-6
"""Beliefs this near to the largest are ties."""

Noise = float | FloatArray
"""One noise level, or one per edge or per node."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelRecovery(Shown):
    """Recovered labels and how far to trust them.

    Attributes
    ----------
    labels : numpy.ndarray
        Labels 0, ..., k - 1; of several that are as good, the smallest. Those of two steps are
        one labelling that agrees with the edges, ties or not.
    beliefs : numpy.ndarray
        P(y = label) as the estimator sees it, shape (n, k); equal entries mark a tie.
    exact : bool
        True when the answer is proved.
    method : str
        The method that solved it.
    seconds : float
        Time taken.
    """

    labels: LongArray
    beliefs: FloatArray
    exact: bool
    method: str
    seconds: float = field(default=0.0, repr=False)

    def error(self, truth: ArrayLike) -> float:
        """Return the expected share of wrong labels, ties being broken at random."""
        n, k = self.beliefs.shape
        y = as_classes("truth", truth, n, k)
        best = self.beliefs >= self.beliefs.max(1, keepdims=True) - TIE
        right = best[np.arange(n), y] / best.sum(1)
        return float(1 - right.mean()) if n else 0.0


class LabelEstimator(ABC):
    """One way to recover labels: ``estimator.recover(observations)``."""

    def recover(self, observations: LabelObservations) -> LabelRecovery:
        """Recover the labels behind observations."""
        given: object = observations
        if not isinstance(given, LabelObservations):
            msg = f"`observations` must be LabelObservations, got {type(given).__name__}"
            raise ModelError(msg)
        started = perf_counter()
        found = self._recover(observations)
        return replace(found, seconds=perf_counter() - started)

    @abstractmethod
    def _recover(self, observations: LabelObservations) -> LabelRecovery: ...


@dataclass(frozen=True, eq=False)
class LabelTwoStep(LabelEstimator):
    """Agree with the edges as far as possible, then let the nodes choose what the edges cannot.

    The edges alone leave the labels of a connected component open up to a shift mod k where
    they show differences, and up to a renaming of the labels where they show equality. Step 2
    takes the shift, or by an assignment problem the renaming, that agrees with most nodes.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise per edge and node, where it differs: edges and votes count by their log odds.
    time_limit : float, optional
        Seconds for step 1.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.recover import observe_labels
    >>> seen = observe_labels(pl.generate.square_lattice(6), 2, 3, 0.02, 0.5, 1)
    >>> found = LabelTwoStep().recover(seen)
    >>> found.exact, found.error(2) < 0.1
    (True, True)
    """

    p: Noise | None = None
    q: Noise | None = None
    time_limit: float | None = None

    def _recover(self, observations: LabelObservations) -> LabelRecovery:
        k = observations.num_labels
        choices = k if observations.kind == "difference" else 2
        even = 0.5 * (1 - 1 / choices)  # any noise weighs edges alike
        p = as_label_noise(
            "p", even if self.p is None else self.p, len(observations.edges), choices
        )
        mrf = label_posterior(observations, p, None)
        best = ground_state(mrf, time_limit=self.time_limit)
        labels = np.asarray(best.assignment, dtype=np.int64)
        votes = self._votes(observations)
        silent = (observations.edges < 0) | (p >= (1 - 1 / choices) * (1 - 1e-12))
        count, component = observations.graph.components_without(silent)
        beliefs, chosen = np.zeros((len(labels), k)), np.zeros_like(labels)
        for c in range(count):
            here = np.flatnonzero(component == c)
            tally = np.zeros((k, k))  # label of step 1, label seen
            seen = here[observations.nodes[here] >= 0]
            np.add.at(tally, (labels[seen], observations.nodes[seen]), votes[seen])
            names = self._renamings(observations.kind, tally)[:, labels[here]]
            beliefs[here] = np.eye(k)[names].mean(0)
            chosen[here] = names[names[:, 0].argmin()]  # one for all: it has to fit the edges
        return LabelRecovery(chosen, beliefs, best.exact, best.method)

    def _votes(self, observations: LabelObservations) -> FloatArray:
        n, k = observations.graph.num_nodes, observations.num_labels
        if self.q is None or np.ndim(self.q) == 0:
            return np.ones(n)
        q = np.maximum(as_label_noise("q", self.q, n, k), 1e-12)
        return np.asarray(np.log((1 - q) * (k - 1) / q))

    @staticmethod
    def _renamings(kind: str, tally: FloatArray) -> LongArray:
        """Return the new name of every label, in a row for each renaming with most votes."""
        k = len(tally)
        if kind == "difference":
            shifts = (np.arange(k)[:, None] + np.arange(k)) % k
            scores = np.array([tally[np.arange(k), shift].sum() for shift in shifts])
            return np.asarray(shifts[scores >= scores.max() - 1e-9])
        from scipy.optimize import linear_sum_assignment

        _, names = linear_sum_assignment(-tally)
        return np.asarray(names)[None]


@dataclass(frozen=True, eq=False)
class LabelMAP(LabelEstimator):
    """MAP estimator: the most probable labelling as a whole, exact where a method is.

    Parameters
    ----------
    p, q : float or array_like of float
        Noise of edges and nodes, one for all or one each.
    time_limit : float, optional
        Seconds for the solver; the best labelling found by then has ``exact`` False.

    Examples
    --------
    >>> from planaris.recover import LabelObservations, as_graph
    >>> seen = LabelObservations(as_graph((2, [(0, 1)])), 3, edges=[1], nodes=[0, -1])
    >>> LabelMAP(0.1, 0.2).recover(seen).labels.tolist()
    [0, 1]
    """

    p: Noise
    q: Noise
    time_limit: float | None = None

    def _recover(self, observations: LabelObservations) -> LabelRecovery:
        mrf = label_posterior(observations, self.p, self.q)
        best = ground_state(mrf, time_limit=self.time_limit)
        labels = np.asarray(best.assignment, dtype=np.int64)
        beliefs = np.eye(observations.num_labels)[labels]
        return LabelRecovery(labels, beliefs, best.exact, best.method)


@dataclass(frozen=True, eq=False)
class LabelMarginal(LabelEstimator):
    """Marginal estimator: every node gets its most probable label, which is optimal.

    Parameters
    ----------
    p, q : float or array_like of float
        Noise of edges and nodes, one for all or one each.
    time_limit : float, optional
        Seconds in all.

    Examples
    --------
    >>> from planaris.recover import LabelObservations, as_graph
    >>> seen = LabelObservations(as_graph((2, [(0, 1)])), 3, edges=[1], nodes=[0, -1])
    >>> LabelMarginal(0.1, 0.2).recover(seen).beliefs.round(3).tolist()
    [[0.8, 0.1, 0.1], [0.135, 0.73, 0.135]]
    """

    p: Noise
    q: Noise
    time_limit: float | None = None

    def _recover(self, observations: LabelObservations) -> LabelRecovery:
        mrf = label_posterior(observations, self.p, self.q)
        found = marginals(mrf, time_limit=self.time_limit)
        beliefs = np.array([np.asarray(mu) for mu in found.nodes])
        beliefs = beliefs.reshape(-1, observations.num_labels)
        best = beliefs >= beliefs.max(1, keepdims=True) - TIE
        return LabelRecovery(best.argmax(1), beliefs, found.exact, found.method)
