"""Heralded erasures: mechanisms known, shot by shot, to have acted with probability 1/2."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.decode.graph import DecodingGraph
from planaris.decode.model import ErrorModel
from planaris.decode.shots import as_flags
from planaris.errors import ModelError
from planaris.kernels.decoding import NO_ERASURES, Erasures
from planaris.models.arrays import as_array


def edges_of_erasures(
    model: ErrorModel, graph: DecodingGraph, erasures: Any, count: int
) -> Erasures:
    """Return the edges whose probability becomes one half, shot by shot.

    Parameters
    ----------
    model : ErrorModel
        Its mechanisms are the columns of ``erasures``.
    graph : DecodingGraph
        An edge is erased if any of its mechanisms is.
    erasures : array_like of bool, shape (count, num_mechanisms), or None
        Which mechanisms are erased.
    count : int
        Number of shots.
    """
    if erasures is None:
        return NO_ERASURES
    given = as_array("erasures", erasures)
    if given.ndim == 1:
        given = given[None]
    wanted = (count, len(model.mechanisms))
    if given.shape != wanted:
        msg = (
            f"`erasures` must be bool of shape {wanted}, a column per mechanism, "
            f"got {given.dtype} of shape {given.shape}"
        )
        raise ModelError(msg)
    given = as_flags(given, "erasures")
    edge_of = np.full(wanted[1], -1, dtype=np.int64)
    for e, sources in enumerate(graph.sources):
        edge_of[list(sources)] = e
    shot, mechanism = np.nonzero(given)
    edge = edge_of[mechanism]
    lost = np.flatnonzero(edge < 0)
    for k in lost.tolist():
        if model.mechanisms[mechanism[k]].detectors:
            msg = (
                f"shot {shot[k]} of `erasures` names mechanism {mechanism[k]}, "
                f"{model.mechanisms[mechanism[k]]}, whose probability is 0 or 1; give it another "
                "one in the model, which then counts where it is not erased"
            )
            raise ModelError(msg, shot=int(shot[k]), mechanism=int(mechanism[k]))
    named = edge >= 0
    pairs = np.unique(np.stack([shot[named], edge[named]], axis=1), axis=0)
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs[:, 0], minlength=count), out=offsets[1:])
    return Erasures(offsets, np.ascontiguousarray(pairs[:, 1], dtype=np.int32))
