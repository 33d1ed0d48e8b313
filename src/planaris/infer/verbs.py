"""The four verbs: arguments to a :class:`Question`, a method of the registry, its answer."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, TypeVar, overload

from planaris.budget import Budget, ProgressOption, TimeLimit, use_threads
from planaris.embed import Embedding
from planaris.errors import MethodError, ModelError
from planaris.methods.registry import Method, Model, Question, Verb, find_method, methods
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.arrays import as_count, as_rng
from planaris.models.convert import IsingForm
from planaris.reductions.clip_couplings import of_strong_model, stands_for, weakened
from planaris.result import Answer, GroundState, LogPartition, Marginals
from planaris.typing import Array, FloatArray, Rng

Found = TypeVar("Found", bound=Answer)


def ground_state(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    prove: bool = False,
    threads: int | None = None,
    progress: ProgressOption = None,
    device: Any = None,
) -> GroundState:
    """Return a state of lowest energy and an interval that contains the minimum.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model; ``energy`` is minus its log weight. Read the most probable state of a
        Markov random field from ``assignment``.
    method : str
        ``"auto"`` picks by structure, part by part. ``"planar"``, ``"graph-cut"``, ``"qpbo"``,
        ``"treewidth"``, ``"surface"``, ``"local-lp"``, ``"cycle-lp"``, ``"mplp"``,
        ``"branch-and-cut"``, ``"pdc"``, ``"brute-force"`` force one, which refuses with the reason
        when it does not fit.
    embedding : Embedding, optional
        Rotation system of the graph, of any genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds of wall-clock time; what is proved by then is returned. Default: as long as an
        exact method takes, and 60 seconds for branch and cut.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    prove : bool
        Have every method leave a certificate that :mod:`planaris.verify` can check, where it is
        able to; relaxations and branch and cut then take longer.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.
    device : str or torch.device, optional
        ``"cuda"`` with ``method="treewidth"``: the table of the elimination lies on a GPU.

    Returns
    -------
    planaris.result.GroundState
        ``spins`` (or ``assignment``), ``energy``, the interval ``lower`` to ``upper`` around the
        minimum, ``exact``, ``method`` and the ``certificate``.

    Examples
    --------
    >>> import planaris as pl
    >>> model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0], fields=[0, 0.5, 0])
    >>> result = pl.ground_state(model)
    >>> result.energy, result.exact, result.method
    (-4.5, True, 'planar')
    """
    check_model(model)
    budget = verb_budget(time_limit, memory_limit, threads, progress, prove=prove)
    found: GroundState = answer(
        "ground_state", Question(model, budget, embedding, device=device), method
    )
    return named(found, model)


def log_partition(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    prove: bool = False,
    threads: int | None = None,
    progress: ProgressOption = None,
    device: Any = None,
) -> LogPartition:
    """Return the natural logarithm of the partition function, and an interval around it.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model.
    method : str
        ``"auto"`` picks by structure, part by part. ``"planar"``, ``"treewidth"`` and
        ``"brute-force"`` are exact and refuse with the reason when they do not fit;
        ``"interval"``, ``"trw"``, ``"pdc"``, ``"planar+tree"``, ``"trw+cycle"``,
        ``"logdet"`` and ``"mean-field"`` give bounds. ``"interval"`` takes any model; the
        others, except ``"planar+tree"``, take pairwise Markov random fields with any number of
        labels. ``"tensor-network"`` (grids and other drawings with external fields) and
        ``"bp"`` give estimates.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds of wall-clock time; what is proved by then is returned. Default: as long as an
        exact method takes, and 60 seconds for bounds.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    prove : bool
        Have methods that can prove their interval: Pfaffians on planar models, tensor networks
        on grids. It takes two to four times as long. ``proved`` says whether they did.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.
    device : str or torch.device, optional
        ``"cuda"`` with ``method="treewidth"``: the table of the elimination lies on a GPU.

    Returns
    -------
    planaris.result.LogPartition
        ``value``, the interval ``lower`` to ``upper`` around log Z, ``exact`` and ``method``.

    Examples
    --------
    >>> import planaris as pl
    >>> frustrated = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> result = pl.log_partition(frustrated)
    >>> round(result.value, 6), result.exact
    (2.797846, True)
    >>> result.proved, pl.log_partition(frustrated, prove=True).proved
    (True, True)
    """
    check_model(model)
    budget = verb_budget(time_limit, memory_limit, threads, progress, prove=prove)
    found: LogPartition = answer(
        "log_partition", Question(model, budget, embedding, device=device), method
    )
    return found


@overload
def marginals(
    model: IsingModel,
    method: str = ...,
    *,
    embedding: Embedding | None = ...,
    time_limit: TimeLimit = ...,
    memory_limit: int | None = ...,
    prove: bool = ...,
    threads: int | None = ...,
    progress: ProgressOption = ...,
    device: Any = ...,
) -> Marginals[FloatArray]: ...
@overload
def marginals(
    model: MarkovRandomField,
    method: str = ...,
    *,
    embedding: Embedding | None = ...,
    time_limit: TimeLimit = ...,
    memory_limit: int | None = ...,
    prove: bool = ...,
    threads: int | None = ...,
    progress: ProgressOption = ...,
    device: Any = ...,
) -> Marginals[list[FloatArray]]: ...
def marginals(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    prove: bool = False,
    threads: int | None = None,
    progress: ProgressOption = None,
    device: Any = None,
) -> Marginals:
    """Return P(s_v = +1) of all spins and P(s_u = s_v) of all edges.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model; for a Markov random field there is a table per variable and per factor.
    method : str
        ``"auto"`` picks by structure, part by part, and estimates (``exact`` is False) where
        nothing exact fits; factors of more than two variables have no estimates.
        ``"planar"``, ``"treewidth"``, ``"brute-force"`` force one, which
        refuses with the reason when it does not fit. ``"trw"``, ``"pdc"``, ``"planar+tree"``,
        ``"trw+cycle"``, ``"logdet"``, ``"mean-field"`` and ``"interval"`` give the estimates
        of a bound on log Z (``exact`` is False, ``log_partition`` has the bound);
        ``"clamped"`` gives bounds ``nodes_lower`` and ``nodes_upper`` on every P(s_v = +1),
        from intervals around log Z with one spin clamped. Pairwise Markov random fields with any
        number of labels have the estimates of ``"trw"``, ``"trw+cycle"``, ``"logdet"``,
        ``"pdc"`` and ``"mean-field"``. ``"tensor-network"`` and ``"bp"`` give estimates, too,
        the former often to ten digits.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds of wall-clock time, after which ``"auto"`` and bounds return what they have
        (estimates), and a forced exact method raises
        :class:`~planaris.errors.TimeLimitError`. Default: as long as an exact method takes, and
        60 seconds for bounds.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    prove : bool
        Have methods that can prove their intervals: Pfaffians on planar models, tensor networks
        on grids; it takes longer. ``proved`` says whether they did. Ends of models without
        frustrated cycles keep a certificate.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.
    device : str or torch.device, optional
        ``"cuda"`` with ``method="treewidth"``: the table of the elimination lies on a GPU.

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
    asked = Question(
        model,
        verb_budget(time_limit, memory_limit, threads, progress, prove=prove),
        embedding,
        device=device,
    )
    found: Marginals
    promise = find_method(method, "marginals").tasks["marginals"].promise
    may_be_exact = method == "auto" or promise == "exact"
    if isinstance(model, IsingModel) and may_be_exact and (weaker := weakened(model)) is not None:
        found = answer("marginals", replace(asked, model=weaker), method)
        if stands_for(model, found):
            return named(of_strong_model(model, found), model)
    found = answer("marginals", asked, method)
    return named(found, model)


def sample(
    model: Model,
    num_samples: int,
    rng: Rng = None,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    prove: bool = False,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> Array:
    """Draw independent samples, exact unless an estimating method is asked for.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        A model that is planar, low in treewidth, without frustrated cycles, a grid with fields
        and moderate couplings, or made of such parts.
    num_samples : int
        How many.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.
    method : str
        ``"auto"`` picks by structure, part by part; ``"planar"``, ``"treewidth"``,
        ``"coupling-from-the-past"``, ``"brute-force"`` force one. ``"tensor-network"`` draws
        from an estimate of the model (:func:`planaris.tensor.sample` says how close it is): such
        samples are exact only with ``prove``.
    embedding : Embedding, optional
        Rotation system of the graph (with the bias spin as last vertex when there are fields).
    time_limit : float, optional
        Seconds of wall-clock time, after which :class:`~planaris.errors.TimeLimitError` is
        raised.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    prove : bool
        Have ``"tensor-network"`` draw exact samples, by proposals that are accepted or rejected;
        it is refused where its bounds are lost.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    numpy.ndarray
        One state per row: int8 spins of an Ising model, int32 labels of a Markov random field.

    Examples
    --------
    >>> import planaris as pl
    >>> pl.sample(pl.IsingModel([(0, 1)], [50.0], fields=[50.0, 0.0]), 2, 7).tolist()
    [[1, 1], [1, 1]]
    """
    find_method(method, "sample")
    check_model(model)
    asked = Question(
        model,
        verb_budget(time_limit, memory_limit, threads, progress, prove=prove),
        embedding,
        as_count("num_samples", num_samples),
        as_rng(rng),
    )
    _check_room(asked)
    if isinstance(model, IsingModel) and (weaker := weakened(model)) is not None:
        exact = "marginals" in find_method(method, "sample").tasks
        known = answer("marginals", replace(asked, model=weaker), method if exact else "auto")
        asked = replace(asked, model=weaker) if stands_for(model, known) else asked
    found: Array = answer("sample", asked, method)
    return found


def _check_room(asked: Question) -> None:
    """Refuse samples that do not fit into the memory."""
    model = asked.model
    bytes_each = model.num_spins if isinstance(model, IsingModel) else 4 * model.num_variables
    needed = float(min(asked.num_samples, 2**1000)) * max(bytes_each, 1)
    asked.budget.check_memory(needed, "the array of samples", "draw fewer at a time")


# -- from a verb and the name of a method to an answer --------------------------------------------


def answer(verb: Verb, asked: Question, name: object) -> Any:
    """Answer a question by a method of a verb, through spins where it takes nothing else.

    What looks at no budget uses no more threads either.
    """
    if asked.budget.threads is None:
        return _answer(verb, asked, name)
    with use_threads(asked.budget.threads):
        return _answer(verb, asked, name)


def _answer(verb: Verb, asked: Question, name: object) -> Any:
    method = find_method(name, verb)
    task, model = method.tasks[verb], asked.model
    if asked.device is not None and not task.devices:
        able = [repr(k) for k, m in methods().items() if verb in m.tasks and m.tasks[verb].devices]
        msg = f"`device` needs a method that has one: {', '.join(able)}, got {method.name!r}"
        raise MethodError(msg)
    if not isinstance(model, MarkovRandomField) or task.takes == "labels":
        return task.run(asked)
    try:
        form = IsingForm.apply(model)
    except MethodError as reason:
        if task.takes == "spins first":
            return task.run(asked)
        raise _refusal(method, verb, reason) from reason
    found = task.run(replace(asked, model=form.model))
    return form.lift_states(found) if verb == "sample" else form.lift(found)


def named(found: Found, model: Model) -> Found:
    """Return a result with the names of the model's variables, where they have names."""
    return found if isinstance(model.labels, range) else replace(found, names=model.labels)


def _refusal(method: Method, verb: Verb, reason: MethodError) -> MethodError:
    others = [
        repr(name)
        for name, other in methods().items()
        if verb in other.tasks and other.tasks[verb].takes != "spins"
    ]
    msg = f"`method={method.name!r}` needs an Ising model: {reason}. Use one of {', '.join(others)}"
    return MethodError(msg, **reason.evidence)


def verb_budget(
    time_limit: TimeLimit,
    memory_limit: int | None,
    threads: int | None,
    progress: ProgressOption,
    *,
    prove: bool = False,
) -> Budget:
    """Return the budget of a verb, which refuses a time limit of zero."""
    budget = Budget.of(
        time_limit, memory_limit=memory_limit, threads=threads, progress=progress, prove=prove
    )
    if not isinstance(time_limit, Budget) and time_limit == 0:
        msg = f"`time_limit` must be a positive number of seconds, got {time_limit!r}"
        raise MethodError(msg)
    return budget


def check_model(model: object) -> None:
    """Refuse what is no model, with the way to make one of it."""
    if isinstance(model, Model):
        return
    kind = type(model)
    family = kind.__module__.split(".")[0]
    ways = {
        "networkx": "IsingModel.from_networkx(graph)",
        "dimod": "IsingModel.from_bqm(bqm)",
        "numpy": "IsingModel.from_matrix(J)",
        "scipy": "IsingModel.from_matrix(J)",
    }
    if isinstance(model, str | os.PathLike):
        way = "planaris.io.read_model(file)"
    else:
        way = ways.get(family, "IsingModel(edges, couplings)")
    several = isinstance(model, list | tuple) and any(isinstance(one, Model) for one in model)
    way = "planaris.solve_many takes several" if several else f"make one with {way}"
    msg = f"`model` must be an IsingModel or a MarkovRandomField, got {kind.__name__}; {way}"
    raise ModelError(msg)
