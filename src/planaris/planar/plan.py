"""log Z, marginals and samples of Ising models on plane graphs and surfaces of low genus.

Z = 2^c exp(Σ g) Pf(K): c components, g = J s s the couplings relative to a gauge state s, and
K the Kasteleyn matrix with one row per half-edge ("leg"). On a surface of genus h the Pfaffian
becomes the mean of 4^h signed ones. See docs/theory/pfaffian.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.embed import Embedding, embed, periodic_lattice
from planaris.errors import CrossingError, ModelError, NotPlanarError, TimeLimitError
from planaris.models import IsingModel
from planaris.models.arrays import as_count, as_rng
from planaris.planar.pfaffian.batch import (
    as_couplings,
    as_one_vector,
    ground_states,
    late,
    log_partitions,
    marginals,
)
from planaris.planar.pfaffian.evaluator import PfaffianEvaluator
from planaris.planar.pfaffian.sampling import draw
from planaris.show import many
from planaris.typing import ArrayLike, FloatArray, Int8Array, Rng


def plan(graph: Any, *, positions: ArrayLike | None = None) -> Plan:
    """Prepare a graph for many evaluations with different couplings.

    Parameters
    ----------
    graph : IsingModel, Lattice, Embedding, networkx graph, or pair (num_vertices, edges)
        A planar graph or a periodic lattice, or an Embedding of a genus of up to 6. External
        fields of a model are not part of its plan.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of the vertices; they only serve to find good separators. Default: those of
        the model or lattice, unless edges cross there.

    Raises
    ------
    NotPlanarError
        If the graph is neither planar nor a periodic lattice. :func:`planaris.log_partition` and
        the other functions take such models, too.

    Examples
    --------
    >>> triangle = plan((3, [(0, 1), (1, 2), (0, 2)]))
    >>> round(float(triangle.log_partition([1.0, 1.0, -1.0])), 6)
    2.797846
    >>> import planaris as pl
    >>> pl.plan(pl.generate.torus(8)).genus
    1
    """
    embedding, drawn = _embed_any(graph)
    return Plan(embedding, positions=drawn if positions is None else positions)


def _embed_any(graph: Any) -> tuple[Embedding, ArrayLike | None]:
    """Return a rotation system of a planar graph or a periodic lattice, and a drawing of it."""
    drawn = getattr(graph, "positions", None)
    if isinstance(graph, Embedding):
        return graph, drawn
    try:
        return embed(graph), drawn
    except CrossingError:
        count, edges = len(graph.positions), graph.edges
    except NotPlanarError:
        if not isinstance(graph, IsingModel):
            raise
        count, edges = graph.num_spins, graph.edges
    lattice = periodic_lattice(edges, count)
    if lattice is not None:
        return lattice.embedding, drawn
    return Embedding.from_graph(edges, num_vertices=count), None


class Plan:
    """A graph on a surface, dissected: symbolic work once, numeric work for every coupling.

    Parameters
    ----------
    embedding : Embedding
        A rotation system of genus at most 6; plane ones are the fast case.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of the vertices, to find good separators; NaN where there is none.

    Attributes
    ----------
    embedding : Embedding
        As given.
    num_spins, num_edges, genus : int
        Of the embedding.

    Examples
    --------
    >>> square = Plan(Embedding.from_graph([(0, 1), (1, 2), (2, 3), (3, 0)], num_vertices=4))
    >>> [round(float(z), 6) for z in square.log_partition([[0, 0, 0, 0], [1, 1, 1, 1]])]
    [2.772589, 4.797714]
    """

    def __init__(self, embedding: Embedding, *, positions: ArrayLike | None = None) -> None:
        given: object = embedding
        if not isinstance(given, Embedding):
            msg = (
                f"`embedding` must be an Embedding, got {type(given).__name__}; "
                "`planaris.plan` takes models and graphs"
            )
            raise ModelError(msg)
        self.embedding, self.genus = embedding, embedding.genus
        self.num_spins, self.num_edges = embedding.num_vertices, embedding.num_edges
        self.evaluator = PfaffianEvaluator(embedding, positions)

    def __repr__(self) -> str:
        return f"Plan({many(self.num_spins, 'spin')}, {many(self.num_edges, 'edge')})"

    @contextmanager
    def _working(self, task: str, budget: Budget) -> Iterator[Budget]:
        """Refuse what does not fit, dissect, and yield what stops a kernel when time is over."""
        self.evaluator.check_memory(task, budget)
        with budget.watch(task) as watched, budget.required(f"the {task} were not computed"):
            self.evaluator.prepare(watched)
            yield watched

    # -- log Z --------------------------------------------------------------------------------

    def log_partition(
        self,
        couplings: ArrayLike,
        *,
        prove: bool = False,
        threads: int | None = None,
        time_limit: TimeLimit = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Compute the natural logarithm of the partition function.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding; every row of a batch is evaluated.
        prove : bool
            Enclose log Z by an interval that is a theorem about the floating-point computation
            (docs/theory/rigour.md), on plane graphs. ``proved`` says whether that was possible,
            ``status`` why not. It takes one to four times as long.
        threads : int, optional
            Default: the processors this process may use.
        time_limit : float, optional
            Seconds for all of it; if that is not enough, intervals are returned.
        memory_limit : int, optional
            Bytes; default: half of the memory. More is refused before it is taken.
        progress : bool or callable, optional
            See :data:`planaris.budget.ProgressOption`.

        Returns
        -------
        LogPartition
            Or, for a batch, :class:`LogPartitions`: a sequence of them, with arrays ``values``,
            ``lower`` and ``upper``. The digits of a row do not depend on the batch, its order or
            the number of threads. ``stats["error"]`` is the estimated rounding error;
            a value that cannot be trusted comes as an interval with ``exact=False``.

        Examples
        --------
        >>> pair = plan((2, [(0, 1)]))
        >>> sure = pair.log_partition([1.0], prove=True)
        >>> sure.proved, sure.gap < 1e-14
        (True, True)
        """
        budget = Budget.of(
            time_limit, memory_limit=memory_limit, threads=threads, progress=progress, prove=prove
        )
        values = as_couplings(couplings, self.num_edges, budget.workers())
        try:
            with self._working("proofs" if budget.prove else "log Z", budget) as watched:
                found = log_partitions(self.evaluator, values, watched)
        except TimeLimitError:  # before the first elimination
            found = late(self.evaluator, values)
        return found[0] if np.ndim(couplings) <= 1 else found

    # -- marginals ----------------------------------------------------------------------------

    def marginals(
        self,
        couplings: ArrayLike,
        *,
        prove: bool = False,
        threads: int | None = None,
        time_limit: TimeLimit = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Compute P(s_u = s_v) of every edge.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding; every row of a batch is evaluated.
        prove : bool
            Bound the errors by a theorem about the computation, on plane graphs that are not too
            cold or large; ``proved`` says whether that was possible.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`~planaris.errors.TimeLimitError` is raised.

        Returns
        -------
        Marginals
            Or, for a batch, :class:`MarginalsBatch`: a sequence of them, with arrays ``edges`` and
            ``log_z``. Without fields every spin is +1 with probability ½.
            ``stats["error"]`` says how far rounding may have moved a marginal.

        Examples
        --------
        >>> pair = plan((2, [(0, 1)]))
        >>> pair.marginals([1.0]).edges.round(6).tolist()
        [0.880797]
        """
        budget = Budget.of(
            time_limit, memory_limit=memory_limit, threads=threads, progress=progress, prove=prove
        )
        values = as_couplings(couplings, self.num_edges, budget.workers())
        with self._working("proved marginals" if budget.prove else "marginals", budget) as watched:
            found = marginals(self.evaluator, values, watched)
        return found[0] if np.ndim(couplings) <= 1 else found

    def correlations(
        self,
        couplings: ArrayLike,
        pairs: ArrayLike,
        *,
        threads: int | None = None,
        time_limit: TimeLimit = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> FloatArray:
        """Compute ⟨s_u s_v⟩ of chosen pairs of spins, joined by an edge or not.

        One elimination and sweep for every spin that is needed to have one in each pair. Spins
        of different components are independent.

        Parameters
        ----------
        couplings : array_like of float, shape (m,)
            One coupling per edge of the embedding.
        pairs : array_like of int, shape (k, 2)
            Pairs of spins.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`~planaris.errors.TimeLimitError` is raised.

        Examples
        --------
        >>> path = plan((3, [(0, 1), (1, 2)]))
        >>> path.correlations([1.0, 1.0], [(0, 2), (0, 1)]).round(6).tolist()
        [0.580026, 0.761594]
        """
        from planaris.planar.pfaffian.correlations import pair_correlations

        values = as_one_vector(couplings, self.num_edges)
        budget = Budget.of(
            time_limit, memory_limit=memory_limit, threads=threads, progress=progress
        )
        with self._working("correlations", budget) as watched:
            return pair_correlations(self.evaluator, values, pairs, budget=watched)

    def spin_correlations(
        self,
        couplings: ArrayLike,
        spin: int,
        *,
        threads: int | None = None,
        time_limit: TimeLimit = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> FloatArray:
        """Compute ⟨s_u s_v⟩ of one spin u with every spin v.

        Flipping the weight of cutting every edge of a path from u to v multiplies each state by
        s_u s_v; one elimination and one sweep down its fronts serve all v.

        Parameters
        ----------
        couplings : array_like of float, shape (m,)
            One coupling per edge of the embedding.
        spin : int
            The spin u.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`~planaris.errors.TimeLimitError` is raised.

        Examples
        --------
        >>> path = plan((3, [(0, 1), (1, 2)]))
        >>> path.spin_correlations([1.0, 1.0], 0).round(6).tolist()
        [1.0, 0.761594, 0.580026]
        """
        from planaris.planar.pfaffian.correlations import spin_correlations

        values, source = as_one_vector(couplings, self.num_edges), as_count("spin", spin)
        budget = Budget.of(
            time_limit, memory_limit=memory_limit, threads=threads, progress=progress
        )
        with self._working("correlations", budget) as watched:
            return spin_correlations(self.evaluator, values, source, budget=watched)[0]

    # -- ground states ------------------------------------------------------------------------

    def ground_states(
        self,
        couplings: ArrayLike,
        *,
        threads: int | None = None,
        time_limit: TimeLimit = None,
        progress: ProgressOption = None,
    ) -> Any:
        """Find a ground state of a plane model, or of every row of a batch.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge of the embedding.
        threads, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`~planaris.errors.TimeLimitError` is raised.

        Returns
        -------
        GroundState
            Or, for a batch, :class:`GroundStates`: a sequence of them, with arrays ``spins`` and
            ``energies``.

        Examples
        --------
        >>> triangle = plan((3, [(0, 1), (1, 2), (0, 2)]))
        >>> triangle.ground_states([[1.0, 1.0, 1.0], [1.0, 1.0, -3.0]]).energies.tolist()
        [-3.0, -3.0]
        """
        budget = Budget.of(time_limit, threads=threads, progress=progress)
        values = as_couplings(couplings, self.num_edges, budget.workers())
        with (
            budget.watch("matching") as watched,
            budget.required("the ground states were not found"),
        ):
            self.evaluator.prepare(watched)
            found = ground_states(self.evaluator, values, watched)
        return found[0] if np.ndim(couplings) <= 1 else found

    # -- samples ------------------------------------------------------------------------------

    def sample(
        self,
        couplings: ArrayLike,
        size: int,
        rng: Rng = None,
        *,
        threads: int | None = None,
        time_limit: TimeLimit = None,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> Int8Array:
        """Draw independent exact samples.

        On a surface of genus g a sample takes 4^g times as long, and twice that, as on a plane.

        Parameters
        ----------
        couplings : array_like of float, shape (m,) or (k, m)
            One coupling per edge; ``size`` samples are drawn for every row of a batch.
        size : int
            Number of samples.
        rng : numpy.random.Generator, int or None
            The samples are a function of its state and the couplings alone.
        threads, memory_limit, progress
            As for :meth:`log_partition`.
        time_limit : float, optional
            Seconds for all of it; then a :class:`~planaris.errors.TimeLimitError` is raised.

        Returns
        -------
        numpy.ndarray
            int8, shape (size, n) or (k, size, n), of -1 and +1.

        Examples
        --------
        >>> ring = plan((4, [(0, 1), (1, 2), (2, 3), (3, 0)]))
        >>> ring.sample([9.0, 9.0, 9.0, 9.0], 2, np.random.default_rng(0)).shape
        (2, 4)
        """
        size, rng = as_count("size", size), as_rng(rng)
        budget = Budget.of(
            time_limit, memory_limit=memory_limit, threads=threads, progress=progress
        )
        values = as_couplings(couplings, self.num_edges, budget.workers())
        with self._working("samples", budget) as watched:
            found = draw(self.evaluator, values, size, rng, budget=watched)
        return found[0] if np.ndim(couplings) <= 1 else found
