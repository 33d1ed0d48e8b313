"""``marginals``: probabilities of spins and edges of any model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planaris.budget import TimeLimit
from planaris.embed import Embedding
from planaris.infer.answer import answer, check_model, named, verb_budget
from planaris.methods import Question
from planaris.methods.registry import Model, find_method
from planaris.models import IsingModel
from planaris.progress import ProgressOption
from planaris.reductions.clip_couplings import stands_for, weakened
from planaris.result import Marginals


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
        nothing exact fits. ``"planar"``, ``"treewidth"``, ``"brute-force"`` force one, which
        refuses with the reason when it does not fit. ``"trw"``, ``"pdc"``, ``"planar+tree"``,
        ``"trw+cycle"``, ``"logdet"``, ``"mean-field"`` and ``"interval"`` give the estimates
        of a bound on log Z (``exact`` is False, ``log_partition`` has the bound);
        ``"clamped"`` encloses: ``nodes_lower`` and ``nodes_upper`` hold for every
        P(s_v = +1), for a field every table. Pairwise Markov random fields with any number of
        labels have the estimates of ``"trw"`` and ``"mean-field"``. ``"tensor-network"`` and
        ``"bp"`` estimate too, the former often to ten digits.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds, after which ``"auto"`` and bounds return what they have (estimates), and a
        forced exact method raises :class:`~planaris.errors.TimeLimitError`. Default: as long as
        an exact method takes, and 60 seconds for bounds.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    prove : bool
        Have methods that can prove their intervals: Pfaffians on planar models, tensor networks
        on grids; it takes longer. ``proved`` says whether they did.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.
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
            return named(replace(found, log_partition=None), model)
    found = answer("marginals", asked, method)
    return named(found, model)
