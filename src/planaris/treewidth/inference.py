"""Exact inference by elimination: log Z, marginals, most probable states and samples."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.errors import InfeasibleError, ModelError, PrecisionError
from planaris.models import IsingModel
from planaris.models.tables import parts_ending_at
from planaris.result import GroundState, LogPartition, Marginals
from planaris.result.answers import MARGINAL_TOLERANCE
from planaris.treewidth.flatten import Model, num_variables
from planaris.treewidth.on_device import DeviceRun
from planaris.treewidth.plan import EliminationPlan, Task
from planaris.treewidth.rounding import EPS, shaken
from planaris.treewidth.run import METHOD, Run
from planaris.typing import Array, FloatArray, Rng


def log_partition(
    model: Model,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
    device: Any = None,
) -> LogPartition:
    """Compute the exact log partition function by elimination.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any discrete model; potentials may be zero and of any size.
    plan : EliminationPlan, optional
        Order to use, from :func:`plan_elimination`; default: the best of several.
    memory_limit : int, optional
        Bytes that tables may take; default half of the machine's memory.
    time_limit : float, optional
        Seconds, after which the work stops with a :class:`~planaris.errors.TimeLimitError`.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.
    device : str or torch.device, optional
        ``"cuda"`` keeps the table of a binary pairwise model on a GPU, up to what fits its memory;
        ``"cpu"`` does the same by operations of torch. Default: the compiled core.

    Returns
    -------
    LogPartition
        ``lower`` and ``upper`` enclose the rounding error. ``-inf`` when no state has weight.

    Raises
    ------
    TooLargeError
        With ``width``, ``bytes_needed`` and the methods that give bounds instead.

    Notes
    -----
    Weights are doubles with 64-bit exponents, so no temperature over- or underflows.

    Examples
    --------
    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> round(log_partition(frustrated).value, 6)
    2.797846
    """
    budget = Budget.of(time_limit, memory_limit=memory_limit, progress=progress)
    run = _run(model, "log_partition", plan, budget, device)
    with run.timed() as watched:
        total, _, _ = run.sum(watched, marginals=False)
    return run.log_partition(total)


def marginals(
    model: Model,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
    device: Any = None,
) -> Marginals:
    """Compute all exact marginals of variables and factors by elimination.

    Parameters
    ----------
    model, plan, memory_limit, time_limit, progress, device
        As for :func:`log_partition`.

    Returns
    -------
    Marginals
        Of an Ising model: arrays ``P(s_v = +1)`` and ``P(s_u = s_v)``; of a Markov random
        field: a table per variable and a table per factor. ``log_partition`` comes for free.

    Raises
    ------
    TooLargeError
        As for :func:`log_partition`.
    InfeasibleError
        When no state has weight.

    Examples
    --------
    >>> pair = IsingModel([(0, 1)], [0.5], fields=[1.0, 0.0])
    >>> found = marginals(pair)
    >>> found.nodes.round(4).tolist(), found.edges.round(4).tolist()
    ([0.8808, 0.676], [0.7311])
    """
    budget = Budget.of(time_limit, memory_limit=memory_limit, progress=progress)
    run = _run(model, "marginals", plan, budget, device)
    with run.timed() as watched:
        total, nodes, factors = run.sum(watched, marginals=True)
    if total.value == -math.inf:
        _refuse_infeasible("marginals")
    details: dict[str, Any] = {
        "method": METHOD,
        "log_partition": run.log_partition(total),
        "error": run.marginal_error(total),
        "seconds": run.taken,
        "stats": run.stats,
    }
    if details["error"] > MARGINAL_TOLERANCE:  # the bound is for the worst case
        details |= {"error": _moved(run, nodes, factors), "proved": False}
    nodes, factors = np.minimum(nodes, 1.0), np.minimum(factors, 1.0)  # sums of rounded numbers
    if isinstance(model, IsingModel):
        pairs = factors[: 4 * model.num_edges].reshape(-1, 4)
        equal = np.minimum(pairs[:, 0] + pairs[:, 3], 1.0)
        return Marginals(nodes=nodes[1::2].copy(), edges=equal, **details)
    tables = parts_ending_at(nodes, np.cumsum(model.cardinalities))
    return Marginals(nodes=tables, edges=_factor_tables(factors, run.plan), **details)


def _moved(run: Run, nodes: FloatArray, factors: FloatArray) -> float:
    """Return by how much marginals change with the last places of the numbers of the model."""
    if run.model.log_weight_size > 2.0**50:  # small numbers are lost beside the large ones
        return 1.0
    again = run.again(shaken(run.model))
    with again.timed() as budget:
        _, others, tables = again.sum(budget, marginals=True)
    moved = [np.abs(nodes - others), np.abs(factors - tables)]
    return 2 * max(float(x.max(initial=0.0)) for x in moved) + 4 * EPS


def ground_state(
    model: Model,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
    device: Any = None,
) -> GroundState:
    """Find a state of largest weight by elimination.

    Parameters
    ----------
    model, plan, memory_limit, time_limit, progress, device
        As for :func:`log_partition`.

    Returns
    -------
    GroundState
        ``energy`` is recomputed from the state; ``lower`` leaves room for the rounding of the
        maximisation. For a Markov random field read ``assignment``.

    Raises
    ------
    TooLargeError
        As for :func:`log_partition`.
    InfeasibleError
        When no state has weight.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1.0, -2.0], fields=[0.5, 0.0, 0.0])
    >>> best = ground_state(model)
    >>> best.spins.tolist(), best.energy
    ([1, 1, -1], -3.5)
    """
    budget = Budget.of(time_limit, memory_limit=memory_limit, progress=progress)
    run = _run(model, "ground_state", plan, budget, device)
    with run.timed() as watched:
        assignment, best = run.max(watched)
    if best.value == -math.inf:
        _refuse_infeasible("most probable state")
    return run.ground_state(assignment, best)


def sample(
    model: Model,
    num_samples: int,
    rng: Rng = None,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> Array:
    """Draw independent exact samples by elimination.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any discrete model.
    num_samples : int
        How many.
    rng : numpy.random.Generator, int or None
        Source of randomness.
    plan, memory_limit, time_limit, progress
        As for :func:`log_partition`.

    Returns
    -------
    numpy.ndarray
        One state per row: int8 spins for an Ising model, int32 labels otherwise.

    Examples
    --------
    >>> stiff = IsingModel([(0, 1)], [50.0])
    >>> states = sample(stiff, 5, np.random.default_rng(1))
    >>> states.shape, bool((states[:, 0] == states[:, 1]).all())
    ((5, 2), True)
    """
    if num_samples < 0:
        msg = f"`num_samples` must not be negative, got {num_samples}"
        raise ModelError(msg)
    budget = Budget.of(time_limit, memory_limit=memory_limit, progress=progress)
    uneven = EPS * model.log_weight_size > MARGINAL_TOLERANCE
    if uneven and not marginals(model, plan=plan, time_limit=budget).exact:
        msg = (
            "samples of this model would depend on rounding errors, because its log weights add up "
            f"to {model.log_weight_size:.2g} in size; scale it down"
        )
        raise PrecisionError(msg)
    run = Run(model, "sample", plan, budget)
    seed = int(np.random.default_rng(rng).integers(2**63))
    with run.timed() as watched:
        flat = run.sample(watched, num_samples, seed)
    n = num_variables(model)
    if flat.size != n * num_samples or _is_constant_zero(model):
        _refuse_infeasible("samples")
    states = flat.reshape(num_samples, n)
    spins = isinstance(model, IsingModel)
    return (2 * states - 1).astype(np.int8) if spins else states.astype(np.int32, copy=False)


def _run(
    model: Model, task: Task, plan: EliminationPlan | None, budget: Budget, device: Any
) -> Run:
    if device is None:
        return Run(model, task, plan, budget)
    return DeviceRun(model, task, plan, budget, device)


def _factor_tables(flat: FloatArray, plan: EliminationPlan) -> list[FloatArray]:
    cards, scopes, offsets, _, table_offsets = plan.arrays
    tables = parts_ending_at(flat, table_offsets[1:])
    lengths, at = cards[scopes].tolist(), offsets.tolist()
    shapes = [lengths[begin:end] for begin, end in pairwise(at)]
    return [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]


def _is_constant_zero(model: Model) -> bool:
    """Whether a factor without variables is zero."""
    if isinstance(model, IsingModel):
        return False
    constants = model.table_offsets[:-1][np.diff(model.scope_offsets) == 0]
    return bool(np.any(model.log_values[constants] == -math.inf))


def _refuse_infeasible(what: str) -> NoReturn:
    msg = f"the model has no {what}: every state violates a hard constraint (has weight zero)"
    raise InfeasibleError(msg)
