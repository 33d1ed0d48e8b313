"""Estimators of labels from noisy nodes and edges, all with one interface (GRSY15)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from planaris import relax
from planaris.infer import ground_state, marginals
from planaris.infer.point_marginals import point_marginals
from planaris.kernels.relaxations import improve_spins
from planaris.models import IsingModel
from planaris.models.arrays import as_rng
from planaris.notebook import Shown
from planaris.recover.noise_levels.maximum_likelihood import NoiseEstimate, estimate_noise
from planaris.recover.observe import Observations, as_labels, as_noises, require_observations
from planaris.recover.signs import joined_components, majority_sign
from planaris.recover.ties import sample_ground_states
from planaris.recover.weights import posterior_model, relative_weights
from planaris.relax.cut_form import with_bias_spin
from planaris.result import GroundState
from planaris.typing import ArrayLike, FloatArray, Int8Array

Noise = float | FloatArray
"""One noise level, or one per edge or per node."""

TIE = 1e-6
"""Beliefs this near to one half are ties."""


@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Shown):
    """Recovered labels and how far to trust them.

    Attributes
    ----------
    labels : numpy.ndarray
        int8, -1 and +1; ties are broken towards +1.
    beliefs : numpy.ndarray
        P(y = +1) as the estimator sees it; 1/2 marks a tie.
    exact : bool
        True when the answer is proved: exact marginals, or labels that no other labelling beats
        in what the estimator maximises.
    method : str
        The method that solved it.
    alternatives : numpy.ndarray or None
        int8, shape (k, n): other answers that are as good, drawn at random.
    tie_breaks : str
        How ``alternatives`` were drawn.
    p, q : float, numpy.ndarray or None
        Noise of edges and nodes that the estimator used; arrays have one per edge and node.
    noise : NoiseEstimate or None
        Where it was estimated.
    seconds : float
        Time taken.
    stats : dict
        All of this once more and what the method has to say, for people to read.
    """

    labels: Int8Array
    beliefs: FloatArray
    exact: bool
    method: str
    alternatives: Int8Array | None = None
    stats: dict[str, Any] = field(default_factory=dict, repr=False)
    tie_breaks: str = field(default="", repr=False)
    p: Noise | None = field(default=None, repr=False)
    q: Noise | None = field(default=None, repr=False)
    noise: NoiseEstimate | None = field(default=None, repr=False)
    seconds: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        names = ("tie_breaks", "p", "q", "noise", "seconds")
        values = {name: getattr(self, name) for name in names}
        known = {
            name: value
            for name, value in values.items()
            if value is not None and not (isinstance(value, str) and not value)
        }
        object.__setattr__(self, "stats", {**self.stats, **known})

    def error(self, truth: ArrayLike) -> float:
        """Return the share of wrong labels; a tie counts one half."""
        y = as_labels("truth", truth, len(self.labels))
        tied = np.abs(self.beliefs - 0.5) <= TIE
        wrong = np.where(tied, 0.5, self.labels != y)
        return float(wrong.mean()) if len(wrong) else 0.0

    def mean_error(self, truth: ArrayLike) -> float:
        """Return the mean share of wrong labels over the equally good answers that were drawn.

        Needs an estimator with ``tie_breaks > 0``; relaxations and marginals say their ties in
        their beliefs, so that this is their :meth:`error`.
        """
        if self.alternatives is None or not len(self.alternatives):
            return self.error(truth)
        y = as_labels("truth", truth, len(self.labels))
        return float((self.alternatives != y).mean()) if len(y) else 0.0


class Estimator(ABC):
    """One way to recover labels: ``estimator.recover(observations)``."""

    def recover(
        self, observations: Observations, rng: np.random.Generator | int | None = None
    ) -> Recovery:
        """Recover the labels behind observations.

        Parameters
        ----------
        observations : Observations
            What was seen, on any graph.
        rng : numpy.random.Generator, int or None
            Source of random tie-breaks, or its seed.
        """
        require_observations(observations)
        started = perf_counter()
        found = self._recover(observations, as_rng(rng))
        return replace(found, seconds=perf_counter() - started)

    @abstractmethod
    def _recover(self, observations: Observations, rng: np.random.Generator) -> Recovery: ...


@dataclass(frozen=True)
class TwoStep(Estimator):
    """Agree with as many edges as possible, then choose the sign by the nodes (Algorithm 1).

    Step 1 is a ground state without field: planar graphs by matching, others by elimination or
    branch and cut. Step 2 chooses one sign for every connected component by majority. Needs no
    noise levels.

    Parameters
    ----------
    tie_breaks : int
        How many optima of step 1 to draw at random, for :meth:`Recovery.mean_error`.
    time_limit : float, optional
        Seconds for step 1.
    method : str
        Force a method of :func:`planaris.ground_state` for step 1.
    p, q : float or array_like of float, optional
        One noise for all is not needed here. With one per edge and node, edges and votes count
        by their log odds.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.recover import observe
    >>> grid = pl.generate.square_lattice(30)
    >>> seen = observe(grid, -1, 0.02, 0.4, np.random.default_rng(1))
    >>> found = TwoStep().recover(seen)
    >>> found.exact, found.method, found.error(-1) < 0.01
    (True, 'planar', True)
    """

    tie_breaks: int = 0
    time_limit: float | None = None
    method: str = "auto"
    p: Noise | None = field(default=None, kw_only=True)
    q: Noise | None = field(default=None, kw_only=True)

    def _recover(self, observations: Observations, rng: np.random.Generator) -> Recovery:
        graph = observations.graph
        weights = relative_weights("p", self.p, len(graph.edges), observations.edges != 0)
        votes_of = relative_weights("q", self.q, graph.num_nodes, observations.nodes != 0)
        model = observations.edge_model(weights)
        best = ground_state(model, self.method, time_limit=self.time_limit)
        count, component = joined_components(model)
        labels, votes = majority_sign(observations, best.spins, count, component, votes_of)
        stats: dict[str, Any] = {"lower": best.lower, "energy": best.energy}
        others, how_drawn = None, ""
        if self.tie_breaks:
            states, how = sample_ground_states(model, self.tie_breaks, rng)
            # A component without a majority has no sign: either is as good.
            coins = rng.integers(0, 2, (len(states), count), dtype=np.int8) * 2 - 1
            for row, coin in zip(states, coins, strict=True):
                chosen, tally = majority_sign(observations, row, count, component, votes_of)
                row[:] = np.where(tally[component] == 0, row * coin[component], chosen)
            others, how_drawn = states, how
        beliefs = np.where(votes[component] == 0, 0.5, labels > 0).astype(np.float64)
        return Recovery(labels, beliefs, best.exact, best.method, others, stats, how_drawn)


@dataclass(frozen=True)
class _Weighted(Estimator):
    """An estimator that weighs nodes against edges by their noise.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise of edges and nodes, one for all or one each; what is not given is estimated by
        maximum likelihood.
    time_limit : float, optional
        Seconds for the solver.
    """

    p: Noise | None = None
    q: Noise | None = None
    time_limit: float | None = None

    def _recover(self, observations: Observations, rng: np.random.Generator) -> Recovery:
        graph, noise = observations.graph, None
        p = None if self.p is None else as_noises("p", self.p, len(graph.edges))
        q = None if self.q is None else as_noises("q", self.q, graph.num_nodes)
        if p is None or q is None:
            noise = estimate_noise(observations, p=p, q=q, rng=rng)
            p, q = noise.p, noise.q
        found = self._solve(observations, posterior_model(observations, p, q), rng)
        return replace(found, p=p, q=q, noise=noise)

    @abstractmethod
    def _solve(
        self, observations: Observations, model: IsingModel, rng: np.random.Generator
    ) -> Recovery: ...


@dataclass(frozen=True)
class Marginal(_Weighted):
    """Marginal estimator: every node gets its more probable label, which is optimal.

    Exact by elimination or planar. Where neither fits, ``exact`` is False: lattices and other
    graphs that a short line can be swept across are estimated by tensor networks, with an error
    below :data:`TIE`; others by the pseudomarginals of a bound on log Z.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise of edges and nodes, one for all or one each; what is not given is estimated by
        maximum likelihood.
    time_limit : float, optional
        Seconds in all; default: as long as an exact method takes, and 60 for bounds.
    method, device
        Force a method of :func:`planaris.marginals`, and where it runs.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((3, [(0, 1), (1, 2)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> Marginal(p=0.1, q=0.25).recover(seen).beliefs.round(4).tolist()
    [0.9231, 0.9423, 0.9231]
    """

    method: str = "auto"
    device: str | None = None

    def _solve(
        self, observations: Observations, model: IsingModel, rng: np.random.Generator
    ) -> Recovery:
        if self.method == "auto" and self.device is None:
            found = point_marginals(model, tolerance=TIE / 4, time_limit=self.time_limit)
        else:
            found = marginals(model, self.method, time_limit=self.time_limit, device=self.device)
        return _believe(np.asarray(found.nodes), found.exact, found.method, error=found.error)


@dataclass(frozen=True)
class LocalLP(_Weighted):
    """Round the linear program over the local polytope; fractional nodes are ties.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise of edges and nodes, one for all or one each; what is not given is estimated by
        maximum likelihood.
    time_limit : float, optional
        Seconds for the program.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((3, [(0, 1), (1, 2), (0, 2)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> LocalLP(p=0.1, q=0.4).recover(seen).beliefs.tolist()
    [1.0, 1.0, 1.0]
    """

    def _solve(
        self, observations: Observations, model: IsingModel, rng: np.random.Generator
    ) -> Recovery:
        found = relax.local_lp(model, time_limit=self.time_limit)
        return _relaxed(found, found.beliefs())


@dataclass(frozen=True)
class CycleLP(_Weighted):
    """Round the linear program over the cycle polytope; fractional nodes of 1/2 are ties.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise of edges and nodes, one for all or one each; what is not given is estimated by
        maximum likelihood.
    time_limit : float, optional
        Seconds for the cutting planes.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((3, [(0, 1), (1, 2), (0, 2)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> CycleLP(p=0.1, q=0.4).recover(seen).exact
    True
    """

    def _solve(
        self, observations: Observations, model: IsingModel, rng: np.random.Generator
    ) -> Recovery:
        found = relax.cycle_lp(model, time_limit=self.time_limit)
        # Cutting ends once a state is proved optimal, with pseudomarginals still fractional.
        proved = (found.spins > 0).astype(np.float64)
        return _relaxed(found, proved if found.exact else found.beliefs())


@dataclass(frozen=True)
class MAP(_Weighted):
    """MAP estimator: the most probable labelling as a whole, exact.

    Planar by matching, submodular by max-flow, narrow graphs by elimination, the rest by branch
    and cut.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise of edges and nodes, one for all or one each; what is not given is estimated by
        maximum likelihood.
    time_limit : float, optional
        Seconds for the solver; the best labelling found by then has ``exact`` False.
    method, device
        Force a method of :func:`planaris.ground_state`, and where it runs.
    tie_breaks : int
        How many equally probable labellings to draw, for :meth:`Recovery.mean_error`.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((3, [(0, 1), (1, 2), (0, 2)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> MAP(p=0.1, q=0.4).recover(seen).labels.tolist()
    [1, 1, 1]
    """

    method: str = "auto"
    tie_breaks: int = 0
    device: str | None = None

    def _solve(
        self, observations: Observations, model: IsingModel, rng: np.random.Generator
    ) -> Recovery:
        best = ground_state(model, self.method, time_limit=self.time_limit, device=self.device)
        stats: dict[str, Any] = {"lower": best.lower, "energy": best.energy}
        others, how_drawn = None, ""
        if self.tie_breaks:
            others, how_drawn = sample_ground_states(model, self.tie_breaks, rng)
        beliefs = (best.spins > 0).astype(np.float64)
        return Recovery(best.spins, beliefs, best.exact, best.method, others, stats, how_drawn)


@dataclass(frozen=True)
class HillClimbing(_Weighted):
    """Start at the observed nodes and flip single labels while that helps: a poor baseline.

    Parameters
    ----------
    p, q : float or array_like of float, optional
        Noise of edges and nodes, one for all or one each; what is not given is estimated by
        maximum likelihood.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((3, [(0, 1), (1, 2), (0, 2)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> HillClimbing(p=0.1, q=0.4).recover(seen).labels.tolist()
    [1, 1, 1]
    """

    def _solve(
        self, observations: Observations, model: IsingModel, rng: np.random.Generator
    ) -> Recovery:
        coins = rng.integers(0, 2, model.num_spins, dtype=np.int8) * 2 - 1
        start = np.where(observations.nodes == 0, coins, observations.nodes)
        edges, couplings = with_bias_spin(model)
        held = np.append(start, 1).astype(np.int8)
        spins = improve_spins(model.num_spins + 1, edges, couplings, held)
        labels = np.asarray(spins[:-1] * spins[-1], dtype=np.int8)
        return Recovery(labels, (labels > 0).astype(np.float64), False, "hill-climbing")


def _believe(beliefs: FloatArray, exact: bool, method: str, **stats: Any) -> Recovery:
    labels = np.where(beliefs >= 0.5 - TIE, 1, -1).astype(np.int8)
    return Recovery(labels, beliefs, exact, method, None, stats)


def _relaxed(found: GroundState, beliefs: FloatArray) -> Recovery:
    clipped = np.clip(beliefs, 0.0, 1.0)
    if found.exact:  # the state is proved, what a program rounds to is not
        proved = (found.spins > 0).astype(np.float64)
        clipped = np.where(np.abs(clipped - proved) > 0.5 + TIE, proved, clipped)
    guess = found.pseudomarginals
    stats = {"integrality": 1.0 if guess is None else guess.integrality, "status": found.status}
    told = _believe(clipped, found.exact, found.method, lower=found.lower, **stats)
    return replace(told, labels=found.spins) if found.exact else told
