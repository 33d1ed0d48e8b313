"""Results saved by one command are checked by another."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import planaris as pl
from planaris.cli.main import make_app
from planaris.errors import MethodError
from planaris.io import write_model

RUN = CliRunner()
APP = make_app()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    write_model(pl.generate.spin_glass(6, rng), tmp_path / "glass.edges")
    edges = [(u, v) for u in range(8) for v in range(u)]
    model = pl.IsingModel(edges, rng.normal(size=len(edges)), rng.normal(size=8))
    write_model(model, tmp_path / "dense.coo")
    write_model(model, tmp_path / "dense.uai")
    return tmp_path


@pytest.mark.parametrize("model", ["glass.edges", "dense.coo", "dense.uai"])
@pytest.mark.parametrize("verb", ["map", "pr", "mar", "info"])
def test_what_was_saved_passes(folder: Path, model: str, verb: str) -> None:
    file, proof = str(folder / model), str(folder / "r.json")
    assert RUN.invoke(APP, [verb, file, "--certificate", proof]).exit_code == 0
    found = RUN.invoke(APP, ["verify", file, proof, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["proved"] is True


@pytest.mark.parametrize(
    ("text", "why"),
    [("MARKOV 1 3 1 1 0 3 1 2 3", "two labels"), ("MARKOV 1 2 1 1 0 2 0 1", "zero")],
)
def test_planarity_is_proved_of_ising_models_only(folder: Path, text: str, why: str) -> None:
    (folder / "other.uai").write_text(text)
    file, proof = str(folder / "other.uai"), folder / "r.json"
    found = RUN.invoke(APP, ["info", file, "--certificate", str(proof)])
    assert isinstance(found.exception, MethodError)
    assert "`--certificate` proves" in str(found.exception)
    assert why in str(found.exception)
    assert not proof.exists()
    assert RUN.invoke(APP, ["info", file]).exit_code == 0


@pytest.mark.parametrize("method", ["branch-and-cut", "cycle-lp", "local-lp", "mplp"])
@pytest.mark.parametrize("model", ["dense.coo", "dense.uai"])
def test_relaxations_leave_proofs(folder: Path, model: str, method: str) -> None:
    file, proof = str(folder / model), str(folder / "r.json")
    assert RUN.invoke(APP, ["map", file, "--method", method, "--certificate", proof]).exit_code in (
        0,
        3,
    )
    found = RUN.invoke(APP, ["verify", file, proof, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["findings"][1]["status"] == "proved"


def test_a_result_of_another_model_is_refused(folder: Path) -> None:
    proof = str(folder / "r.json")
    assert RUN.invoke(APP, ["pr", str(folder / "dense.coo"), "--certificate", proof]).exit_code == 0
    found = RUN.invoke(APP, ["verify", str(folder / "glass.edges"), proof])
    assert isinstance(found.exception, ValueError)
