"""Check the proof that a state has the lowest energy, from the model and the proof alone.

Walk around any closed walk of the graph: the number of unsatisfied edges on it has the parity of
the number of negative couplings, whatever the state. Take walks that use every edge twice as the
vertices of a graph, the edges joining them: the unsatisfied edges are a T-join of that graph, T
the walks with an odd number of negative couplings. So a packing of T-cuts bounds Σ |J| over the
unsatisfied edges of every state from below; no planarity is needed for that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel
from planaris.result import GroundState, PartProof
from planaris.typing import Array, FloatArray
from planaris.verify.tjoin import check_tjoin


def check_certificate(model: IsingModel, result: GroundState) -> bool:
    """Raise unless every proof in ``result.certificate`` holds and supports the state.

    Parameters
    ----------
    model : IsingModel
        The model that was solved.
    result : GroundState
        What the solver returned.

    Returns
    -------
    bool
        True when the proofs cover all edges, so that the state is proved to be a ground
        state; False when some part of the model came without a proof.

    Raises
    ------
    VerificationError
        With the number of the part at fault as ``part``.

    Examples
    --------
    >>> import planaris as pl
    >>> glass = pl.generate.spin_glass(10, np.random.default_rng(0))
    >>> check_certificate(glass, pl.ground_state(glass))
    True
    """
    edges, couplings = _without_fields(model)
    parts: list[PartProof] = result.certificate or []
    used = np.concatenate([np.zeros(0, dtype=np.int64), *(part.edges for part in parts)])
    if not _each_once(used, len(edges)):
        if len(used) == 0:
            return False
        msg = f"`certificate` must cover each of the {len(edges)} edges once"
        raise VerificationError(msg, part=None)
    spins = np.append(result.spins, np.int8(1))
    unsatisfied = couplings * spins[edges[:, 0]] * spins[edges[:, 1]] < 0
    proved = True
    for number, part in enumerate(parts):
        if getattr(part.proof, "tjoin", None) is None:
            proved = False
            continue
        _check_part(number, part, edges[part.edges], couplings[part.edges], unsatisfied[part.edges])
        proved = proved and part.proof.tjoin.exact
    return proved


def _each_once(numbers: Array, count: int) -> bool:
    """Say whether 0, 1, ... count - 1 are all there, once each."""
    if len(numbers) != count or (count and not 0 <= numbers.min() <= numbers.max() < count):
        return False
    return bool((np.bincount(numbers, minlength=count) == 1).all())


def _without_fields(model: IsingModel) -> tuple[Array, FloatArray]:
    with_field = np.flatnonzero(model.fields)
    bias = np.column_stack([with_field, np.full(len(with_field), model.num_spins)])
    edges = np.concatenate([model.edges.astype(np.int64), bias])
    return edges, np.concatenate([model.couplings, model.fields[with_field]])


def _check_part(
    number: int, part: PartProof, edges: Array, couplings: FloatArray, unsatisfied: Array
) -> None:
    proof: Any = part.proof
    walk, offsets = np.asarray(proof.embedding.face_walk), np.asarray(proof.embedding.face_offsets)
    if not _each_once(walk, 2 * len(edges)):
        msg = f"the walks of part {number} must use each half-edge once"
        raise VerificationError(msg, part=number)
    tails, heads = edges.ravel()[walk], edges[:, ::-1].ravel()[walk]
    following = np.arange(1, len(walk) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    if not np.array_equal(heads, tails[following]):
        msg = f"the walks of part {number} must be closed"
        raise VerificationError(msg, part=number)
    walk_of = np.empty(len(walk), dtype=np.int64)
    walk_of[walk] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    negatives = np.bincount(walk_of[np.repeat(couplings < 0, 2)], minlength=len(offsets) - 1)
    free = np.asarray(proof.embedding.outer_faces)
    free = free[free >= 0]
    negatives[free] = 0
    odd = np.flatnonzero(negatives % 2)
    beside = walk_of.reshape(-1, 2)
    check_tjoin(len(offsets) - 1, beside, np.abs(couplings), odd, proof.tjoin, boundary=free)
    if not proof.tjoin.exact:
        terms = [*(-np.abs(couplings)).tolist(), 2 * float(proof.tjoin.lower)]
        if part.lower > math.fsum(terms):
            msg = f"the packing of part {number} must prove its lower bound"
            raise VerificationError(msg, part=number)
        return
    light = np.zeros(len(edges), dtype=bool)
    light[proof.tjoin.join] = True
    # Edges of weight zero are satisfied and unsatisfied alike.
    if np.any((light != unsatisfied) & (couplings != 0)):
        msg = f"the state must leave the proved edges of part {number} unsatisfied, and no others"
        raise VerificationError(msg, part=number)
