"""``log_partition``: log Z of any model, exact or with an interval around it."""

from __future__ import annotations

from typing import Any

from planaris.budget import TimeLimit
from planaris.embed import Embedding
from planaris.infer.answer import answer, check_model, verb_budget
from planaris.methods import Question
from planaris.methods.registry import Model
from planaris.progress import ProgressOption
from planaris.result import LogPartition


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
        ``"logdet"`` and ``"mean-field"`` give bounds; the first two and mean field take pairwise
        Markov random fields with any number of labels too, ``"interval"`` any model.
        ``"tensor-network"`` (grids and other drawings with fields) and ``"bp"`` estimate.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds; what is proved by then is returned. Default: as long as an exact method takes,
        and 60 seconds for bounds.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    prove : bool
        Have methods that can prove their interval: Pfaffians on planar models, tensor networks
        on grids. It takes two to four times as long. ``proved`` says whether they did.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.
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
