"""Bounds on log Z of a model with new spins in the middle of some edges."""

from __future__ import annotations

import math

import numpy as np

from planaris.models import IsingModel
from planaris.result import ConditionalPieces, HolderPieces, SplitEdges
from planaris.verify.proof_arrays import real_row, require, whole_row
from planaris.verify.proofs.log_partition.shared_spins import conditional_bound, holder_bound
from planaris.verify.recompute.elimination import Recomputed

_UNIT = 2.0**-53

LARGEST = 1e100
"""Couplings of larger size are not followed."""


def split_lower_bound(model: IsingModel, proof: SplitEdges) -> Recomputed | None:
    """Return the bound from below on log Z of the model after all splits, less what they miss."""
    require(isinstance(proof.proof, ConditionalPieces), "there are pieces")
    assert isinstance(proof.proof, ConditionalPieces), "checked"
    after, miss, slack = _split(model, proof)
    return _moved(conditional_bound(after, proof.proof), -miss, slack)


def split_upper_bound(model: IsingModel, proof: SplitEdges) -> Recomputed | None:
    """Return the bound from above on log Z of the model after all splits, and what they miss."""
    require(isinstance(proof.proof, HolderPieces), "there are pieces")
    assert isinstance(proof.proof, HolderPieces), "checked"
    after, miss, slack = _split(model, proof)
    return _moved(holder_bound(after, proof.proof), miss, slack)


def _moved(found: Recomputed | None, by: float, slack: float) -> Recomputed | None:
    if found is None:
        return None
    value = found.value + by
    return Recomputed(value, found.slack + slack + 4 * _UNIT * abs(value))


def _split(model: IsingModel, proof: SplitEdges) -> tuple[IsingModel, float, float]:
    """Return the model after all splits, how far log Z may be off, and the rounding of that.

    Two ends s and s' with a spin between them have the weight 2 cosh(a s + b s'), which is
    exp(c + j s s') with 2c = log 2 cosh(a + b) + log 2 cosh(a - b), and 2j their difference.
    """
    picked = whole_row(proof.edges, "edges")
    first, second = real_row(proof.first, "first"), real_row(proof.second, "second")
    require(picked.shape == first.shape == second.shape, "every split has two couplings")
    inside = np.all(np.abs(first) <= LARGEST) and np.all(np.abs(second) <= LARGEST)
    require(bool(inside), "couplings are numbers")
    ends, couplings = model.edges.tolist(), model.couplings.tolist()
    constants, away, sizes = [model.offset], [0.0], [abs(model.offset)]
    numbers = zip(picked.tolist(), first.tolist(), second.tolist(), strict=True)
    for spin, (edge, a, b) in enumerate(numbers, model.num_spins):
        require(0 <= edge < len(ends), "edges are those of the model or come of a split")
        both, apart = _log_two_cosh(a + b), _log_two_cosh(a - b)
        constants.append(-(both + apart) / 2)
        away.append(abs(couplings[edge] - (both - apart) / 2))
        sizes.append(abs(a) + abs(b) + abs(couplings[edge]) + 2)
        ends.append([ends[edge][1], spin])
        couplings.append(b)
        ends[edge], couplings[edge] = [ends[edge][0], spin], a
    after = IsingModel(
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        np.array(couplings, dtype=np.float64),
        np.concatenate([model.fields, np.zeros(len(picked))]),
        offset=math.fsum(constants),
    )
    return after, math.fsum(away), 16 * _UNIT * math.fsum(sizes)


def _log_two_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x)))
