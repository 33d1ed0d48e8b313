"""Foreign forms of models as arrays: graphs, matrices, QUBOs, images, binary energies."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.models.arrays import as_edges, as_finite, as_real, number_labels
from planaris.typing import Array, ArrayLike, FloatArray, IntArray


def binary_energy(
    node_costs: ArrayLike, edges: ArrayLike, pair_costs: ArrayLike
) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """Return (edges, couplings, fields, offset) of the same energy (SK08 Theorem 1)."""
    nodes = as_real("node_costs", node_costs)
    nodes = nodes.reshape(0, 2) if nodes.shape == (0,) else nodes
    if nodes.ndim != 2 or nodes.shape[1] != 2:
        msg = f"`node_costs` must have shape (n, 2), got {nodes.shape}"
        raise ModelError(msg)
    pairs = as_edges(edges, len(nodes))
    costs = as_real("pair_costs", pair_costs)
    costs = costs.reshape(0, 2, 2) if costs.shape == (0,) else costs
    if costs.shape != (len(pairs), 2, 2):
        msg = f"`pair_costs` must have shape ({len(pairs)}, 2, 2), got {costs.shape}"
        raise ModelError(msg)
    for name, given in (("node_costs", nodes), ("pair_costs", costs)):
        as_finite(name, given.ravel(), given.size)
    both = costs[:, 0, 0] + costs[:, 1, 1]
    split = costs[:, 0, 1] + costs[:, 1, 0]
    tilt = costs[:, 1, 1] - costs[:, 0, 0]
    swap = costs[:, 1, 0] - costs[:, 0, 1]
    fields = (nodes[:, 0] - nodes[:, 1]) / 2
    np.subtract.at(fields, pairs[:, 0], (tilt + swap) / 4)
    np.subtract.at(fields, pairs[:, 1], (tilt - swap) / 4)
    offset = -float(nodes.sum() / 2 + (both + split).sum() / 4)
    return pairs, (split - both) / 4, fields, offset


def graph_arrays(
    graph: Any, weight: str, bias: str, pos: Any
) -> tuple[list[tuple[int, int]], FloatArray, FloatArray, Any, list[Hashable]]:
    """Return (edges, couplings, fields, positions, labels) of a networkx graph."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        msg = f"`graph` must be a networkx graph, got {type(graph).__name__}"
        raise ModelError(msg)
    index = {label: k for k, label in enumerate(graph.nodes)}
    data = list(graph.edges(data=weight, default=1.0))
    for u, v, _ in data:
        if u == v:
            msg = (
                f"`graph` must have no self-loops, got one at {u!r}: s * s = 1, so it is a "
                "constant; graph.remove_edges_from(list(nx.selfloop_edges(graph))) drops it"
            )
            raise ModelError(msg, label=u)
    couplings = _attributes(weight, [((u, v), w) for u, v, w in data])
    fields = _attributes(bias, [(v, graph.nodes[v].get(bias, 0.0)) for v in index])
    if not (pos is None or isinstance(pos, str | Mapping)):
        msg = f"`pos` must be the name of an attribute or a dict, got {type(pos).__name__}"
        raise ModelError(msg)
    where = graph.nodes(data=pos) if isinstance(pos, str) else (pos or {})
    spot_of = dict(where)
    spots = [spot_of.get(label) for label in index]
    positions = spots if spots and all(spot is not None for spot in spots) else None
    return [(index[u], index[v]) for u, v, _ in data], couplings, fields, positions, list(index)


def _attributes(name: str, given: list[tuple[Any, Any]]) -> FloatArray:
    """Return the values of an attribute, all finite numbers; the first other one is named."""
    array = np.array([value for _, value in given]) if given else np.zeros(0)
    if array.ndim == 1 and array.dtype.kind in "iufb" and np.isfinite(array).all():
        return array.astype(np.float64)
    for label, value in given:
        if not _is_finite(value):
            msg = f"`graph` must have finite numbers as {name!r}, got {value!r} at {label!r}"
            raise ModelError(msg, label=label)
    return np.array([float(value) for _, value in given])


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, Real | Decimal) and math.isfinite(value)
    except OverflowError:
        return False


def matrix_couplings(matrix: Any) -> tuple[Array, FloatArray, int, list[Hashable] | None]:
    """Return (edges, couplings, number of spins, labels) of a symmetric or triangular matrix."""
    from scipy.sparse import coo_array, issparse, tril, triu

    labels = _frame_labels("matrix", matrix)
    given: Any = matrix if issparse(matrix) else np.atleast_2d(as_real("matrix", matrix))
    coo = coo_array(given)
    coo.data = as_finite("matrix", coo.data, coo.nnz)  # before it adds up entries given twice
    if coo.ndim != 2 or coo.shape[0] != coo.shape[1]:
        msg = f"`matrix` must be square, got shape {coo.shape}"
        raise ModelError(msg)
    diagonal = coo.diagonal()
    if np.any(diagonal != 0):
        at = int(np.flatnonzero(diagonal)[0])
        msg = f"`matrix` must have an empty diagonal, got {diagonal[at]} at ({at}, {at})"
        raise ModelError(msg)
    upper, lower = coo_array(triu(coo, 1)), coo_array(tril(coo, -1))
    if lower.nnz and abs(upper - lower.T).max() != 0:  # NaN is not symmetric either
        msg = (
            "`matrix` must be symmetric or upper triangular; pass (A + A.T) / 2 if rounding is all "
            "that it lacks, A + A.T if its entries (u, v) and (v, u) add up to the coupling"
        )
        raise ModelError(msg)
    upper.sum_duplicates()
    edges = np.column_stack([upper.row, upper.col])
    return edges, upper.data, coo.shape[0], labels


def _frame_labels(name: str, matrix: Any) -> list[Hashable] | None:
    """Return the names of the rows of a pandas.DataFrame; None for a matrix without names."""
    if not (hasattr(matrix, "columns") and hasattr(matrix, "index")):
        return None
    rows: list[Hashable] = list(matrix.index)
    if rows != list(matrix.columns):
        msg = (
            f"`{name}` must name its rows and columns alike and in the same order, got rows "
            f"{rows[:4]} and columns {list(matrix.columns)[:4]}; use frame.loc[names, names]"
        )
        raise ModelError(msg)
    return rows


def bqm_arrays(
    bqm: Any, names: list[Hashable]
) -> tuple[FloatArray, tuple[Array, Array], FloatArray, float]:
    """Return linear biases, pairs of variables, their biases, and offset, all as doubles."""
    offset = float(bqm.offset)
    if np.dtype(bqm.dtype) != object:
        linear, (u, v, quadratic), _ = bqm.to_numpy_vectors(variable_order=names)
        return linear.astype(np.float64), (u, v), quadratic.astype(np.float64), offset
    # Biases are numbers of Python. dimod's vectors would have the offset in the type of the
    # linear biases, which may be integers: its fraction would be lost.
    place = {name: k for k, name in enumerate(names)}
    h = np.array([float(bqm.get_linear(name)) for name in names], dtype=np.float64)
    terms = [(place[u], place[v], float(bias)) for u, v, bias in bqm.iter_quadratic()]
    ends = np.array([(u, v) for u, v, _ in terms], dtype=np.int64).reshape(-1, 2)
    biases = np.array([bias for *_, bias in terms], dtype=np.float64)
    return h, (ends[:, 0], ends[:, 1]), biases, offset


def qubo_terms(qubo: Any) -> tuple[Array, FloatArray, int, list[Hashable] | None]:
    """Return (pairs, entries, number of variables, labels) of a QUBO, where it has labels."""
    if isinstance(qubo, Mapping):
        pairs, index = number_labels("qubo", qubo)
        entries = as_finite("qubo", list(qubo.values()), len(pairs))
        return pairs, entries, len(index), list(index)
    from scipy.sparse import coo_array, issparse

    given: Any = qubo if issparse(qubo) else np.atleast_2d(as_real("qubo", qubo))
    coo = coo_array(given)
    if coo.ndim != 2 or coo.shape[0] != coo.shape[1]:
        msg = f"`qubo` must be a dictionary by pairs or a square matrix, got shape {coo.shape}"
        raise ModelError(msg)
    pairs = np.column_stack([coo.row, coo.col]).astype(np.int64)
    entries = as_finite("qubo", coo.data, coo.nnz)
    return pairs, entries, coo.shape[0], _frame_labels("qubo", qubo)


def image_grid(
    fields: ArrayLike, right: ArrayLike, down: ArrayLike
) -> tuple[FloatArray, Array, FloatArray, Array]:
    """Return (fields, edges, couplings, positions) of a grid, row by row."""
    h = as_real("fields", fields)
    if h.ndim != 2:
        msg = f"`fields` must be an image of shape (H, W), got shape {h.shape}"
        raise ModelError(msg)
    rows, columns = h.shape
    pixel = np.arange(h.size, dtype=np.int32).reshape(h.shape)
    edges = np.concatenate(
        [
            np.column_stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()]),
            np.column_stack([pixel[:-1].ravel(), pixel[1:].ravel()]),
        ]
    )
    flat = []
    for name, value, shape in (
        ("right", right, (rows, max(columns - 1, 0))),
        ("down", down, (max(rows - 1, 0), columns)),
    ):
        given = as_real(name, value)
        if given.ndim and given.shape != shape:
            msg = f"`{name}` must be a number or have shape {shape}, got {given.shape}"
            raise ModelError(msg)
        flat.append(np.broadcast_to(given, shape).ravel())
    y, x = np.divmod(np.arange(h.size), max(columns, 1))
    return h.ravel(), edges, np.concatenate(flat), np.column_stack([x, -y])
