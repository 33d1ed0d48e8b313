"""``ground_state``: the most probable state of any model, with an interval around its energy."""

from __future__ import annotations

from typing import Any

from planaris.budget import TimeLimit
from planaris.embed import Embedding
from planaris.infer.answer import answer, check_model, named, verb_budget
from planaris.methods import Question
from planaris.methods.registry import Model
from planaris.progress import ProgressOption
from planaris.result import GroundState


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
        Seconds; what is proved by then is returned. Default: as long as an exact method takes,
        and 60 seconds for branch and cut.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    prove : bool
        Have every method leave a certificate that :mod:`planaris.verify` can check, where it is
        able to; relaxations and branch and cut then take longer.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.
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
