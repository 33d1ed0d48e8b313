"""``marginals``: probabilities of spins and edges of any model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planaris import treewidth
from planaris.budget import Budget, TimeLimit
from planaris.embed import Embedding
from planaris.errors import MethodError, PrecisionError, TimeLimitError, TooLargeError
from planaris.infer.elimination import (
    cheap_elimination,
    fitting_elimination,
    sharper_elimination,
)
from planaris.infer.enumerated import all_marginals
from planaris.infer.log_partition import ANY_LABELS, BOUNDS
from planaris.infer.magnetisation import correlations_with_bias
from planaris.infer.parts import Part, Split, all_planar, split_model
from planaris.infer.pseudomarginals import (
    by_clamping,
    from_bound,
    lift_enclosures,
    of_labels,
)
from planaris.infer.reduce import ANY_FIELD, Model, as_ising, check_method, check_model, verb_budget
from planaris.infer.strong import stands_for, weakened
from planaris.models import IsingModel, MarkovRandomField, bias2fields
from planaris.progress import ProgressOption
from planaris.result import AsIsing, Marginals
from planaris.typing import FloatArray


def marginals(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> Marginals:
    """Return P(s_v = +1) of all spins and P(s_u = s_v) of all edges.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model; for a Markov random field there is a table per variable and per factor.
    method : str
        ``"auto"`` picks by structure, part by part, and estimates (``exact`` is False) where
        nothing exact fits. ``"planar"``, ``"treewidth"``, ``"brute-force"`` force one, which
        refuses with the reason when it does not fit. ``"trw"``, ``"pdc"``, ``"planar+tree"``,
        ``"trw+cycle"``, ``"logdet"``, ``"mean-field"`` and ``"interval"`` give the estimates
        of a bound on log Z (``exact`` is False, ``log_partition`` has the bound);
        ``"clamped"`` encloses: ``nodes_lower`` and ``nodes_upper`` hold for every
        P(s_v = +1), for a field every table. Pairwise Markov random fields with any number of
        labels have the estimates of ``"trw"`` and ``"mean-field"``.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds, after which ``"auto"`` and bounds return what they have (estimates), and a
        forced exact method raises :class:`~planaris.errors.TimeLimitError`. Default: as long as
        an exact method takes, and 60 seconds for bounds.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

    Returns
    -------
    planaris.result.Marginals
        ``nodes``, ``edges``, ``exact`` and ``method``.

    Examples
    --------
    >>> import planaris as pl
    >>> pair = pl.IsingModel([(0, 1)], [0.5], fields=[1.0, 0.0])
    >>> found = pl.marginals(pair)
    >>> found.nodes.round(4).tolist(), found.edges.round(4).tolist()
    ([0.8808, 0.676], [0.7311])
    """
    check_model(model)
    check_method(method, ("auto", "planar", *_FORCED))
    budget = verb_budget(time_limit, memory_limit, threads, progress)
    if not isinstance(model, IsingModel):
        return _of_field(model, method, budget)
    weaker = weakened(model) if method in _EXACT else None
    if weaker is not None:
        found = _solve(weaker, method, embedding, budget)
        if stands_for(model, found):
            return replace(found, log_partition=None)
    return _solve(model, method, embedding, budget)


def _solve(
    model: IsingModel, method: str, embedding: Embedding | None, budget: Budget
) -> Marginals:
    if method == "auto":
        try:
            return _auto(model, embedding, budget)
        except (TooLargeError, TimeLimitError):
            # Nothing exact fits: estimates, marked as such, with the interval for log Z.
            return _FORCED["interval"](model, budget)
        except PrecisionError:  # a surface that is too cold, and too wide to eliminate
            return _FORCED["trw"](model, budget)
    if method == "planar":
        return _by_parts(all_planar(model, embedding), _planar, budget)
    return _FORCED[method](model, budget)


def _auto(model: IsingModel, embedding: Embedding | None, budget: Budget) -> Marginals:
    if embedding is not None:
        return _by_parts(split_model(model, embedding), _cheapest, budget)
    plan = cheap_elimination(model, "marginals", budget) if _may_eliminate(model) else None
    if plan is not None:
        return treewidth.marginals(model, plan=plan, time_limit=budget)
    return _by_parts(split_model(model), _cheapest, budget)


def _may_eliminate(model: IsingModel) -> bool:
    """Whether looking for an elimination order is worth its time."""
    return model.num_spins <= 5000 or model.num_edges <= 1.05 * model.num_spins


def _of_field(field: MarkovRandomField, method: str, budget: Budget) -> Marginals:
    """Solve as an Ising model where the field is one, by elimination or estimates elsewhere."""
    if method == "brute-force":
        return all_marginals(field, budget)
    blurred = method == "auto" and sharper_elimination(field, "marginals", budget) is not None
    try:
        converted = None if method == "treewidth" or blurred else as_ising(field, method)
    except MethodError as reason:
        if method in _LABEL_ESTIMATES:
            return _estimate_labels(field, method, budget)
        names = ", ".join(map(repr, (*ANY_FIELD, "brute-force", *_LABEL_ESTIMATES)))
        msg = f"`method={method!r}` needs an Ising model: {reason}. Use one of {names}"
        raise MethodError(msg, **reason.evidence) from reason
    if converted is None:
        try:
            return _treewidth(field, budget)
        except (TooLargeError, TimeLimitError):
            if method != "auto" or not field.is_pairwise:
                raise
            return _estimate_labels(field, "trw", budget)
    ising, inverse = converted
    found = marginals(ising, method, time_limit=budget)
    proof = None if found.certificate is None else AsIsing(found.certificate)
    lifted = replace(inverse.lift_marginals(found), certificate=proof)
    return lift_enclosures(found, lifted, inverse) if found.method == "clamped" else lifted


def _by_parts(
    split: Split, solve: Callable[[Part, Budget], Marginals], budget: Budget
) -> Marginals:
    """Solve every part; edges of different parts are independent of each other."""
    edges = np.full(split.bare.num_edges, 0.5)
    methods, error, proved, details, certificates = set(), 0.0, True, [], []
    for part in split.parts:
        found = solve(part, budget)
        edges[part.edges] = np.asarray(found.edges)
        methods.add(found.method)
        error, proved = max(error, found.error), proved and found.proved
        certificates.append(found.certificate)
        details.append({**part.describe(), "method": found.method, **found.stats})
    bare = Marginals(
        nodes=np.full(split.bare.num_spins, 0.5),
        edges=edges,
        error=error,
        proved=proved,
        method="+".join(sorted(methods)) or "planar",
        seconds=budget.seconds(),
        stats={"parts": details},
        certificate=split.certificate(certificates),
    )
    return bare if split.inverse is None else _with_nodes(split, bare, budget)


def _with_nodes(split: Split, bare: Marginals, budget: Budget) -> Marginals:
    """Take the bias spin off: P(s_v = +1) is the marginal of its edge, where there is one."""
    inverse, edges = split.inverse, np.asarray(bare.edges)
    assert inverse is not None, "only models with fields come here"
    nodes = np.full(split.original.num_spins, 0.5)
    joined = inverse.bias_edge >= 0
    nodes[joined] = edges[inverse.bias_edge[joined]]
    unknown = ~joined & ~inverse.symmetric
    if unknown.any():
        found = correlations_with_bias(split, lambda part, root: _from_root(part, root, budget))
        nodes[unknown] = (1.0 + found[:-1][unknown]) / 2
    edges = edges[: split.original.num_edges]
    return replace(bare, nodes=nodes, edges=edges, seconds=budget.seconds())


def _from_root(part: Part, root: int, budget: Budget) -> FloatArray:
    """Return the correlations of one spin of a part with all others."""
    if part.embedding is not None:
        try:
            return part.plan.spin_correlations(part.model.couplings, root, time_limit=budget)
        except PrecisionError:
            if fitting_elimination(part.model, "marginals", budget) is None:
                raise
    held, _ = bias2fields(part.model, root)
    found = 2.0 * np.asarray(_treewidth(held, budget).nodes) - 1.0
    return np.insert(found, root, 1.0)


def _planar(part: Part, budget: Budget) -> Marginals:
    found: Marginals = part.plan.marginals(part.model.couplings, time_limit=budget)
    return found


def _cheapest(part: Part, budget: Budget) -> Marginals:
    """Solve a part by the cheapest exact method that fits."""
    if part.embedding is not None:
        try:
            return _planar(part, budget)
        except PrecisionError:
            if fitting_elimination(part.model, "marginals", budget) is None:
                raise
    model, inverse = part.with_fields()
    found = _treewidth(model, budget)
    return found if inverse is None else inverse.lift_marginals(found)


def _treewidth(model: Model, budget: Budget) -> Marginals:
    return treewidth.marginals(model, time_limit=budget)


def _estimate(name: str) -> Callable[[IsingModel, Budget], Marginals]:
    def solve(model: IsingModel, budget: Budget) -> Marginals:
        found = from_bound(model, BOUNDS[name], budget)
        return _auto(model, None, budget) if found is None else found

    return solve


def _estimate_labels(field: MarkovRandomField, name: str, budget: Budget) -> Marginals:
    found = of_labels(field, ANY_LABELS[name], budget)
    return _treewidth(field, budget) if found is None else found


_EXACT = ("auto", "planar", "treewidth", "brute-force")

_LABEL_ESTIMATES = ("trw", "mean-field")
"""Bounds whose optima are distributions of labels, of pairwise fields."""

_FORCED: dict[str, Callable[[IsingModel, Budget], Marginals]] = {
    "treewidth": _treewidth,
    "brute-force": all_marginals,
    "clamped": by_clamping,
    **{name: _estimate(name) for name in BOUNDS},
}
