"""Stored values of glasses.json against routes that did not make them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from planaris import IsingModel
from planaris.embed.handles import embedding_with_handles
from planaris.reference import ball, dense, solve_strip

HERE = Path(__file__).parent
GLASSES = json.loads((HERE / "glasses.json").read_text())["glasses"]


def maker():
    spec = importlib.util.spec_from_file_location("make_glasses", HERE / "make_glasses.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(entry: dict, beta: int) -> float:
    return float(entry["log_partition"][str(beta)].strip("[]").split(" +/- ")[0])


def named(entry: dict) -> str:
    return f"{entry['kind']}-{entry['size']}-{entry['seed']}"


SMALL = [entry for entry in GLASSES if entry["size"] == 10]


def test_everything_promised_is_there():
    sizes = {(e["size"], e["kind"]): set(e["log_partition"]) for e in GLASSES}
    for kind in ("gaussian", "bimodal"):
        assert sizes[10, kind] == {"1", "3", "10", "20", "50", "100", "300", "1000"}
        assert sizes[16, kind] == {"1", "3", "10", "20", "50", "100"}


@pytest.mark.parametrize("entry", SMALL, ids=named)
def test_transfer_matrix_in_floating_point(entry):
    make = maker()
    couplings = make.glass_couplings(10, entry["kind"], entry["seed"])
    for beta in (1, 20, 1000):
        strip = solve_strip(*make.as_image(10, beta * couplings))
        assert strip.log_partition == pytest.approx(stored(entry, beta), rel=1e-14)
    assert strip.energy / 1000 == pytest.approx(entry["energy"], rel=1e-14)
    if entry["kind"] == "bimodal":
        entropy = stored(entry, 1000) + 1000 * entry["energy"]
        assert entropy == pytest.approx(np.log(entry["num_ground_states"]), abs=1e-10)


@pytest.mark.parametrize("entry", [e for e in SMALL if e["seed"] == 0], ids=named)
def test_determinant(entry):
    make = maker()
    couplings = make.glass_couplings(10, entry["kind"], entry["seed"])
    grid = IsingModel.from_image(*make.as_image(10, couplings))
    embedding = embedding_with_handles(grid.edges, grid.positions)
    enclosed = ball.log_partition(embedding, 3 * couplings, digits=16, bits=512)
    assert enclosed.lower <= stored(entry, 3) <= enclosed.upper
    plain = dense.log_partition(embedding, couplings)
    assert plain.lower <= stored(entry, 1) <= plain.upper
    assert plain.value == pytest.approx(stored(entry, 1), rel=1e-10)
