"""Subgraphs to decompose a model into: GJ06's lattice family, planar ones of any graph, trees.

All are arrays of edges of a :class:`planaris.subgraphs.bias_model.BiasModel` model.
"""

from __future__ import annotations

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.errors import MethodError
from planaris.kernels import graph as kernel
from planaris.subgraphs.bias_model import BiasModel
from planaris.subgraphs.clusters import grow_clusters
from planaris.typing import ArrayLike, BoolArray, FloatArray, IntArray, LongArray

FAMILIES = ("auto", "lattice", "components", "planar")

PLANARITY_BUDGET = 4_000_000
"""Edges tested for planarity per generated subgraph."""

MOST_FORESTS, MOST_PARTITIONS = 256, 16
"""Spanning forests, and partitions into clusters, after which edges may still be left over."""


# -- lattices -------------------------------------------------------------------------------


def lattice_shape(bare: BiasModel) -> tuple[int, int] | None:
    """Return (rows, columns) if the model without its fields is a row-major square lattice."""
    edges = bare.edges[: bare.num_model_edges]
    n = bare.num_spins - (1 if bare.num_edges > bare.num_model_edges else 0)
    if len(edges) < 4:
        return None
    steps = np.unique(np.abs(edges[:, 0] - edges[:, 1]))
    if len(steps) != 2 or steps[0] != 1 or n % steps[1]:
        return None
    columns = int(steps[1])
    rows = n // columns
    low = edges.min(1)
    right = np.abs(edges[:, 0] - edges[:, 1]) == 1
    if columns < 2 or rows < 2 or np.any(right & (low % columns == columns - 1)):
        return None
    return (rows, columns) if len(edges) == 2 * n - rows - columns else None


def lattice_family(
    bare: BiasModel,
    shape: tuple[int, int],
    *,
    stride: int = 1,
    bridges: bool = True,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Return GJ06's subgraphs: two neighbouring columns (or rows) cut out, and the star.

    The bias spin sees the outer spins of the two or three parts that each cut leaves. A
    ``stride`` of two takes every second pair only: still every spin is in two of them. With
    ``bridges`` one edge of every cut is kept, which leaves the subgraph planar and the bound
    tighter; without, the parts are components, as in the paper.
    """
    rows, columns = shape
    family = []
    for width, along in ((columns, False), (rows, True)):
        for j in sorted({*range(0, width - 1, stride), width - 2}):
            budget.check()
            cuts = [k for k in (j - 1, j + 1) if 0 <= k < width - 1]
            family.append(_cut_lattice(bare, shape, cuts, along_rows=along, bridges=bridges))
    family.append(np.flatnonzero(bare.at_apex))
    return family


def strip_family(
    bare: BiasModel,
    shape: tuple[int, int],
    width: int,
    *,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Return the lattice cut into strips of ``width`` columns (or rows), at all offsets.

    All fields are kept: strips of two are outerplanar, wider ones are no longer planar with the
    bias spin but of treewidth ``width + 1``.
    """
    family = []
    for size, along in ((shape[1], False), (shape[0], True)):
        for offset in range(min(width, size)):
            budget.check()
            cuts = [k for k in range(size - 1) if (k - offset) % width == 0 and width < size]
            family.append(_cut_lattice(bare, shape, cuts, along_rows=along, every_field=True))
    return family


def _cut_lattice(
    bare: BiasModel,
    shape: tuple[int, int],
    cuts: list[int],
    *,
    along_rows: bool,
    every_field: bool = False,
    bridges: bool = True,
) -> LongArray:
    """Return the lattice without the edges from line k to k + 1, k in ``cuts``.

    With ``bridges`` one edge of each cut is kept: it leaves all outer spins where they were.
    """
    rows, columns = shape
    m = bare.num_model_edges
    edges = bare.edges[:m]
    line_of = (edges // columns) if along_rows else (edges % columns)
    low, high = line_of.min(1), line_of.max(1)
    gone = (low != high) & np.isin(low, cuts)
    across = (edges % columns if along_rows else edges // columns)[:, 0]
    middle = (columns if along_rows else rows) // 2
    if bridges:
        gone &= across != middle
    spins = np.arange(rows * columns)
    line = spins // columns if along_rows else spins % columns
    place = spins % columns if along_rows else spins // columns
    ends = np.array(cuts, dtype=np.int64)
    last = (rows if along_rows else columns) - 1
    outer = np.isin(line, np.concatenate([ends, ends + 1, [0, last]]))
    outer |= (place == 0) | (place == (columns if along_rows else rows) - 1)
    keep = np.concatenate([~gone, outer | every_field])[: bare.num_edges]
    return np.flatnonzero(keep)


# -- any graph ------------------------------------------------------------------------------


def planar_family(
    bare: BiasModel,
    rng: np.random.Generator,
    *,
    least: int = 2,
    most: int = 64,
    first: LongArray | None = None,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Return maximal planar subgraphs that hold every edge at least once (as ``most`` allows).

    Each prefers edges that the ones before left out, heavy ones first; edges ``first`` come before
    all others in each. ``TimeoutError`` when they are not found in time.
    """
    family: list[LongArray] = []
    tests = PLANARITY_BUDGET // max(bare.num_edges, 1) + 1
    count = np.zeros(bare.num_edges)
    weight = np.abs(bare.couplings)
    weight = weight / max(float(weight.max(initial=0.0)), 1e-300)
    turn = np.zeros(bare.num_edges)
    if first is not None:
        turn[first] = -1e9
    while len(family) < most and (len(family) < least or not count.all()):
        noise = rng.random(bare.num_edges)
        order = np.argsort(turn + count - 0.3 * weight - 0.3 * noise, kind="stable")
        chosen = kernel.maximal_planar(
            bare.num_spins, bare.edges, order, max_tests=tests, budget=budget
        )
        budget.check()
        family.append(np.flatnonzero(chosen))
        count += chosen
    if not count.all():
        # What is left goes into forests, which always fit.
        family += tree_family(bare, np.flatnonzero(count == 0), budget=budget)
    return family


# -- trees ----------------------------------------------------------------------------------


def spanning_forest(bare: BiasModel, weight: FloatArray, budget: Budget = UNLIMITED) -> LongArray:
    """Return a spanning forest of largest weight away from the apex, with all apex edges.

    >>> from planaris.models import IsingModel
    >>> from planaris.subgraphs.bias_model import as_bias_model
    >>> model = IsingModel([(0, 1), (1, 2), (0, 2)], 1.0, [0.1, 0.1, 0.1])
    >>> spanning_forest(as_bias_model(model), np.array([3.0, 1.0, 2.0, 0, 0, 0])).tolist()
    [0, 2, 3, 4, 5]
    """
    field = bare.at_apex
    rest = np.flatnonzero(~field)
    forest = rest[heaviest_forest(bare.num_spins, bare.edges[rest], weight[rest], budget)]
    return np.sort(np.concatenate([forest, np.flatnonzero(field)]))


def heaviest_forest(
    num_vertices: int, edges: ArrayLike, weights: FloatArray, budget: Budget = UNLIMITED
) -> LongArray:
    """Return the edges of a spanning forest of largest weight, by Kruskal's algorithm.

    Of edges that weigh the same the first ones are taken. ``TimeoutError`` when the time is over.

    >>> triangle = np.array([(0, 1), (1, 2), (0, 2)])
    >>> heaviest_forest(3, triangle, np.array([3.0, 1.0, 2.0])).tolist()
    [0, 2]
    """
    pairs = np.ascontiguousarray(edges, dtype=np.int32).reshape(-1, 2)
    height = np.ascontiguousarray(weights, dtype=np.float64)
    return kernel.heaviest_forest(num_vertices, pairs, height, budget).astype(np.int64)


def tree_family(
    bare: BiasModel,
    targets: LongArray | None = None,
    *,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Return spanning forests, each with all apex edges, that hold every target edge.

    ``TimeoutError`` when the time is over before.
    """
    family: list[LongArray] = []
    count = np.zeros(bare.num_edges)
    wanted = np.arange(bare.num_edges) if targets is None else targets
    scale = np.abs(bare.couplings) / max(float(np.abs(bare.couplings).max(initial=0.0)), 1e-300)
    for _ in range(MOST_FORESTS):
        budget.check()
        tree = spanning_forest(bare, -count + 0.5 * scale, budget)
        family.append(tree)
        count[tree] += 1
        if count[wanted].all():
            return family
    missing = wanted[count[wanted] == 0]
    # Any forest of a few edges fits; a star of one edge is the last resort.
    return family + [missing[k : k + 1] for k in range(len(missing))]


# -- small treewidth ------------------------------------------------------------------------


def cluster_family(
    bare: BiasModel,
    width: int,
    rng: np.random.Generator,
    *,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Return subgraphs of treewidth about ``width`` with all apex edges, other edges covered.

    Each is a partition of the spins into clusters of small pathwidth, with all edges inside
    them and a forest of edges between them, which adds nothing to the treewidth. Lattices are
    cut into strips instead. ``TimeoutError`` when the time is over before.
    """
    shape = lattice_shape(bare)
    if shape is not None and width < min(shape):
        offsets = strip_family(bare, shape, width, budget=budget)
        # Two offsets each way hold every edge.
        half = len(offsets) // 2
        return [offsets[k] for k in (0, width // 2, half, half + width // 2)]
    away = np.flatnonzero(~bare.at_apex)
    edges = np.ascontiguousarray(bare.edges[away])
    family: list[LongArray] = []
    count = np.zeros(bare.num_edges)
    for _ in range(MOST_PARTITIONS):
        # Clusters grow from the ends of edges that are not inside one yet.
        lacking = np.bincount(edges.ravel(), np.repeat(count[away] == 0, 2), bare.num_spins)
        roots = np.argsort(-lacking - rng.random(bare.num_spins), kind="stable")
        label = np.empty(bare.num_spins, dtype=np.int64)
        clusters = grow_clusters(bare.num_spins, edges, width, roots, budget=budget)
        for k, spins in enumerate(clusters):
            label[spins] = k
        inside = label[edges[:, 0]] == label[edges[:, 1]]
        between = _forest_between(label, edges, inside, -count[away], budget)
        family.append(
            np.sort(np.concatenate([away[inside | between], np.flatnonzero(bare.at_apex)]))
        )
        count[family[-1]] += 1
        if count.all():
            return family
    return family + tree_family(bare, np.flatnonzero(count == 0), budget=budget)


def _forest_between(
    label: LongArray, edges: IntArray, inside: BoolArray, weight: FloatArray, budget: Budget
) -> BoolArray:
    """Return edges of a heaviest spanning forest of the graph of clusters."""
    rest = np.flatnonzero(~inside)
    chosen = np.zeros(len(edges), dtype=bool)
    if len(rest):
        forest = heaviest_forest(int(label.max()) + 1, label[edges[rest]], weight[rest], budget)
        chosen[rest[forest]] = True
    return chosen


def planar_subgraphs(
    bare: BiasModel,
    subgraphs: str | list[ArrayLike],
    rng: np.random.Generator | None = None,
    *,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Return the subgraphs that a name stands for, or the given ones, checked.

    ``TimeoutError`` when they are not found in time.
    """
    if not isinstance(subgraphs, str):
        return [_as_members(bare, k, given) for k, given in enumerate(subgraphs)]
    if subgraphs not in FAMILIES:
        msg = f"`subgraphs` must be one of {FAMILIES} or a list, got {subgraphs!r}"
        raise MethodError(msg)
    shape = lattice_shape(bare)
    if subgraphs in ("lattice", "components") and shape is None:
        msg = f"`subgraphs={subgraphs!r}` needs a square lattice, its spins numbered row by row"
        raise MethodError(msg)
    if subgraphs == "planar" or shape is None:
        generator = np.random.default_rng(0) if rng is None else rng
        return planar_family(bare, generator, budget=budget)
    # On large lattices every second pair is as good, for half the time.
    stride = 2 if subgraphs == "auto" and max(shape) > 12 else 1
    bridges = subgraphs != "components"
    family = lattice_family(bare, shape, stride=stride, bridges=bridges, budget=budget)
    if subgraphs == "auto":
        family += strip_family(bare, shape, 2, budget=budget)
    return family


def _as_members(bare: BiasModel, k: int, given: ArrayLike) -> LongArray:
    members = np.asarray(given)
    if members.ndim != 1 or (members.size and members.dtype.kind not in "iu"):
        msg = f"`subgraphs[{k}]` must be a list of edges, got {given!r}"
        raise MethodError(msg)
    outside = members[(members < 0) | (members >= bare.num_edges)]
    if outside.size:
        msg = (
            f"`subgraphs[{k}]` must name edges 0 to {bare.num_edges - 1} (those of the model, then "
            f"one per field), got {outside[0]}"
        )
        raise MethodError(msg, subgraph=k)
    return np.unique(members).astype(np.int64)
