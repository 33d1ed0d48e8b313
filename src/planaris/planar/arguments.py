"""What the methods of a plan take, checked."""

from __future__ import annotations

import numpy as np

from planaris.errors import ModelError
from planaris.models.arrays import as_real
from planaris.typing import ArrayLike, FloatArray


def as_couplings(couplings: ArrayLike, num_edges: int) -> FloatArray:
    """Return couplings as rows of finite numbers, one per edge; a number is that of all edges.

    >>> as_couplings(0.5, 2).tolist()
    [[0.5, 0.5]]
    """
    values = as_real("couplings", couplings)
    if values.ndim == 0:
        values = np.full(num_edges, values)
    if values.ndim > 2 or values.shape[-1] != num_edges:
        msg = f"`couplings` must have shape ({num_edges},) or (k, {num_edges}), got {values.shape}"
        raise ModelError(msg)
    if not np.isfinite(values).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
        msg = f"`couplings` must be finite, got {values[at]} at edge {at[-1]}"
        raise ModelError(msg, index=at[-1])
    return np.atleast_2d(values)


def as_one_vector(couplings: ArrayLike, num_edges: int) -> FloatArray:
    """Return couplings where only one per edge is meant.

    >>> as_one_vector([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    values = as_couplings(couplings, num_edges)
    if np.ndim(couplings) > 1:
        msg = f"`couplings` must be one vector here, got shape {np.shape(couplings)}"
        raise ModelError(msg)
    one: FloatArray = values[0]
    return one
