"""Proofs made to deceive: numbers so large that sums overflow or rounding hides the claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from planaris.errors import VerificationError
from planaris.result import CutTree, GroundState, MeanField
from planaris.verify import check_certificate, check_result


def test_a_leaf_without_a_bound_proves_nothing() -> None:
    # Multipliers that overflow must not take a leaf, here the one of the minimum, out of sight.
    triangle = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, 1.0])
    forged = CutTree(
        offsets=np.array([0, 3]),
        edges=np.array([0, 1, 2]),
        odd=np.array([1, 0, 0]),
        branch_edge=np.array([0, -1, -1]),
        child=np.array([[1, 2], [-1, -1], [-1, -1]]),
        row_offsets=np.array([0, 0, 2, 3]),
        rows=np.array([0, 0, 0]),
        multipliers=np.array([1.7e308, 1.7e308, 2.0]),
    )
    spins = np.array([1, -1, 1], dtype=np.int8)
    worse = GroundState(spins, 1.0, 1.0, 1.0, True, "branch-and-cut", {}, forged)
    with np.errstate(all="ignore"), pytest.raises(VerificationError, match="is a number"):
        check_certificate(triangle, worse)


def test_rounding_of_huge_numbers_hides_no_claim() -> None:
    # A distribution with fields of 1e30 has errors of rounding that any lower end fits in.
    edges = [(u, v) for u in range(40) for v in range(u)]
    model = pl.IsingModel(edges, 0.01)
    honest = pl.log_partition(model, "pdc", time_limit=5.0)
    bounds = honest.certificate
    assert check_result(model, honest).proved
    forged = replace(bounds, lower=MeanField(np.zeros(0, dtype=int), np.full(40, 1e30)))
    claim = replace(honest, lower=honest.upper, value=honest.upper, certificate=forged)
    with pytest.raises(VerificationError, match="of the model's size"):
        check_result(model, claim)


def test_numbers_that_overflow_are_refused() -> None:
    edges = [(u, v) for u in range(40) for v in range(u)]
    model = pl.IsingModel(edges, 0.01)
    honest = pl.log_partition(model, "pdc", time_limit=5.0)
    upper = honest.certificate.upper
    huge = replace(upper, couplings=np.full(len(upper.couplings), 1e308))
    claim = replace(honest, certificate=replace(honest.certificate, upper=huge))
    with pytest.raises(VerificationError):
        check_result(model, claim)
