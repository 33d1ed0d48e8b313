"""Energy, entropy and specific heat of any model along a sweep of temperatures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.embed import Embedding
from planaris.errors import (
    InfeasibleError,
    ModelError,
    PrecisionError,
    TimeLimitError,
    TooLargeError,
)
from planaris.infer.verbs import check_model, log_partition, marginals, verb_budget
from planaris.methods.auto import only_exact_marginals
from planaris.methods.bounds import PATIENCE_SECONDS
from planaris.methods.registry import Model, Question, find_method
from planaris.methods.tensor_network import MISFITS, NAME, short_sweep
from planaris.models import IsingModel
from planaris.models.arrays import as_real
from planaris.models.base import exact_sum
from planaris.reductions.parts import Part, share_structure, split_model
from planaris.result import LogPartition, Marginals, Thermodynamics
from planaris.tensor.temperatures import TemperatureSweep
from planaris.typing import ArrayLike, FloatArray

STEP = 2.0**-8
"""Relative step in β of the differences that give the specific heat."""

NARROW = 1e-3
"""Width of log Z per spin below which slopes bound the energy better than it is estimated."""

ROUNDED = 2.0**-50
"""Relative error of a few operations, and of couplings that were multiplied by β."""

EXACT_ENERGY = 1e-6
"""Error of the energy, relative to its range, below which it counts as exact."""


@dataclass(frozen=True)
class _Point:
    """The answers at one β."""

    log_z: LogPartition
    energy: float
    error: float
    exact: bool
    method: str
    heat: tuple[float, float] = (math.nan, math.nan)
    estimated: bool = False


def thermodynamics(
    model: Model,
    betas: ArrayLike,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> Thermodynamics:
    """Compute log Z, mean energy, entropy and specific heat at every inverse temperature.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model; at β its weights are those of ``model.at(beta)``.
    betas : array_like of float
        Inverse temperatures, not negative.
    method : str
        As for :func:`planaris.log_partition`. Exact methods give the energy by marginals and
        the specific heat by differences of it; on cold surfaces log Z beside β encloses the
        energy. Where none fits, lattices and other drawings with fields are estimated by tensor
        networks. Other methods give an interval around log Z; since log Z is convex in β, the
        intervals of all ``betas`` together enclose the energy.
    embedding, memory_limit, threads
        As for :func:`planaris.log_partition`.
    time_limit : float, optional
        Seconds for the whole sweep, shared evenly; default: 60 seconds for every β where only
        bounds fit.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    planaris.result.Thermodynamics
        Arrays, an entry for every β; ``estimated`` says which are estimates.

    Examples
    --------
    >>> import planaris as pl
    >>> glass = pl.generate.spin_glass(8, 0, disorder="bimodal")
    >>> sweep = pl.thermodynamics(glass, [0.5, 1.0, 2.0])
    >>> (sweep.energy / glass.num_spins).round(3).tolist()
    [-0.807, -1.187, -1.275]
    >>> (sweep.entropy / glass.num_spins).round(3).tolist()
    [0.501, 0.236, 0.125]
    """
    check_model(model)
    find_method(method, "log_partition")
    beta = _as_betas(betas)
    budget = verb_budget(time_limit, memory_limit, threads, progress)
    if method == "auto" and embedding is None and _is_planar(model, budget):
        method = "planar"  # chosen once, not for every β
    options: dict[str, Any] = {"method": method, "embedding": embedding}
    points: list[_Point] = []
    estimates = None
    if method in ("auto", NAME) and embedding is None:
        estimates = _Estimates(model, asked_for=method == NAME)
    with budget.watch("temperatures") as watched:
        for k, b in enumerate(beta.tolist()):
            mine = watched.quiet().share(1.0 / (len(beta) - k))
            points.append(_at(model, b, mine, options, estimates))
            watched.report((k + 1) / len(beta))
    return _gather(model, beta, points)


def _as_betas(betas: ArrayLike) -> FloatArray:
    beta = np.atleast_1d(as_real("betas", betas))
    if beta.ndim != 1 or (beta.size and not (np.isfinite(beta).all() and beta.min() >= 0)):
        msg = f"`betas` must be finite and not negative, in one dimension, got {beta.tolist()}"
        raise ModelError(msg)
    return beta


def _is_planar(model: Model, budget: Budget) -> bool:
    return _all_parts(model, budget, lambda part: part.is_plane)


def _all_parts(model: Model, budget: Budget, fit: Callable[[Part], bool]) -> bool:
    """Return True if all biconnected parts of spins fit; False if the time is over before."""
    if not isinstance(model, IsingModel):
        return False
    try:
        with budget.for_structure():
            return all(fit(part) for part in split_model(model).parts)
    except TimeoutError:
        return False


class _Estimates:
    """Estimates by tensor networks, of models that no exact method fits."""

    def __init__(self, model: Model, *, asked_for: bool) -> None:
        self.model, self.asked_for = model, asked_for
        self.sweep: TemperatureSweep | None = None
        self.none_fits = asked_for

    def exact(self, b: float, budget: Budget) -> Marginals | None:
        """Return exact marginals at one β; None where no method fits the model."""
        if self.none_fits:
            return None
        try:
            return only_exact_marginals(Question(share_structure(self.model, b), budget))
        except TooLargeError:
            self.none_fits = True  # at any β
        except (PrecisionError, TimeLimitError):
            pass
        return None

    def at(self, b: float, budget: Budget) -> _Point | None:
        """Estimate what happens at one β; None where tensor networks do not fit."""
        try:
            if self.sweep is None:
                plan = None if self.asked_for else short_sweep(self.model)
                if plan is None and not self.asked_for:
                    return None
                self.sweep = TemperatureSweep(self.model, plan)
            found = self.sweep.at(b, budget)
        except MISFITS:
            if self.asked_for:
                raise
            return None
        error = _energy_error(self.model, found.marginals.error)
        energy = _mean_energy(self.model, found.marginals)
        heat = (found.specific_heat, found.specific_heat_error)
        return _Point(found.log_partition, energy, error, False, NAME, heat, estimated=True)


def _at(
    model: Model,
    b: float,
    budget: Budget,
    options: dict[str, Any],
    estimates: _Estimates | None,
) -> _Point:
    scaled = share_structure(model, b)
    found: Marginals | None = None
    if estimates is not None:
        found = estimates.exact(b, budget.share(0.5))
        point = None
        if found is None and not estimates.asked_for:
            point = _by_slopes(model, b, budget)
        if found is None and point is None and estimates.asked_for:
            point = estimates.at(b, budget)
        elif found is None and point is None:  # bounds need their share, if there is no estimate
            budget = budget.or_within(PATIENCE_SECONDS)
            point = estimates.at(b, budget.share(0.5))
        if point is not None:
            return point
    if found is None and "marginals" in find_method(options["method"], "log_partition").tasks:
        try:
            found = marginals(scaled, time_limit=budget.share(0.5), **options)
        except (*MISFITS, InfeasibleError):
            found = None  # log Z may still be enclosed
    log_z = found.log_partition if found is not None and found.exact else None
    log_z = log_z or log_partition(scaled, time_limit=budget, **options)
    if found is None or not found.exact:
        energy = math.nan if found is None else _mean_energy(model, found)
        return _Point(log_z, energy, math.inf, False, log_z.method)
    error = _energy_error(model, found.error)
    heat = _specific_heat(model, b, budget, options) if log_z.exact else (math.nan, math.nan)
    return _Point(log_z, _mean_energy(model, found), error, log_z.exact, found.method, heat)


def _by_slopes(model: Model, b: float, budget: Budget) -> _Point | None:
    """Enclose the energy by log Z beside β, on surfaces where marginals cancel but log Z does not.

    log Z is convex in β: its derivative lies between the slopes to either side.
    """
    step = STEP * b
    if step == 0 or not isinstance(model, IsingModel):
        return None
    if not _all_parts(model, budget, lambda part: part.embedding is not None):
        return None
    try:
        colder, here, warmer = (
            log_partition(share_structure(model, at), time_limit=budget)
            for at in (b + step, b, b - step)
        )
    except MISFITS:
        return None
    most = max(found.upper - found.lower for found in (colder, here, warmer))
    if most > NARROW * model.num_spins:
        return None
    rounding = ROUNDED * b * _range(model)
    least_energy = (here.lower - colder.upper - rounding) / step
    most_energy = (warmer.upper - here.lower + rounding) / step
    heat = b * b * (colder.value - 2 * here.value + warmer.value) / step**2
    energy, error = (least_energy + most_energy) / 2, (most_energy - least_energy) / 2
    exact = here.exact and error <= EXACT_ENERGY * _range(model)
    return _Point(here, energy, error, exact, here.method, (heat, 4 * b * b * most / step**2))


def _mean_energy(model: Model, found: Marginals) -> float:
    """Return ⟨E⟩ of the model, unscaled, under marginals."""
    if isinstance(model, IsingModel):
        edges = model.couplings * (1.0 - 2.0 * np.asarray(found.edges))
        nodes = model.fields * (1.0 - 2.0 * np.asarray(found.nodes))
        return exact_sum(np.concatenate([edges, nodes, [0.0 - model.offset]]))
    chance = np.concatenate([np.ravel(table) for table in found.edges] or [np.zeros(0)])
    logs = np.where(np.isfinite(model.log_values), model.log_values, 0.0)
    return 0.0 - exact_sum(chance * logs)


def _range(model: Model) -> float:
    """Return a bound on the size of any energy."""
    if isinstance(model, IsingModel):
        numbers = np.concatenate([model.couplings, model.fields, [model.offset]])
    else:
        numbers = model.log_values[np.isfinite(model.log_values)]
    return exact_sum(np.abs(numbers)) * (1.0 + ROUNDED)


def _energy_error(model: Model, error: float) -> float:
    """Return how far the mean energy is off if probabilities are, rounding included."""
    return (2.0 * error + ROUNDED) * _range(model)


def _specific_heat(
    model: Model, b: float, budget: Budget, options: dict[str, Any]
) -> tuple[float, float]:
    """Return the specific heat and an estimate of its error, from steps of two widths.

    They are not numbers where marginals beside β are not exact, for want of time or digits.
    """
    slopes = []  # times β: neither its square nor a slope may leave the range of floats
    for step in (STEP, 2 * STEP):
        if step * b > 0:
            ends = []
            for side in (b + step * b, b - step * b):
                try:
                    found = marginals(share_structure(model, side), time_limit=budget, **options)
                except MISFITS:
                    return math.nan, math.nan
                if not found.exact:
                    return math.nan, math.nan
                ends.append(_mean_energy(model, found))
            slopes.append((ends[0] - ends[1]) / (2 * step))
    if not slopes:
        return 0.0, 0.0
    return -b * (4 * slopes[0] - slopes[1]) / 3, b * abs(slopes[0] - slopes[1]) / 3


def _gather(model: Model, beta: FloatArray, points: list[_Point]) -> Thermodynamics:
    lower = np.array([point.log_z.lower for point in points])
    upper = np.array([point.log_z.upper for point in points])
    guessed = np.array([point.estimated for point in points], dtype=bool)
    # What holds is not narrowed by what is estimated.
    least, most = _enclosed_energy(
        model, beta, np.where(guessed, -np.inf, lower), np.where(guessed, np.inf, upper)
    )
    energy = np.array([point.energy for point in points])
    error = np.array([point.error for point in points])
    exact = np.array([point.exact for point in points], dtype=bool)
    # Where there are no marginals the energy is not a number, but still enclosed.
    least, most = np.fmax(least, energy - error), np.fmin(most, energy + error)
    least = np.where(exact | guessed, energy - error, least)
    most = np.where(exact | guessed, energy + error, most)
    with np.errstate(invalid="ignore"):  # no state has positive weight: there is no energy
        inside = np.where(np.isnan(energy), (least + most) / 2, np.clip(energy, least, most))
    log_z = np.array([point.log_z.value for point in points])
    heats = np.array([point.heat for point in points]).reshape(-1, 2).T
    # Values inside wide intervals need not fit each other: the entropy has its own interval.
    lowest = np.maximum(lower + beta * least, 0.0)
    highest = np.minimum(upper + beta * most, _log_states(model))
    with np.errstate(invalid="ignore"):
        entropy = np.where(exact | guessed, log_z + beta * inside, (lowest + highest) / 2)
    return Thermodynamics(
        beta,
        log_z,
        inside,
        entropy,
        heats[0],
        heats[1],
        log_partition_lower=lower,
        log_partition_upper=upper,
        energy_lower=least,
        energy_upper=most,
        exact=exact,
        estimated=guessed,
        method="+".join(sorted({point.method for point in points})) or "none",
    )


def _log_states(model: Model) -> float:
    """Return the logarithm of the number of states."""
    labels = [2] * model.num_spins if isinstance(model, IsingModel) else model.cardinalities
    return float(np.log(labels).sum())


def _enclosed_energy(
    model: Model, beta: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Enclose ⟨E⟩ = -d log Z / dβ by slopes between intervals: log Z is convex in β."""
    count, most = len(beta), _range(model)
    # Bound on the change of log Z by rounding couplings that were multiplied by β.
    lower, upper = lower - ROUNDED * beta * most, upper + ROUNDED * beta * most
    if isinstance(model, IsingModel) or not model.has_zeros:  # all states are known at β = 0
        at_zero = _log_states(model)
        beta, lower, upper = (
            np.append(x, end) for x, end in ((beta, 0.0), (lower, at_zero), (upper, at_zero))
        )
    apart = beta[None, :] - beta[:, None]  # from each β (row) to each other
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = (upper[None, :] - lower[:, None]) / apart
    # The derivative is at most any slope to a larger β, and at least any slope to a smaller one.
    steepest = np.where(apart > 0, slope, np.inf).min(axis=1, initial=np.inf)[:count]
    flattest = np.where(apart < 0, slope, -np.inf).max(axis=1, initial=-np.inf)[:count]
    rounding = ROUNDED * most
    return np.maximum(-steepest - rounding, -most), np.minimum(-flattest + rounding, most)
