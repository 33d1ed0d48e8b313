"""Noise levels from the observations alone, by maximum likelihood.

With a uniform prior on the labels the likelihood of observations is a partition function:
P(X) = 2^-n Z(J X, h X) / ((2 cosh J)^m (2 cosh h)^n) with J, h half the log odds of p, q. Its
maximum lies on the Nishimori line, where the mean energy of the edges is -m tanh J: expected
and assumed noise agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from planaris import tensor, treewidth
from planaris.errors import MethodError, NotPlanarError, require_one_of
from planaris.infer import ground_state
from planaris.methods.tensor_network import MISFITS, short_sweep
from planaris.models import IsingModel
from planaris.models.arrays import as_rng
from planaris.planar import Plan, plan
from planaris.recover.noise_levels.joint_likelihood import (
    HIGHER,
    climb_joint,
    highest,
    log2cosh,
    standard_errors,
)
from planaris.recover.noise_levels.levels import LARGEST_WEIGHT, Levels
from planaris.recover.observe import Observations, connected_part, require_observations
from planaris.recover.signs import joined_components, majority_sign
from planaris.recover.weights import log_odds, noise_of
from planaris.typing import ArrayLike, FloatArray

JOINT_SECONDS = {"auto": 0.1, "joint": 1.0}
"""Longest elimination with which the likelihood of nodes and edges together is climbed."""

DISORDERED = 0.09
"""From this edge noise on labels from the edges alone have no long-range order on lattices."""

CLIMBED_NODES = 2500
"""Most nodes of a graph whose joint likelihood is estimated without being asked for."""

SCANNED_NODES = 150
"""Most nodes of a graph whose joint likelihood is scanned: little graphs have lower maxima, and a
scan takes some fifty times the marginals of a model."""

TENSOR_TOLERANCE = 1e-5
"""Change of a probability at which a tensor network is good enough to climb by."""

SAMPLES = 8
"""Posterior samples whose overlap says how far labels from the edges can be trusted."""

SAMPLED_SPINS = 100_000
"""Larger graphs are sampled on a connected part of so many nodes."""

METHODS = ("auto", "joint", "edges", "plug-in")


@dataclass(frozen=True)
class NoiseEstimate:
    """Estimated noise of edges and nodes.

    Attributes
    ----------
    p, q : float or numpy.ndarray
        Estimates, or the values that were given; one per edge or node where groups or arrays
        were given.
    p_error, q_error : float or numpy.ndarray
        Standard errors; 0 where the value was given, ``inf`` where the data say nothing.
    log_likelihood : float
        Of what the method looked at; NaN for ``"plug-in"``. The highest of those that climbs
        from a scan of weights lead to; one climb for both of more than 150 nodes, and for groups
        of edges of planar graphs of more than 2500.
    exact : bool
        True when the likelihood was computed exactly; False where it was estimated by tensor
        networks, or not at all.
    method : str
        ``"joint"``: nodes and edges together; ``"edges"``: p from the edges alone, q from the
        overlap of the nodes with posterior samples; ``"plug-in"``: most probable labels taken
        for the truth, which understates both.
    """

    p: Any
    q: Any
    p_error: Any
    q_error: Any
    log_likelihood: float
    exact: bool
    method: str


def estimate_noise(
    observations: Observations,
    *,
    p: float | FloatArray | None = None,
    q: float | FloatArray | None = None,
    edge_groups: ArrayLike | None = None,
    node_groups: ArrayLike | None = None,
    method: str = "auto",
    rng: np.random.Generator | int | None = None,
) -> NoiseEstimate:
    """Estimate the noise of edges and nodes by maximum likelihood.

    Parameters
    ----------
    observations : Observations
        What was seen, on any graph.
    p, q : float or array_like of float, optional
        Noise that is known and not to be estimated, one for all or one per edge and node.
    edge_groups, node_groups : array_like of int, optional
        Group of every edge and node: each group has a noise of its own. Groups of nodes need
        ``"joint"`` or ``"plug-in"``.
    method : {"auto", "joint", "edges", "plug-in"}
        See :class:`NoiseEstimate`; default the first that fits: ``"joint"`` by an elimination
        of at most 0.1 seconds; ``"edges"`` on a planar graph, unless it has at most 2500
        nodes and p is above 0.09; ``"joint"`` by tensor networks on lattices and other graphs
        that a short line can be swept across; ``"plug-in"``.
    rng : numpy.random.Generator, int or None
        Source of the posterior samples of ``"edges"``, or its seed; default seed 0.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.recover import observe
    >>> seen = observe(pl.generate.square_lattice(60), 1, 0.05, 0.3, np.random.default_rng(0))
    >>> noise = estimate_noise(seen, rng=0)
    >>> noise.method, abs(noise.p - 0.05) < 0.01, abs(noise.q - 0.3) < 0.03
    ('edges', True, True)
    """
    require_one_of("method", method, METHODS)
    require_observations(observations)
    generator = as_rng(0 if rng is None else rng)
    graph = observations.graph
    known = (
        Levels.of("p", p, "edge_groups", edge_groups, len(graph.edges)),
        Levels.of("q", q, "node_groups", node_groups, graph.num_nodes),
    )
    if method in ("auto", "joint"):
        order = _affordable_order(observations, JOINT_SECONDS[method])
        if order is not None:
            start = _start(observations, known, generator)
            marginals = partial(treewidth.marginals, plan=order)
            scan = observations.graph.num_nodes <= SCANNED_NODES
            climbed = climb_joint(observations, known, marginals, start, scan=scan)
            return _joint(climbed, exact=True)
    if method == "joint":
        return _joint_estimate(observations, known, _start(observations, known, generator))
    if method == "edges" and known[1].given is None and known[1].count > 1:
        msg = "`node_groups` need method='joint' or 'plug-in'"
        raise MethodError(msg)
    if method in ("auto", "edges") and (known[1].given is not None or known[1].count == 1):
        try:
            prepared = plan(observations.edge_model())
        except NotPlanarError:
            if method == "edges":
                raise
        else:
            found = _from_edges(observations, known, prepared, generator)
            if method == "edges" or not _is_disordered(observations, found):
                return found
            with suppress(*MISFITS):
                return _joint_estimate(observations, known, _weights(found))
            return found
    if method == "auto":
        with suppress(*MISFITS):
            return _joint_estimate(observations, known, (0.8, 0.4))
    return _plug_in(observations, known)


# -- nodes and edges together ---------------------------------------------------------------


def _affordable_order(
    observations: Observations, seconds: float
) -> treewidth.EliminationPlan | None:
    if observations.graph.num_nodes > 5000:
        return None
    order = treewidth.plan_elimination(observations.model(1.0, 1.0), task="marginals")
    fits = order.complete and order.bytes <= treewidth.default_memory_limit()
    return order if fits and order.seconds <= seconds else None


def _joint(climbed: tuple[tuple[Any, Any], tuple[Any, Any], float], exact: bool) -> NoiseEstimate:
    (p, p_error), (q, q_error), value = climbed
    return NoiseEstimate(p, q, p_error, q_error, value, exact, "joint")


def _joint_estimate(
    observations: Observations, known: tuple[Levels, Levels], start: tuple[float, float]
) -> NoiseEstimate:
    """Climb the likelihood of nodes and edges as tensor networks estimate it."""
    sweep = short_sweep(observations.model(1.0, 1.0))
    if sweep is None:
        msg = (
            "the joint likelihood needs a graph that can be eliminated, or that a short line can "
            "be swept across; use method='edges' on planar graphs or 'plug-in'"
        )
        raise MethodError(msg)
    warm = tensor.WarmStart(sweep, tolerance=TENSOR_TOLERANCE)
    return _joint(climb_joint(observations, known, warm.marginals, start), exact=False)


def _is_disordered(observations: Observations, found: NoiseEstimate) -> bool:
    """Return whether labels from the edges alone are too uncertain to compare nodes with."""
    return bool(np.mean(found.p) > DISORDERED) and observations.graph.num_nodes <= CLIMBED_NODES


def _start(
    observations: Observations, known: tuple[Levels, Levels], rng: np.random.Generator
) -> tuple[float, float]:
    """Return weights to climb from: what the edges say, where they can be asked."""
    alike = tuple(side.ungrouped() for side in known)
    try:
        found = _from_edges(observations, alike, plan(observations.edge_model()), rng)
    except (NotPlanarError, MethodError):
        return 0.8, 0.4
    return _weights(found)


def _weights(found: NoiseEstimate) -> tuple[float, float]:
    # Not from where the likelihood is flat: it hardly changes once noise is next to nothing.
    edges, nodes = (
        float(np.clip(log_odds(float(np.mean(noise))), 0.05, 2.0)) for noise in (found.p, found.q)
    )
    return edges, nodes


# -- planar: p from the edges, q from the nodes given what the edges say ---------------------


def _from_edges(
    observations: Observations,
    known: tuple[Levels, ...],
    prepared: Plan,
    rng: np.random.Generator,
) -> NoiseEstimate:
    model = observations.edge_model()
    seen = observations.edges != 0
    n = observations.graph.num_nodes
    edges, nodes = known

    def likelihood(x: np.ndarray) -> float:
        weights = edges.weights(x)
        found = prepared.log_partition(observations.couplings(weights))
        return float(found.value) - n * math.log(2) - float(log2cosh(weights)[seen].sum())

    best, errors = np.zeros(0), np.zeros(0)
    if edges.given is None:
        weight, error = _climb(lambda w: likelihood(np.full(edges.count, w)))
        best, errors = np.full(edges.count, weight), np.full(edges.count, error)
        if edges.count > 1:
            apart = _climb_groups(observations, edges, likelihood, best, prepared)
            # At an end of the scale nothing says more than one weight for all does.
            if 0 < weight < LARGEST_WEIGHT or likelihood(apart[0]) > likelihood(best) + HIGHER:
                best, errors = apart
    p, p_error = edges.result(best, errors)
    q, q_error = nodes.result(np.zeros(0), np.zeros(0)) if nodes.given is not None else (0.5, 0.0)
    if nodes.given is None:
        q, q_error = _node_noise(observations, model, edges.weights(best), prepared, rng)
    return NoiseEstimate(p, q, p_error, q_error, likelihood(best), True, "edges")


def _climb_groups(
    observations: Observations,
    edges: Levels,
    likelihood: Callable[[np.ndarray], float],
    start: np.ndarray,
    prepared: Plan,
) -> tuple[np.ndarray, np.ndarray]:
    """Return one weight per group of edges, by the gradient that planar marginals give."""
    from scipy.optimize import minimize

    seen = observations.edges != 0

    def gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        weights = edges.weights(x)
        found = prepared.marginals(observations.couplings(weights))
        agree = np.asarray(found.edges)[observations.graph.merged]
        slope = observations.edges * (2 * agree - 1) - np.tanh(weights) * seen
        return likelihood(x), edges.sums(slope)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = gradient(x)
        return -value, -slope

    found = minimize(
        negative,
        np.clip(start, 0.05, 3.0),
        jac=True,
        bounds=[(1e-9, LARGEST_WEIGHT)] * len(start),
        method="L-BFGS-B",
        options={"maxiter": 60, "ftol": 1e-10, "gtol": 1e-4},
    )
    best = found.x
    if observations.graph.num_nodes <= CLIMBED_NODES:
        best = highest(negative, best, len(best))
    return best, standard_errors(gradient, best)


def _climb(likelihood: Callable[[float], float]) -> tuple[float, float]:
    """Return the weight of largest likelihood and the standard error of its noise."""
    from scipy.optimize import minimize_scalar

    # A coarse scan first: frustrated little graphs have likelihoods with two maxima.
    scan = np.array([0.0, 0.2, 0.5, 0.9, 1.3, 1.8, 2.5, 3.5, LARGEST_WEIGHT])
    values = np.array([likelihood(float(w)) for w in scan])
    if np.ptp(values) <= 1e-9 * (1 + np.abs(values).max()):
        return 0.0, math.inf  # a forest: every edge may be wrong
    at = int(np.argmax(values))
    lo, hi = scan[max(at - 1, 0)], scan[min(at + 1, len(scan) - 1)]
    found = minimize_scalar(
        lambda w: -likelihood(float(w)), bounds=(lo, hi), method="bounded", options={"xatol": 1e-4}
    )
    weight = float(found.x)
    if values[at] >= -found.fun:
        weight = float(scan[at])
    if weight >= LARGEST_WEIGHT - 1e-3:
        return LARGEST_WEIGHT, 0.0
    step = 0.02
    mid, up, down = (likelihood(max(w, 0.0)) for w in (weight, weight + step, weight - step))
    curvature = (2 * mid - up - down) / step**2
    noise = noise_of(weight)
    error = 2 * noise * (1 - noise) / math.sqrt(curvature) if curvature > 0 else math.inf
    return weight, error


def _node_noise(
    observations: Observations,
    model: IsingModel,
    weight: float | FloatArray,
    prepared: Plan,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Estimate q from how far the nodes overlap with samples of the labels given the edges.

    On the Nishimori line the truth is distributed as one more sample, so that the overlap of
    two samples is that of a sample and the truth. With r = 1 - 2q, in every component c,
    E[M² - n] = r² E[O² - n]: M the overlap of a sample with the nodes, O that of two samples.
    """
    count, component = joined_components(model)
    mask = observations.nodes != 0
    total = int(mask.sum())
    if not total:
        return 0.5, math.inf
    if model.num_spins > SAMPLED_SPINS:
        part = connected_part(observations, SAMPLED_SPINS)
        smaller = part.edge_model()
        mean = float(np.mean(weight))  # of its edges, one weight stands for all
        return _node_noise(part, smaller, mean, plan(smaller), rng)
    states = prepared.sample(observations.couplings(weight), SAMPLES, rng) * mask

    def squared(first: np.ndarray, second: np.ndarray) -> float:
        overlap = np.bincount(component, weights=(first * second).astype(float), minlength=count)
        return float((overlap**2).sum()) - total

    with_nodes = np.mean([squared(row, observations.nodes) for row in states])
    pairs = [squared(states[i], states[j]) for i in range(len(states)) for j in range(i)]
    with_each_other = float(np.mean(pairs))
    if with_each_other <= 0:
        return 0.5, math.inf
    r = math.sqrt(min(max(float(with_nodes) / with_each_other, 0.0), 1.0))
    trust = math.sqrt(with_each_other / max(total * (total - 1), 1))
    return (1 - r) / 2, 0.5 * math.sqrt(max(1 - r * r, 1 / total) / total) / max(trust, 1e-12)


# -- anything else ---------------------------------------------------------------------------


def _plug_in(observations: Observations, known: tuple[Levels, Levels]) -> NoiseEstimate:
    model = observations.edge_model()
    best = ground_state(model)
    labels, _ = majority_sign(observations, best.spins, *joined_components(model))
    found = []
    for side, bad, seen in (
        (known[0], observations.bad_edges(labels), observations.edges != 0),
        (known[1], observations.bad_nodes(labels), observations.nodes != 0),
    ):
        size = np.maximum(np.bincount(side.groups, seen, side.count), 1)
        share = np.minimum(np.bincount(side.groups, bad, side.count) / size, 0.5)
        found.append(side.spread(share, np.sqrt(share * (1 - share) / size)))
    (p, p_error), (q, q_error) = found
    return NoiseEstimate(p, q, p_error, q_error, math.nan, False, "plug-in")
