"""Fields as couplings to one bias spin, and where that leaves the model planar (SK08 2.2).

A model with fields on n spins equals a model without fields on n + 1: field ``h_v`` becomes the
coupling of ``v`` to the bias spin. It is planar iff the graph can be drawn with all spins that
have a field on one face (of every component): "B-outerplanar".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.embed.planarity import embed
from planaris.errors import EmbeddingError, NotPlanarError
from planaris.kernels import graph as kernel
from planaris.models.arrays import as_finite
from planaris.models.ising import IsingModel, require_ising
from planaris.typing import ArrayLike, BoolArray, FloatArray, Int8Array, IntArray

SEARCH_BUDGET = 20_000_000
"""Edges tested for planarity in all, while looking for a better face than the one found."""


@dataclass(frozen=True, eq=False)
class BiasedModel:
    """A planar model without fields: the last spin stands for the fields of the others.

    Attributes
    ----------
    model : IsingModel
        The given couplings, then one coupling ``(v, n)`` per kept field, by increasing ``v``.
    embedding : Embedding
        Plane embedding of ``model``.
    kept, dropped : numpy.ndarray
        Spins whose field is kept, and those whose field had to be left out.
    proved : bool
        True when no face holds a greater weight of spins (so always when none is dropped), up to
        the rounding of these sums.
    dropped_field : float
        Σ ``|h|`` over ``dropped``: energies, ground-state energies and log Z of the given model lie
        within this of those of ``model`` (log Z after taking off log 2 for the bias spin).
    """

    model: IsingModel
    embedding: Embedding
    kept: IntArray
    dropped: IntArray
    proved: bool
    dropped_field: float = field(default=0.0)

    def lift(self, states: ArrayLike) -> Int8Array:
        """Turn states of ``model`` into states of the given model: times the bias spin.

        >>> biased = join_bias_spin(IsingModel([(0, 1)], [1.0], [0.5, 0.0]))
        >>> biased.lift([[1, -1, -1], [1, -1, 1]]).tolist()
        [[-1, 1], [1, -1]]
        """
        spins = np.asarray(states, dtype=np.int8)
        return spins[..., :-1] * spins[..., -1:]


def join_bias_spin(model: IsingModel) -> BiasedModel:
    """Replace all fields by couplings to a bias spin, with a plane embedding of the result.

    Parameters
    ----------
    model : IsingModel
        Any fields; zero ones need no edge.

    Raises
    ------
    NotPlanarError
        If no embedding has all spins with a field on one face; ``kuratowski_edges`` counts the
        bias edges after those of the model.

    See Also
    --------
    closest_planar_model : drops the fields of least weight where not all can be kept.

    Examples
    --------
    >>> k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> biased = join_bias_spin(IsingModel(k4, 1.0, [0.5, 0.5, 0.5, 0.0]))
    >>> biased.model, biased.embedding.genus
    (IsingModel(5 spins, 9 edges, no fields), 0)
    >>> join_bias_spin(IsingModel(k4, 1.0, [0.5, 0.5, 0.5, 0.5]))
    Traceback (most recent call last):
    ...
    planaris.errors.NotPlanarError: `model` must have all 4 spins with a field on one face, ...
    """
    require_ising(model)
    with_field = model.fields != 0
    found = _embed_with_bias(model, with_field)
    if found is None:
        _ = embed((model.num_spins, model.edges))  # raises if the fields are not to blame
        edges = _edges_with_bias(model, with_field)
        kind, proof = kernel.find_kuratowski(model.num_spins + 1, edges)
        msg = (
            f"`model` must have all {np.count_nonzero(with_field)} spins with a field on one "
            f"face, but with the bias spin {len(proof)} edges form a subdivided {kind} (see "
            "`kuratowski_edges`); `closest_planar_model` drops the fields of least weight"
        )
        raise NotPlanarError(msg, kuratowski_edges=proof, kind=kind)
    return _result(model, found, with_field, proved=True)


def closest_planar_model(model: IsingModel, *, weights: ArrayLike | None = None) -> BiasedModel:
    """Keep external fields that fit on one face of every component, and drop the rest.

    Parameters
    ----------
    model : IsingModel
        Its graph must be planar.
    weights : array_like of float, shape (n,), optional
        What keeping the field of each spin is worth, not negative. Default: ``|h|``.

    Returns
    -------
    BiasedModel
        ``proved`` is True where every embedding was considered: all fields fit, or every
        biconnected component has only one embedding (subdivisions of triconnected graphs and
        cycles). Elsewhere the best face found is used.

    Raises
    ------
    NotPlanarError
        If the graph is not planar even without fields.

    Examples
    --------
    >>> k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> closest = closest_planar_model(IsingModel(k4, 1.0, [0.5, -0.1, 0.5, 0.5]))
    >>> closest.dropped.tolist(), closest.dropped_field, closest.proved
    ([1], 0.1, True)
    """
    require_ising(model)
    with_field = model.fields != 0
    worth = _as_weights(weights, model)
    found = _embed_with_bias(model, with_field)
    if found is not None:
        return _result(model, found, with_field, proved=True)
    plane = Embedding.from_graph(model.edges, num_vertices=model.num_spins)
    chosen, is_unique = kernel.find_best_faces(
        plane.edges, plane.rotation, plane.offsets, np.where(with_field, worth, 0.0)
    )
    keep = chosen & with_field
    lost = np.zeros(plane.num_components, dtype=bool)
    lost[plane.component_of[with_field & ~keep]] = True
    proved = not np.any(lost & ~is_unique)
    if not proved:
        keep = _search_better(model, with_field, keep, worth)
    found = _embed_with_bias(model, keep)
    assert found is not None, "spins on one face can be joined to a vertex inside it"
    return _result(model, found, keep, proved=proved)


def _edges_with_bias(model: IsingModel, keep: BoolArray) -> IntArray:
    spins = np.flatnonzero(keep).astype(np.int32)
    bias = np.column_stack([spins, np.full_like(spins, model.num_spins)])
    return np.concatenate([model.edges, bias])


def _embed_with_bias(model: IsingModel, keep: BoolArray) -> Embedding | None:
    edges = _edges_with_bias(model, keep)
    is_planar, rotation, offsets = kernel.embed_planar(model.num_spins + 1, edges)
    return Embedding(model.num_spins + 1, edges, rotation, offsets) if is_planar else None


def _result(model: IsingModel, plane: Embedding, keep: BoolArray, *, proved: bool) -> BiasedModel:
    kept = np.flatnonzero(keep).astype(np.int32)
    dropped = np.flatnonzero((model.fields != 0) & ~keep).astype(np.int32)
    joined = IsingModel(
        plane.edges,
        np.concatenate([model.couplings, model.fields[kept]]),
        num_spins=model.num_spins + 1,
        offset=model.offset,
    )
    return BiasedModel(
        joined, plane, kept, dropped, proved, float(np.abs(model.fields[dropped]).sum())
    )


def _search_better(
    model: IsingModel, with_field: BoolArray, keep: BoolArray, worth: FloatArray
) -> BoolArray:
    """Add what still fits to the best face, and compare with taking the heaviest spins first."""
    candidates = [
        _add_greedily(model, start, with_field, worth) for start in (keep, np.zeros_like(keep))
    ]
    return max(candidates, key=lambda chosen: float(worth[chosen].sum()))


def _add_greedily(
    model: IsingModel, keep: BoolArray, with_field: BoolArray, worth: FloatArray
) -> BoolArray:
    """Add spins by decreasing worth while the graph stays planar, halving groups that fail."""
    keep = keep.copy()
    rest = np.flatnonzero(with_field & ~keep)
    groups = [rest[np.argsort(-worth[rest], kind="stable")]]
    tests = SEARCH_BUDGET // (2 * (model.num_edges + model.num_spins + 1))
    while groups and tests > 0:
        group = groups.pop()
        trial = keep.copy()
        trial[group] = True
        tests -= 1
        if kernel.is_planar(model.num_spins + 1, _edges_with_bias(model, trial)):
            keep = trial
        elif len(group) > 1:
            groups += [group[len(group) // 2 :], group[: len(group) // 2]]
    return keep


def _as_weights(weights: ArrayLike | None, model: IsingModel) -> FloatArray:
    if weights is None:
        return np.abs(model.fields)
    worth = as_finite("weights", weights, model.num_spins)
    if np.any(worth < 0):
        at = int(np.flatnonzero(worth < 0)[0])
        msg = f"`weights` must not be negative, got {worth[at]} at spin {at}"
        raise EmbeddingError(msg)
    return worth
