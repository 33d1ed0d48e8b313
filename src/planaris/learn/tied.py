"""Graphs with spins tied to each other: equal or opposite in every state.

A tied pair is contracted, which keeps a plane graph plane wherever the two share a face. So
"these two corners differ" is a condition that holds exactly, not a coupling that is large.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from planaris.embed import Embedding
from planaris.errors import MethodError, ModelError, NotPlanarError
from planaris.gpu.device import find_device, import_torch
from planaris.kernels.cuts import spins_from_disagreements
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel
from planaris.models.arrays import as_edges
from planaris.planar.ground_state import ground_state
from planaris.planar.margin import MarginViolator, margin_violator
from planaris.planar.pfaffian.on_device import evaluate_on_device
from planaris.planar.plan import Plan
from planaris.typing import Array, ArrayLike, BoolArray, FloatArray, Int8Array, IntArray


class TiedGraph:
    """A plane graph, some of whose spins are tied, prepared for many couplings.

    Parameters
    ----------
    num_spins : int
        Number of spins.
    edges : array_like of int, shape (m, 2)
        Pairs of spins; parallel edges are allowed.
    ties : array_like of int, shape (t, 2)
        Pairs of spins that are tied.
    opposite : array_like of bool, shape (t,)
        Whether the spins of a tied pair differ; a Boolean stands for all.
    positions : array_like of float, shape (n, 2), optional
        A plane drawing.
    device : str or torch.device, optional
        ``"cuda"``: marginals of batches are computed on a GPU.

    Attributes
    ----------
    group, sign : numpy.ndarray
        Per spin: the vertex of the contracted graph it belongs to, and its sign relative to it.
    num_groups : int
        Vertices of the contracted graph.
    pairs : numpy.ndarray
        Edges of the contracted graph, shape (k, 2).

    Examples
    --------
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> graph = TiedGraph(4, square, ties=[(0, 2)])
    >>> spins = graph.ground_state([3.0, 1.0, 1.0, 3.0])
    >>> (spins * spins[0]).tolist()
    [1, 1, -1, 1]
    """

    def __init__(
        self,
        num_spins: int,
        edges: ArrayLike,
        *,
        ties: ArrayLike = (),
        opposite: ArrayLike = True,
        positions: ArrayLike | None = None,
        device: Any = None,
    ) -> None:
        self.num_spins = num_spins
        self.device = device
        self.edges = as_edges(edges, num_spins)
        self.ties = as_edges(ties, num_spins, name="ties")
        self.opposite = repeated("opposite", np.asarray(opposite, dtype=bool), len(self.ties))
        self._contract(positions)

    def _contract(self, positions: ArrayLike | None) -> None:
        n, ties = self.num_spins, self.ties
        count, self.sign = n, np.ones(n, dtype=np.int8)
        self.group: IntArray = np.arange(n, dtype=np.int32)
        if len(ties):
            self.group = connected_components(n, ties)
            count = int(self.group.max()) + 1
            self.sign, conflict = spins_from_disagreements(n, ties, self.opposite)
            if conflict >= 0:
                u, v = ties[conflict].tolist()
                msg = f"`ties` contradict each other at the pair ({u}, {v})"
                raise ModelError(msg, pair=(u, v))
        ends = self.group[self.edges]
        inner = ends[:, 0] == ends[:, 1]
        self._relative = self.sign[self.edges[:, 0]] * self.sign[self.edges[:, 1]]
        key = ends.min(axis=1).astype(np.int64) * max(count, 1) + ends.max(axis=1)
        kept, place = np.unique(key[~inner], return_inverse=True)
        self._place = np.full(len(self.edges), -1, dtype=np.int64)
        self._place[~inner] = place
        pairs = np.column_stack(np.divmod(kept, max(count, 1))).astype(np.int32)
        spots = None
        if positions is not None:
            spots = np.full((count, 2), np.nan)
            sizes = np.bincount(self.group, minlength=count)
            alone = sizes[self.group] == 1
            spots[self.group[alone]] = np.asarray(positions, dtype=np.float64)[alone]
        self._spots = spots
        self.num_groups, self.pairs = count, pairs

    @cached_property
    def embedding(self) -> Embedding:
        """Plane embedding of the contracted graph, by the drawing if no spins are tied."""
        if self._spots is not None and not len(self.ties):
            return Embedding.from_coordinates(self.pairs, self._spots, num_vertices=self.num_groups)
        try:
            return Embedding.from_graph(self.pairs, num_vertices=self.num_groups)
        except NotPlanarError as error:
            if len(self.ties) == 0:
                raise
            msg = (
                f"the graph is not planar once its {len(self.ties)} tied pairs are contracted: "
                "tie only spins that share a face"
            )
            raise NotPlanarError(msg, **error.evidence) from error

    @cached_property
    def plan(self) -> Plan:
        """What log Z, marginals and samples share."""
        return Plan(self.embedding, positions=self._spots)

    @cached_property
    def _model(self) -> IsingModel:
        """The contracted graph as a model; its couplings are replaced for every ground state."""
        return IsingModel(self.pairs, np.zeros(len(self.pairs)), num_spins=self.num_groups)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("plan", "embedding")}

    # -- from edges of the graph to edges of the contracted one, and back ----------------------

    def contract(self, couplings: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the couplings of the contracted graph, and what tied ends contribute.

        Of one vector, or of every row of a batch.
        """
        signed = couplings * self._relative
        inner = self._place < 0
        size = len(self.pairs)
        rows = np.atleast_2d(signed)
        place = self._place[~inner] + size * np.arange(len(rows))[:, None]
        total = np.bincount(
            place.ravel(), weights=rows[:, ~inner].ravel(), minlength=size * len(rows)
        )
        reduced = total.astype(np.float64).reshape(*signed.shape[:-1], size)
        return reduced, signed[..., inner].sum(-1)

    def cut(self, spins: Int8Array) -> BoolArray:
        """Return which edges have ends that differ."""
        return np.asarray(spins[self.edges[:, 0]] != spins[self.edges[:, 1]])

    def keeps_ties(self, spins: Int8Array) -> bool:
        """Whether a state has every tied pair as it should be."""
        differ = spins[self.ties[:, 0]] != spins[self.ties[:, 1]]
        return bool(np.array_equal(differ, self.opposite))

    def _reduce(self, spins: Int8Array) -> Int8Array:
        state = np.ones(self.num_groups, dtype=np.int8)
        state[self.group] = spins * self.sign
        return state

    def _expand(self, states: Int8Array) -> Int8Array:
        return np.asarray(states[..., self.group] * self.sign, dtype=np.int8)

    # -- inference ----------------------------------------------------------------------------

    def marginals(
        self, couplings: ArrayLike, *, threads: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(s_u ≠ s_v) of every edge, and log Z over the states that keep the ties.

        Of one vector of couplings, or of every row of a batch.
        """
        reduced, constant = self.contract(np.asarray(couplings, dtype=np.float64))
        if len(self.pairs) == 0:  # only free spins
            agree = reduced
            log_z = np.full(reduced.shape[:-1], self.num_groups * np.log(2.0))
        elif self._on_gpu():
            agree, log_z = self._marginals_on_gpu(reduced)
        else:
            found = self.plan.marginals(reduced, threads=threads)
            agree, log_z = found.edges, np.asarray(found.log_z)
        known = np.concatenate([agree, np.ones((*agree.shape[:-1], 1))], axis=-1)
        outer = known[..., self._place]  # inside a group: agree, up to the sign
        apart = np.where(self._relative > 0, 1.0 - outer, outer)
        return apart, log_z + constant

    def _on_gpu(self) -> bool:
        return self.device is not None and find_device(self.device).type == "cuda"

    def _marginals_on_gpu(self, couplings: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(s_u = s_v) and log Z of contracted couplings."""
        rows = np.atleast_2d(couplings)
        given = import_torch().as_tensor(rows, device=find_device(self.device))
        found = evaluate_on_device(self.plan, given, correlations=True)
        agree = (found.correlations.cpu().numpy() + 1.0) / 2.0
        log_z: FloatArray = found.log_partition.cpu().numpy()
        return agree.reshape(couplings.shape), log_z.reshape(couplings.shape[:-1])

    def log_partition(self, couplings: ArrayLike, *, threads: int | None = None) -> float:
        """Return log Z over the states that keep the ties."""
        reduced, constant = self.contract(np.asarray(couplings, dtype=np.float64))
        if len(self.pairs) == 0:
            return float(self.num_groups * np.log(2.0) + constant)
        found = self.plan.log_partition(reduced, threads=threads)
        if not found.exact:
            msg = "log Z of these couplings cannot be computed to double precision"
            raise MethodError(msg, lower=found.lower, upper=found.upper)
        return float(found.value + constant)

    def ground_state(self, couplings: ArrayLike) -> Int8Array:
        """Return a state of least energy that keeps the ties."""
        reduced, _ = self.contract(np.asarray(couplings, dtype=np.float64))
        model = self._model.with_couplings(reduced)
        return self._expand(ground_state(model, embedding=self.embedding).spins)

    def sample(
        self,
        couplings: ArrayLike,
        size: int,
        rng: np.random.Generator,
        *,
        threads: int | None = None,
    ) -> Int8Array:
        """Draw exact samples, shape (size, n)."""
        reduced, _ = self.contract(np.asarray(couplings, dtype=np.float64))
        if len(self.pairs) == 0:
            shape = (size, self.num_groups)
            return self._expand(1 - 2 * rng.integers(0, 2, shape, dtype=np.int8))
        return self._expand(self.plan.sample(reduced, size, rng, threads=threads))

    def margin_violator(
        self, couplings: ArrayLike, reference: Int8Array, weights: FloatArray
    ) -> tuple[Int8Array, MarginViolator]:
        """Return the worst margin violator, as a state of all spins and as it was found.

        Merged edges change together, so their margin weights add; edges between tied spins
        never change.
        """
        reduced, _ = self.contract(np.asarray(couplings, dtype=np.float64))
        outer = self._place >= 0
        v = np.bincount(self._place[outer], weights=weights[outer], minlength=len(reduced))
        solve = partial(ground_state, embedding=self.embedding)
        model = self._model.with_couplings(reduced)
        worst = margin_violator(model, self._reduce(reference), v, solve=solve)
        return self._expand(worst.spins), worst


def repeated(name: str, values: Array, count: int) -> Array:
    """Return one value for all, or one for each."""
    if values.shape not in ((), (1,), (count,)):
        msg = f"`{name}` must be one value or {count}, got shape {values.shape}"
        raise ModelError(msg)
    return np.broadcast_to(values, count).copy()
