"""Kernels without vector instructions, forced by the environment, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

PROGRAM = """
import json
import numpy as np
import planaris as pl
from planaris import _core

rng = np.random.default_rng(4)
plane, strip = (pl.generate.spin_glass(size, rng) for size in (24, 12))
biased = pl.IsingModel(strip.edges, strip.couplings, rng.normal(size=strip.num_spins))
found = {"plain": _core.plain_kernels()}
for method, model in (("planar", plane), ("treewidth", biased)):
    found[method] = pl.log_partition(model, method=method).value
    found[method + " marginals"] = pl.marginals(model, method=method).edges.tolist()

pairs = [((u, v), np.exp(rng.normal(size=(3, 3)))) for u, v in strip.edges[:90].tolist()]
labels = pl.MarkovRandomField([3] * strip.num_spins, pairs)
pulled = pl.IsingModel(strip.edges, abs(strip.couplings), biased.fields)
same = {}
for name, model in (("spins", biased), ("labels", labels)):
    for method in ("treewidth", "tensor-network", "trw", "mean-field"):
        same[f"log Z, {method}, {name}"] = [pl.log_partition(model, method=method).value]
        nodes = pl.marginals(model, method=method).nodes
        same[f"marginals, {method}, {name}"] = np.concatenate([np.ravel(p) for p in nodes])
    for method in ("treewidth", "tensor-network"):
        same[f"samples, {method}, {name}"] = pl.sample(model, 3, 7, method=method)
    for method in ("treewidth", "mplp"):
        best = pl.ground_state(model, method=method)
        same[f"energy, {method}, {name}"] = [best.energy, best.lower]
same["log Z, bp"] = [pl.log_partition(biased, method="bp").value]
same["energy, planar"] = [pl.ground_state(plane, method="planar").energy]
same["samples, coupling from the past"] = pl.sample(pulled, 3, 7, method="coupling-from-the-past")
found["same"] = {
    name: np.asarray(some, dtype=np.float64).tobytes().hex() for name, some in same.items()
}
print(json.dumps(found))
"""


def run(value: str) -> dict[str, Any]:
    environment = {**os.environ, "PLANARIS_PLAIN_KERNELS": value}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_plain_kernels_agree_with_those_of_this_processor():
    usual, plain = run("0"), run("1")
    assert not usual["plain"]
    assert plain["plain"]
    for method in ("planar", "treewidth"):
        assert plain[method] == pytest.approx(usual[method], rel=1e-13)
        a, b = (np.array(found[method + " marginals"]) for found in (usual, plain))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)
    different = [name for name, bits in usual["same"].items() if plain["same"][name] != bits]
    assert different == [], "docs/stability.md says that these are the same bits"
