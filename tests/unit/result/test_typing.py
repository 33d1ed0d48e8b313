"""What type checkers infer for code that uses the package: ``mypy --strict`` reads this file."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np

import planaris as pl
from planaris.result import (
    GroundState,
    LogPartition,
    Marginals,
    Proof,
    ProvedInterval,
    Pseudomarginals,
    load_result,
)
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray


def test_types_of_a_ground_state(tmp_path: Path) -> None:
    model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])
    found = pl.ground_state(model)
    assert_type(found, GroundState)
    assert_type(found.spins, Int8Array)
    assert_type(found.assignment, IntArray)
    assert_type(found.certain, BoolArray | None)
    assert_type(found.exact, bool)
    proof = found.certificate
    assert_type(proof, Proof | None)
    assert proof is not None
    proof.save(tmp_path / "proof.json")
    again = Proof.load(tmp_path / "proof.json")
    assert_type(again, Proof)
    assert_type(again.size, int)
    proved = again.check(model)
    assert_type(proved, ProvedInterval)
    assert_type(proved.lower, float)
    assert proved.lower == found.energy
    found.save(tmp_path / "result.json")
    saved = load_result(tmp_path / "result.json")
    assert_type(saved, GroundState | LogPartition | Marginals | Proof)


def test_types_of_sums() -> None:
    mrf = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [5.0, 4.0]])])
    z = pl.log_partition(mrf)
    assert_type(z, LogPartition)
    assert_type(z.value, float)
    assert_type(z.proved, bool)
    assert_type(z.pseudomarginals, Pseudomarginals | None)
    marginals = pl.marginals(mrf)
    assert_type(marginals, Marginals[list[FloatArray]])
    assert_type(marginals.nodes, list[FloatArray])
    assert_type(marginals.nodes_lower, list[FloatArray] | None)
    assert_type(marginals.log_partition, LogPartition | None)
    assert np.isclose(z.value, np.log(12.0))


def test_types_of_marginals() -> None:
    ising = pl.IsingModel([(0, 1)], [0.5], fields=[1.0, 0.0])
    found = pl.marginals(ising)
    assert_type(found, Marginals[FloatArray])
    assert_type(found.edges_lower, FloatArray | None)
    assert found.nodes.round(4).tolist() == [0.8808, 0.676]
    either: pl.IsingModel | pl.MarkovRandomField = (
        ising if found.exact else pl.MarkovRandomField.from_ising(ising)
    )
    assert len(pl.marginals(either).nodes) == 2
    saved: Marginals = found
    assert_type(saved.nodes, FloatArray | list[FloatArray])
