"""``sample``: independent exact samples of any model that allows them."""

from __future__ import annotations

from dataclasses import replace

from planaris.budget import TimeLimit
from planaris.embed import Embedding
from planaris.infer.answer import answer, check_model, verb_budget
from planaris.methods import Question, find_method
from planaris.methods.registry import Model
from planaris.models import IsingModel
from planaris.models.arrays import as_count, as_rng
from planaris.progress import ProgressOption
from planaris.reductions.clip_couplings import stands_for, weakened
from planaris.typing import Array, Rng


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
        Seconds, after which :class:`~planaris.errors.TimeLimitError` is raised.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    prove : bool
        Have ``"tensor-network"`` draw exact samples, by proposals that are accepted or rejected;
        it is refused where its bounds are lost.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

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
    if isinstance(model, IsingModel) and (weaker := weakened(model)) is not None:
        known = answer("marginals", replace(asked, model=weaker), method)
        asked = replace(asked, model=weaker) if stands_for(model, known) else asked
    found: Array = answer("sample", asked, method)
    return found
