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
