"""The noise that a conditional random field's weights imply (GRSY15, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.models import IsingModel, require_ising
from planaris.notebook import Shown
from planaris.recover.observe import as_labels
from planaris.typing import ArrayLike, BoolArray, Int8Array


@dataclass(frozen=True, eq=False, repr=False)
class CRFNoise(Shown):
    """How often the signs of weights contradict the truth.

    Attributes
    ----------
    p, q : float
        Share of contradicting edges and nodes among those counted; NaN where none are.
    bad_edges, bad_nodes : numpy.ndarray
        Which contradict.
    counted_edges, counted_nodes : numpy.ndarray
        Which have a weight above the threshold.
    truth : numpy.ndarray
        The labels compared with.
    """

    p: float
    q: float
    bad_edges: BoolArray
    bad_nodes: BoolArray
    counted_edges: BoolArray
    counted_nodes: BoolArray
    truth: Int8Array


def crf_noise(
    model: IsingModel, truth: ArrayLike, *, edge_threshold: float = 0.0, node_threshold: float = 0.0
) -> CRFNoise:
    """Estimate the noise levels that correspond to the weights of a CRF and its truth.

    q is the share of nodes with sgn β_u ≠ y_u, p that of edges with sgn β_uv ≠ y_u y_v.

    Parameters
    ----------
    model : IsingModel
        The CRF of one image: couplings β_uv and fields β_u.
    truth : array_like of int, shape (n,)
        The labels, -1 and +1.
    edge_threshold, node_threshold : float
        Weights no larger than this say nothing and are not counted.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1.0, -1.0], [0.5, -0.5, 0.5])
    >>> noise = crf_noise(model, [1, 1, 1])
    >>> noise.p, round(noise.q, 3), noise.bad_nodes.tolist()
    (0.5, 0.333, [False, True, False])
    """
    require_ising(model)
    y = as_labels("truth", truth, model.num_spins)
    u, v = model.edges.T
    edges = np.abs(model.couplings) > edge_threshold
    nodes = np.abs(model.fields) > node_threshold
    bad_edges = edges & (model.couplings * y[u] * y[v] < 0)
    bad_nodes = nodes & (model.fields * y < 0)
    return CRFNoise(
        _share(bad_edges, edges), _share(bad_nodes, nodes), bad_edges, bad_nodes, edges, nodes, y
    )


def _share(bad: BoolArray, counted: BoolArray) -> float:
    total = int(counted.sum())
    return float(bad.sum() / total) if total else float("nan")
