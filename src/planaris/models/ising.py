"""Ising models: P(s) ∝ exp(Σ J_uv s_u s_v + Σ h_v s_v), s ∈ {-1, +1}. This sign everywhere."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, cast

import numpy as np

from planaris.errors import MethodError, ModelError, missing_extra
from planaris.models.arrays import (
    as_array,
    as_edges,
    as_finite,
    as_names,
    as_number,
    as_positions,
    as_real,
    checked_count,
    implied_num_spins,
    merge_parallel_edges,
    number_labels,
)
from planaris.models.base import (
    FEW_TERMS,
    ScaledModel,
    energy_tolerance,
    exact_sum,
    exact_sums,
    once_per_model,
)
from planaris.models.foreign import (
    binary_energy,
    bqm_arrays,
    graph_arrays,
    image_grid,
    matrix_couplings,
    qubo_terms,
)
from planaris.notebook import facts_html, graph_svg
from planaris.show import many
from planaris.typing import ArrayLike, FloatArray, Int8Array, IntArray

MAX_TOTAL = 4e307
"""Σ|J| + Σ|h| + |offset| stays below this, so that no energy overflows."""

MANY_EDGES = 2**15
"""Edges from which on energies of single states are added up by compiled code."""


class IsingModel(ScaledModel):
    r"""An Ising model on a graph, as arrays.

    .. math:: P(s) \propto \exp\left(\sum_{uv} J_{uv} s_u s_v + \sum_v h_v s_v + c\right)

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        Pairs of spins. Parallel edges are merged (their couplings add, at the first one's
        place); self-loops are refused.
    couplings : array_like of float, shape (m,)
        ``J``; a positive coupling favours equal spins. A number stands for all edges.
    fields : array_like of float, shape (n,), optional
        External fields ``h``; default zero.
    num_spins : int, optional
        Default: length of ``fields`` or ``positions``, else one more than the largest index.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of a plane drawing; they give the embedding without a planarity test.
    offset : float
        Constant ``c`` added to every log weight.
    labels : sequence of hashable, optional
        Names of the spins; default ``range(n)``.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> model
    IsingModel(3 spins, 3 edges, no fields)
    >>> float(model.energy([1, 1, 1]))
    -1.0
    """

    __slots__ = (
        "_memo",
        "couplings",
        "edges",
        "fields",
        "labels",
        "num_spins",
        "offset",
        "positions",
    )

    edges: IntArray
    couplings: FloatArray
    fields: FloatArray
    num_spins: int
    positions: FloatArray | None
    offset: float
    labels: Sequence[Hashable]

    def __init__(
        self,
        edges: ArrayLike,
        couplings: ArrayLike,
        fields: ArrayLike | None = None,
        *,
        num_spins: int | None = None,
        positions: ArrayLike | None = None,
        offset: float = 0.0,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        h = None if fields is None else as_real("fields", fields)
        if num_spins is None:
            num_spins = implied_num_spins(edges, h, positions, labels)
        self.num_spins = checked_count(num_spins)
        pairs = as_edges(edges, self.num_spins)
        values = as_finite("couplings", couplings, len(pairs), pairs)
        self.edges, self.couplings = merge_parallel_edges(pairs, values)
        self.fields = as_finite("fields", 0.0 if h is None else h, self.num_spins)
        self.positions = None if positions is None else as_positions(positions, self.num_spins)
        self.offset = as_number("offset", offset)
        self.labels = as_names("labels", labels, self.num_spins, "spins")
        self._check_total()
        self._freeze()

    def _check_total(self) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            total = abs(self.offset) + np.abs(self.couplings).sum() + np.abs(self.fields).sum()
        if not total <= MAX_TOTAL:
            msg = (
                f"`couplings`, `fields` and `offset` must add up (in size) to at most "
                f"{MAX_TOTAL:g}, got {total:g}: energies would overflow; scale the model down"
            )
            raise ModelError(msg)

    def _freeze(self) -> None:
        for array in (self.edges, self.couplings, self.fields, self.positions):
            if array is not None:
                array.setflags(write=False)

    # -- other ways to state the same thing; foreign signs end here -------------------------

    @classmethod
    def from_couplings(
        cls,
        couplings: Mapping[tuple[Hashable, Hashable], float],
        fields: Mapping[Hashable, float] | None = None,
    ) -> IsingModel:
        """Build a model from dictionaries keyed by spin labels.

        >>> IsingModel.from_couplings({("a", "b"): 1.0}, {"b": 0.5}).labels
        ['a', 'b']
        """
        edges, index = number_labels("couplings", couplings)
        fields = {} if fields is None else fields
        if not isinstance(cast(Any, fields), Mapping):
            msg = f"`fields` must be a dict of numbers by label, got {type(fields).__name__}"
            raise ModelError(msg)
        for label, other in couplings:
            if label == other:
                msg = f"`couplings` must join different spins, got the self-loop {label!r}"
                raise ModelError(msg, label=label)
        for label in fields:
            index.setdefault(label, len(index))
        h = [fields.get(label, 0.0) for label in index]
        return cls(edges, list(couplings.values()), h, labels=list(index))

    @classmethod
    def from_disagreement_costs(
        cls, edges: ArrayLike, costs: ArrayLike, **options: Any
    ) -> IsingModel:
        """Build a model from costs paid by edges whose ends differ (SK08 eq. 2).

        ``energy(s) = Σ [s_u ≠ s_v] E_uv``, so ``J = E / 2`` and the constant is kept.

        >>> model = IsingModel.from_disagreement_costs([(0, 1)], [3.0])
        >>> model.energy([[1, 1], [1, -1]]).tolist()
        [0.0, 3.0]
        """
        count = np.atleast_1d(as_array("edges", edges)).shape[0]
        half = as_finite("costs", costs, count) / 2
        with np.errstate(over="ignore"):
            total = float(half.sum())
        return cls(edges, half, offset=-total, **options)

    @classmethod
    def from_binary_energy(
        cls, node_costs: ArrayLike, edges: ArrayLike, pair_costs: ArrayLike, **options: Any
    ) -> IsingModel:
        """Build a model from a general binary energy (SK08 eq. 1, Theorem 1).

        Parameters
        ----------
        node_costs : array_like, shape (n, 2)
            ``E'_i(y_i)`` for labels 0 and 1; label 1 is spin +1.
        edges : array_like of int, shape (m, 2)
            Pairs of variables.
        pair_costs : array_like, shape (m, 2, 2)
            ``E'_ij(y_i, y_j)``.
        **options
            As for :class:`IsingModel`.

        Examples
        --------
        >>> model = IsingModel.from_binary_energy([[0, 1], [2, 0]], [(0, 1)], [[[0, 3], [1, 5]]])
        >>> model.energy([[-1, -1], [-1, 1], [1, -1], [1, 1]]).tolist()
        [2.0, 3.0, 4.0, 6.0]
        """
        pairs, couplings, fields, offset = binary_energy(node_costs, edges, pair_costs)
        return cls(pairs, couplings, fields, offset=offset, **options)

    @classmethod
    def from_networkx(
        cls, graph: Any, *, weight: str = "weight", bias: str = "bias", pos: Any = "pos"
    ) -> IsingModel:
        """Build a model from a networkx graph.

        Edge attribute ``weight`` is the coupling (default 1), node attribute ``bias`` the
        field (default 0); ``pos`` is a node attribute or a dict of coordinates, used when
        every node has one. Parallel edges, and the two directions of a directed graph, add. The
        attribute ``offset`` of the graph, which :meth:`to_networkx` writes, is the offset.
        """
        edges, couplings, fields, positions, names = graph_arrays(graph, weight, bias, pos)
        offset = as_number("offset", graph.graph.get("offset", 0.0))
        return cls(edges, couplings, fields, positions=positions, labels=names, offset=offset)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        fields: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
    ) -> IsingModel:
        """Build a model from a symmetric or upper-triangular matrix of couplings.

        Parameters
        ----------
        matrix : array_like, scipy.sparse matrix or pandas.DataFrame, shape (n, n)
            ``J_uv`` is read from the upper triangle; the lower triangle must be empty or mirror
            it; the diagonal must be empty.
        fields : array_like, shape (n,), optional
            External fields, in the order of the rows.
        labels : sequence of hashable, optional
            Names of the rows. Default: those of a DataFrame, else numbers.

        Examples
        --------
        >>> model = IsingModel.from_matrix([[0, 1.5], [1.5, 0]], labels=["left", "right"])
        >>> model.labels, model.couplings.tolist()
        (['left', 'right'], [1.5])
        """
        edges, couplings, num_spins, names = matrix_couplings(matrix)
        labels = names if labels is None else labels
        return cls(edges, couplings, fields, num_spins=num_spins, labels=labels)

    @classmethod
    def from_qubo(
        cls,
        qubo: Mapping[tuple[Hashable, Hashable], float] | ArrayLike,
        *,
        offset: float = 0.0,
        beta: float = 1.0,
        labels: Sequence[Hashable] | None = None,
    ) -> IsingModel:
        """Build a model whose energy is ``beta * (Σ Q_ij x_i x_j + offset)``, x = (1 + s) / 2.

        ``Q`` is a dictionary by pairs of labels, or a square matrix, dense, ``scipy.sparse`` or a
        pandas.DataFrame: then the energy is ``beta * (x @ Q @ x + offset)``, whatever its symmetry.
        ``labels`` are names for the rows of a matrix.

        >>> model = IsingModel.from_qubo({("a", "a"): -1.0, ("a", "b"): 2.0})
        >>> model.energy([[-1, -1], [1, -1], [-1, 1], [1, 1]]).tolist()
        [0.0, -1.0, 0.0, 1.0]
        """
        offset, beta = as_number("offset", offset), as_number("beta", beta)
        pairs, q, count, names = qubo_terms(qubo)
        if labels is None:
            labels = names
        elif isinstance(qubo, Mapping):
            msg = "`labels` must name the rows of a matrix; a dictionary has labels as keys"
            raise ModelError(msg)
        linear = pairs[:, 0] == pairs[:, 1]
        u, v = pairs[~linear].T
        fields = np.zeros(count)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract.at(fields, pairs[linear, 0], beta * q[linear] / 2)
            for end in (u, v):
                np.subtract.at(fields, end, beta * q[~linear] / 4)
            constant = exact_sum(np.concatenate([[offset], q[linear] / 2, q[~linear] / 4]))
            couplings = 0.0 - beta * q[~linear] / 4
        return cls(pairs[~linear], couplings, fields, offset=0.0 - beta * constant, labels=labels)

    @classmethod
    def from_bqm(cls, bqm: Any, *, beta: float = 1.0) -> IsingModel:
        """Build a model whose energy is ``beta`` times that of a dimod quadratic model."""
        if not (hasattr(bqm, "vartype") and hasattr(bqm, "to_numpy_vectors")):
            msg = f"`bqm` must be a dimod.BinaryQuadraticModel, got {type(bqm).__name__}"
            raise ModelError(msg)
        beta = as_number("beta", beta)
        names = list(bqm.variables)
        # Biases may be floats of 32 bits: x = (1 + s) / 2 is put in after they are doubles.
        h, (u, v), j, offset = bqm_arrays(bqm, names)
        if bqm.vartype.name != "SPIN":
            h, j = h / 2, j / 4
            with np.errstate(over="ignore", invalid="ignore"):
                offset = exact_sum(np.concatenate([[offset], h, j]))
                h += np.bincount(np.concatenate([u, v]), np.concatenate([j, j]), len(names))
        edges = np.column_stack([u, v])
        return cls(edges, 0.0 - beta * j, 0.0 - beta * h, offset=0.0 - beta * offset, labels=names)

    @classmethod
    def from_image(cls, fields: ArrayLike, right: ArrayLike, down: ArrayLike) -> IsingModel:
        """Build a grid model from arrays shaped like the image.

        Parameters
        ----------
        fields : array_like, shape (H, W)
            Field of every pixel.
        right, down : array_like
            Couplings to the right neighbour, shape (H, W - 1), and to the one below,
            shape (H - 1, W); a number stands for all.
        """
        h, edges, couplings, positions = image_grid(fields, right, down)
        return cls(edges, couplings, h, positions=positions)

    # -- what it says -----------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Number of edges after merging parallel ones."""
        return len(self.edges)

    @property
    def has_fields(self) -> bool:
        """Whether any field is different from zero."""
        return bool(self.fields.any())

    @property
    def log_weight_size(self) -> float:
        """How large a log weight can be, the offset left out.

        >>> IsingModel([(0, 1)], [2.0], [-1.0, 0.0]).log_weight_size
        3.0
        """
        return float(np.abs(self.couplings).sum() + np.abs(self.fields).sum())

    def log_weight(self, states: ArrayLike) -> FloatArray:
        """Return Σ J s s + Σ h s + offset of one state or of each row of a batch.

        The sum of the model's doubles is exact and rounded once, to nearest.

        >>> model = IsingModel([(0, 1), (1, 2)], [1e17, 0.25], offset=-1e17)
        >>> float(model.log_weight([1, 1, 1]))
        0.25
        """
        s = states if type(states) is np.ndarray else as_array("states", states)
        if s.shape[-1:] != (self.num_spins,):
            msg = (
                f"`states` must have {self.num_spins} spins in the last dimension, "
                f"got shape {s.shape}"
            )
            raise ModelError(msg)
        if s.dtype.kind not in "iuf" or not np.all((s == 1) | (s == -1)):
            msg = "`states` must hold -1 and +1 only; turn 0/1 labels x into 2 * x - 1"
            raise ModelError(msg)
        return self._exact_sum(s.astype(np.int8, copy=False))

    def _exact_sum(self, s: Int8Array, more: Sequence[float] | FloatArray = ()) -> FloatArray:
        """Return the log weights of states plus the sum of more numbers, rounded once."""
        fields = self.fields if self.has_fields else self.fields[:0]
        large = len(self.couplings) >= MANY_EDGES and len(more) <= FEW_TERMS
        if s.ndim == 1 and large and np.all(np.isfinite(more)):
            with suppress(OverflowError):  # infinite, as the sum below says
                return self._large_sum(s, fields, [self.offset, *more])
        agree = s[..., self.edges[:, 0]] * s[..., self.edges[:, 1]]
        if s.ndim == 1:
            signed: Any = [self.couplings * agree, fields * s[: len(fields)], [self.offset], more]
            return np.float64(exact_sum(np.concatenate(signed)))  # type: ignore[return-value]
        constants = np.concatenate([[self.offset], more])
        ones = np.ones((*s.shape[:-1], len(constants)))
        signs = np.concatenate([agree, s[..., : len(fields)], ones], axis=-1, dtype=np.float64)
        numbers = np.concatenate([self.couplings, fields, constants])
        return exact_sums(numbers, lambda x: signs @ x)[()]

    def _large_sum(self, s: Int8Array, fields: FloatArray, more: Sequence[float]) -> FloatArray:
        """Return what :meth:`_exact_sum` does, of one state, by compiled code and threads."""
        from planaris.kernels.cuts import log_weight

        edges, spins = np.ascontiguousarray(self.edges), np.ascontiguousarray(s)
        total = sum(map(Fraction, more), log_weight(edges, self.couplings, fields, spins))
        return np.float64(float(total))  # type: ignore[return-value]

    def energy(self, states: ArrayLike) -> FloatArray:
        """Return minus the log weight of one state or of each row of a batch, rounded once."""
        return 0.0 - self.log_weight(states)  # 0.0 - x: never minus zero

    def energy_above(self, state: Int8Array, level: Sequence[float] | FloatArray) -> float:
        """Return the energy of a state less the sum of some numbers, rounded once.

        >>> IsingModel([(0, 1), (1, 2)], [1e17, 0.25]).energy_above(np.ones(3, np.int8), [-1e17])
        -0.25
        """
        return 0.0 - float(self._exact_sum(np.asarray(state, dtype=np.int8), level))

    def energy_terms(self, state: Int8Array) -> FloatArray:
        """Return the numbers whose sum is the energy of a state, as :meth:`energy_above` takes.

        >>> IsingModel([(0, 1)], [2.0], [0.5, 0.0]).energy_terms(np.array([1, -1])).tolist()
        [2.0, -0.5, 0.0, 0.0]
        """
        s = np.asarray(state, dtype=np.int8)
        agree = s[self.edges[:, 0]] * s[self.edges[:, 1]]
        terms = (self.couplings * agree, self.fields * s, [self.offset])
        return np.asarray(0.0 - np.concatenate(terms))

    @property
    def energy_tolerance(self) -> float:
        """Widest interval around the minimum energy that counts as exact.

        See :func:`planaris.models.base.energy_tolerance`.
        """
        return _energy_tolerance(self)

    @property
    def has_one_energy(self) -> bool:
        """Whether no parameter makes a difference: all states have the same energy."""
        return not (self.couplings.any() or self.has_fields)

    def spins_and_labels(self, state: ArrayLike) -> tuple[Int8Array, IntArray]:
        """Return a state of spins as spins and as labels: -1 is label 0, +1 is label 1.

        >>> [x.tolist() for x in IsingModel([(0, 1)], [1.0]).spins_and_labels([1, -1])]
        [[1, -1], [1, 0]]
        """
        spins = np.asarray(state, dtype=np.int8)
        return spins, (spins > 0).astype(np.int32)

    def with_couplings(self, couplings: ArrayLike, fields: ArrayLike | None = None) -> IsingModel:
        """Return the same graph with other couplings, in the order of ``edges``."""
        changed = {"couplings": as_finite("couplings", couplings, self.num_edges, self.edges)}
        if fields is not None:
            changed["fields"] = as_finite("fields", fields, self.num_spins)
        copy = self._but(**changed)
        copy._check_total()
        return copy

    def with_positions(self, positions: ArrayLike | None) -> IsingModel:
        """Return the same model with other coordinates, sharing the arrays."""
        spots = None if positions is None else as_positions(positions, self.num_spins)
        return self._but(positions=spots)

    def without_offset(self) -> IsingModel:
        """Return the same model with offset zero, sharing the arrays."""
        return self if self.offset == 0 else self._but(offset=0.0)

    def _scaled(self, factor: float) -> IsingModel:
        with np.errstate(over="ignore", invalid="ignore"):
            couplings, fields = factor * self.couplings, factor * self.fields
            offset = factor * self.offset
        scaled = self._but(couplings=couplings, fields=fields, offset=offset)
        scaled._check_total()
        return scaled

    def _but(self, **attributes: Any) -> IsingModel:
        """Return a copy with some attributes changed, which are not checked; others are shared."""
        copy = IsingModel.__new__(IsingModel)
        copy.__setstate__({**self.__getstate__(), **attributes})
        return copy

    def _content(self) -> tuple[Any, ...]:
        names = () if isinstance(self.labels, range) else tuple(self.labels)
        drawing = np.zeros((0, 2)) if self.positions is None else self.positions
        numbers = (self.edges, self.couplings, self.fields, drawing)
        return (*numbers, self.offset, self.num_spins, names)

    def to_networkx(self) -> Any:
        """Return a networkx graph with attributes ``weight``, ``bias`` and ``pos``.

        An offset that is not zero is the attribute ``offset`` of the graph.
        """
        import networkx as nx

        graph = nx.Graph(**({"offset": self.offset} if self.offset else {}))
        for k, label in enumerate(self.labels):
            graph.add_node(label, bias=float(self.fields[k]))
            if self.positions is not None:
                graph.nodes[label]["pos"] = tuple(self.positions[k].tolist())
        names = self.labels
        graph.add_weighted_edges_from(
            (names[u], names[v], w)
            for (u, v), w in zip(self.edges.tolist(), self.couplings.tolist(), strict=True)
        )
        return graph

    def to_matrix(self) -> Any:
        """Return the couplings as a symmetric scipy.sparse matrix; fields are not in it.

        >>> IsingModel([(0, 1)], [2.0]).to_matrix().toarray().tolist()
        [[0.0, 2.0], [2.0, 0.0]]
        """
        from scipy.sparse import coo_array

        u, v = self.edges[:, 0], self.edges[:, 1]
        both = np.concatenate([self.couplings, self.couplings])
        where = (np.concatenate([u, v]), np.concatenate([v, u]))
        return coo_array((both, where), shape=(self.num_spins, self.num_spins)).tocsr()

    def to_bqm(self) -> Any:
        """Return a dimod quadratic model with the same energy, labels and offset.

        dimod adds ``h s`` and ``J s s`` to the energy, so its biases are minus ours.

        >>> float(IsingModel([(0, 1)], [2.0]).to_bqm().energy({0: 1, 1: 1}))
        -2.0
        """
        try:
            import dimod
        except ImportError as error:
            raise missing_extra(package="dimod", extra="dimod") from error
        return dimod.BinaryQuadraticModel.from_numpy_vectors(
            0.0 - self.fields,
            (self.edges[:, 0], self.edges[:, 1], 0.0 - self.couplings),
            0.0 - self.offset,
            dimod.SPIN,
            variable_order=list(self.labels),
        )

    def _repr_html_(self) -> str:
        low, high = self.couplings.min(initial=np.inf), self.couplings.max(initial=-np.inf)
        facts = {
            "spins": f"{self.num_spins:,}",
            "edges": f"{self.num_edges:,}",
            "external fields": f"{np.count_nonzero(self.fields):,}",
            "couplings": "none" if low > high else f"{low:.4g} to {high:.4g}",
        }
        drawn = graph_svg(self.positions, self.num_spins, self.edges, self.couplings)
        return facts_html("IsingModel", facts, drawn)

    def __repr__(self) -> str:
        with_fields = int(np.count_nonzero(self.fields))
        fields = many(with_fields, "field") if with_fields else "no fields"
        size = f"{many(self.num_spins, 'spin')}, {many(self.num_edges, 'edge')}"
        return f"IsingModel({size}, {fields})"


def require_ising(model: object) -> None:
    """Refuse anything but an Ising model, and say how to get one.

    >>> require_ising(IsingModel([(0, 1)], [1.0]))
    """
    if not isinstance(model, IsingModel):
        msg = (
            f"`model` must be an IsingModel here, got {type(model).__name__}; "
            "`planaris.models.mrf2ising` converts pairwise models of two labels without zeros, "
            "and `planaris.ground_state`, `log_partition`, `marginals` and `sample` take any model"
        )
        raise MethodError(msg)


@once_per_model
def _energy_tolerance(model: IsingModel) -> float:
    sizes = np.abs(model.couplings)
    if model.has_fields:
        sizes = np.concatenate([sizes, np.abs(model.fields)])
    return energy_tolerance(sizes)
