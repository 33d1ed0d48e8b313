"""What rounding can do to a model whose numbers are huge."""

from __future__ import annotations

import numpy as np

from planaris.models import IsingModel, MarkovRandomField
from planaris.treewidth.flatten import Model
from planaris.typing import FloatArray

EPS = float(np.finfo(float).eps)


def size_of_logs(model: Model) -> float:
    """Return how large a log weight can be: the sum of the largest finite ones of all factors.

    >>> size_of_logs(IsingModel([(0, 1)], [2.0], [-1.0, 0.0]))
    3.0
    """
    if isinstance(model, IsingModel):
        return float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
    sizes = np.where(np.isfinite(model.log_values), np.abs(model.log_values), 0.0)
    starts = model.table_offsets[:-1][np.diff(model.table_offsets) > 0]
    return float(np.maximum.reduceat(sizes, starts).sum()) if len(starts) else 0.0


def shaken(model: Model) -> Model:
    """Return the model with the last places of its numbers changed at random.

    An answer that changes with them is not in the numbers.
    """
    rng = np.random.default_rng(0)

    def shake(values: FloatArray) -> FloatArray:
        return values * (1.0 - EPS * rng.integers(0, 3, len(values)))

    if isinstance(model, IsingModel):
        return model.with_couplings(shake(model.couplings), shake(model.fields))
    return MarkovRandomField.from_arrays(
        model.cardinalities,
        model.scopes,
        model.scope_offsets,
        shake(model.log_values),
        model.table_offsets,
        log=True,
    )
