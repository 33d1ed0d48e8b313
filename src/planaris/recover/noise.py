"""Noise levels from the observations alone, by maximum likelihood.

With a uniform prior on the labels the likelihood of observations is a partition function:
P(X) = 2^-n Z(J X, h X) / ((2 cosh J)^m (2 cosh h)^n) with J, h half the log odds of p, q. Its
maximum lies on the Nishimori line, where the mean energy of the edges is -m tanh J: expected
and assumed noise agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planaris import treewidth
from planaris.errors import MethodError, NotPlanarError
from planaris.infer import ground_state
from planaris.models import IsingModel
from planaris.planar import Plan, plan
from planaris.recover.observe import Observations, as_noise, connected_part
from planaris.recover.signs import joined_components, majority_sign
from planaris.recover.weights import log_odds, noise_of

LARGEST_WEIGHT = 8.0
"""Weights beyond this (noise below 1e-7) count as no noise at all."""

JOINT_SECONDS = {"auto": 0.1, "joint": 20.0}
"""Longest elimination with which the likelihood of nodes and edges together is climbed."""

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
    p, q : float
        Estimates, or the values that were given.
    p_error, q_error : float
        Standard errors; 0 where the value was given, ``inf`` where the data say nothing.
    log_likelihood : float
        Of what the method looked at; NaN for ``"plug-in"``.
    exact : bool
        True when the likelihood was computed exactly.
    method : str
        ``"joint"``: nodes and edges together; ``"edges"``: p from the edges alone, q from the
        overlap of the nodes with posterior samples; ``"plug-in"``: most probable labels taken
        for the truth, which understates both.
    """

    p: float
    q: float
    p_error: float
    q_error: float
    log_likelihood: float
    exact: bool
    method: str


def estimate_noise(
    observations: Observations,
    *,
    p: float | None = None,
    q: float | None = None,
    method: str = "auto",
    rng: np.random.Generator | int | None = None,
) -> NoiseEstimate:
    """Estimate the noise of edges and nodes by maximum likelihood.

    Parameters
    ----------
    observations : Observations
        What was seen, on any graph.
    p, q : float, optional
        Noise that is known and not to be estimated.
    method : {"auto", "joint", "edges", "plug-in"}
        See :class:`NoiseEstimate`; default the first that fits: ``"joint"`` needs an
        elimination of at most 20 seconds (0.1 to be chosen by itself), ``"edges"`` a planar
        graph.
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
    if method not in METHODS:
        msg = f"`method` must be one of {', '.join(map(repr, METHODS))}, got {method!r}"
        raise MethodError(msg)
    generator = np.random.default_rng(0 if rng is None else rng)
    known = (None if p is None else as_noise("p", p), None if q is None else as_noise("q", q))
    if method in ("auto", "joint"):
        order = _affordable_order(observations, JOINT_SECONDS[method])
        if order is not None:
            return _joint(observations, known, order, generator)
        if method == "joint":
            msg = (
                f"the joint likelihood needs an elimination of more than "
                f"{JOINT_SECONDS[method]:g} s on this graph; "
                "use method='edges' on planar graphs or 'plug-in'"
            )
            raise MethodError(msg)
    if method in ("auto", "edges"):
        try:
            prepared = plan(observations.edge_model())
        except NotPlanarError:
            if method == "edges":
                raise
        else:
            return _from_edges(observations, known, prepared, generator)
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


def _joint(
    observations: Observations,
    known: tuple[float | None, float | None],
    order: treewidth.EliminationPlan,
    rng: np.random.Generator,
) -> NoiseEstimate:
    from scipy.optimize import minimize

    seen = (np.count_nonzero(observations.edges), np.count_nonzero(observations.nodes))
    n = observations.graph.num_nodes
    free = [k for k in (0, 1) if known[k] is None]
    fixed = [min(log_odds(0.25 if value is None else value), LARGEST_WEIGHT) for value in known]

    def likelihood(weights: np.ndarray) -> tuple[float, np.ndarray]:
        J, h = (max(float(w), 1e-9) for w in weights)  # zero weights would change the order
        model = observations.model(J, h)
        found = treewidth.marginals(model, plan=order)
        log_z = found.log_z
        edge = float(model.couplings @ (2 * np.asarray(found.edges) - 1)) / J
        node = float(model.fields @ (2 * np.asarray(found.nodes) - 1)) / h
        value = log_z - n * math.log(2) - seen[0] * _log2cosh(J) - seen[1] * _log2cosh(h)
        return value, np.array([edge - seen[0] * math.tanh(J), node - seen[1] * math.tanh(h)])

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.array(fixed)
        weights[free] = x
        value, gradient = likelihood(weights)
        return -value, -gradient[free]

    best = np.array(fixed)
    if free:
        found = minimize(
            negative,
            _start(observations, known, rng)[free],
            jac=True,
            bounds=[(0.0, LARGEST_WEIGHT)] * len(free),
            method="L-BFGS-B",
            options={"maxiter": 60, "ftol": 1e-10, "gtol": 1e-4},
        )
        best[free] = found.x
    errors = _joint_errors(likelihood, best, free)
    noise = [noise_of(w) if w < LARGEST_WEIGHT * (1 - 1e-6) else 0.0 for w in best.tolist()]
    p, q = (found if given is None else given for given, found in zip(known, noise, strict=True))
    value = likelihood(best)[0]
    return NoiseEstimate(p, q, errors[0], errors[1], value, True, "joint")


def _start(
    observations: Observations, known: tuple[float | None, float | None], rng: np.random.Generator
) -> np.ndarray:
    """Return weights to climb from: what the edges say, where they can be asked."""
    try:
        found = _from_edges(observations, known, plan(observations.edge_model()), rng)
    except (NotPlanarError, MethodError):
        return np.array([0.8, 0.4])
    weights = [log_odds(found.p), log_odds(found.q)]
    # Not from where the likelihood is flat: it hardly changes once noise is next to nothing.
    return np.clip(weights, 0.05, 2.0)


def _joint_errors(
    likelihood: Callable[[np.ndarray], tuple[float, np.ndarray]],
    best: np.ndarray,
    free: list[int],
) -> list[float]:
    """Return standard errors of p and q from the observed information."""
    step = 1e-3
    hessian = np.zeros((len(free), len(free)))
    for row, k in enumerate(free):
        up, down = best.copy(), best.copy()
        up[k] += step
        down[k] = max(down[k] - step, 0.0)
        change = likelihood(up)[1] - likelihood(down)[1]
        hessian[row] = change[free] / (up[k] - down[k])
    errors = [0.0, 0.0]
    if not free:
        return errors
    information = -(hessian + hessian.T) / 2
    values, vectors = np.linalg.eigh(information)
    flat = values <= 1e-6 * max(float(np.abs(values).max()), 1.0)
    spread = (vectors**2) @ np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, values))
    spread[(vectors**2 @ flat) > 1e-6] = math.inf
    for row, k in enumerate(free):
        noise = noise_of(float(best[k]))
        errors[k] = 2 * noise * (1 - noise) * math.sqrt(float(spread[row]))
    return errors


# -- planar: p from the edges, q from the nodes given what the edges say ---------------------


def _from_edges(
    observations: Observations,
    known: tuple[float | None, float | None],
    prepared: Plan,
    rng: np.random.Generator,
) -> NoiseEstimate:
    model = observations.edge_model()
    seen = int(np.count_nonzero(observations.edges))
    n = observations.graph.num_nodes

    def likelihood(weight: float) -> float:
        found = prepared.log_partition(weight * model.couplings)
        return float(found.value) - n * math.log(2) - seen * _log2cosh(weight)

    if known[0] is None:
        weight, p_error = _climb(likelihood)
        p = noise_of(weight) if weight < LARGEST_WEIGHT else 0.0
    else:
        p, p_error = known[0], 0.0
        weight = min(log_odds(p), LARGEST_WEIGHT)
    q, q_error = known[1], 0.0
    if q is None:
        q, q_error = _node_noise(observations, model, weight, prepared, rng)
    return NoiseEstimate(p, q, p_error, q_error, likelihood(weight), True, "edges")


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
    weight: float,
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
        return _node_noise(part, smaller, weight, plan(smaller), rng)
    states = prepared.sample(weight * model.couplings, SAMPLES, rng) * mask

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


def _plug_in(observations: Observations, known: tuple[float | None, float | None]) -> NoiseEstimate:
    model = observations.edge_model()
    best = ground_state(model)
    labels, _ = majority_sign(observations, best.spins, *joined_components(model))
    found = []
    for given, bad, seen in (
        (known[0], observations.bad_edges(labels), observations.edges != 0),
        (known[1], observations.bad_nodes(labels), observations.nodes != 0),
    ):
        size = max(int(seen.sum()), 1)
        share = min(float(bad.sum()) / size, 0.5)
        error = math.sqrt(share * (1 - share) / size)
        found.append((share, error) if given is None else (given, 0.0))
    (p, p_error), (q, q_error) = found
    return NoiseEstimate(p, q, p_error, q_error, math.nan, False, "plug-in")


def _log2cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x)))
