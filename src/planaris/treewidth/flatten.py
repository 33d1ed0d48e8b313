"""Models as the flat factor arrays that elimination works on."""

from __future__ import annotations

import numpy as np

from planaris.kernels.elimination import FactorArrays
from planaris.models import IsingModel, MarkovRandomField

Model = IsingModel | MarkovRandomField


def num_variables(model: Model) -> int:
    """Return the number of spins or variables."""
    return model.num_spins if isinstance(model, IsingModel) else model.num_variables


def to_factor_arrays(model: Model) -> FactorArrays:
    """Return the model's factors; of an Ising model: its edges, then its fields.

    Label 1 is spin +1. The offset of an Ising model is left out.
    """
    if isinstance(model, MarkovRandomField):
        return FactorArrays(
            model.cardinalities,
            model.scopes,
            model.scope_offsets,
            model.log_values,
            model.table_offsets,
        )
    n, m = model.num_spins, model.num_edges
    edge_tables = np.multiply.outer(model.couplings, [1.0, -1.0, -1.0, 1.0])
    node_tables = np.multiply.outer(model.fields, [-1.0, 1.0])
    sizes = np.concatenate([np.full(m, 2), np.ones(n)]).astype(np.int64)
    lengths = np.concatenate([np.full(m, 4), np.full(n, 2)]).astype(np.int64)
    return FactorArrays(
        np.full(n, 2, dtype=np.int32),
        np.concatenate([model.edges.ravel(), np.arange(n, dtype=np.int32)]),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([edge_tables.ravel(), node_tables.ravel()]),
        np.concatenate([[0], np.cumsum(lengths)]),
    )
