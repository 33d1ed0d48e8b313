"""Result files that version 0.1 wrote: read, and checked against the models they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planaris as pl
from planaris.result import load_result
from planaris.verify import check_result

FOLDER = Path(__file__).with_name("version1")
MODELS = json.loads(Path(__file__).with_name("version1_models.json").read_text())
FILES = sorted(FOLDER.glob("*.json"))


def model(name: str) -> Any:
    stored = MODELS[name]
    if "edges" in stored:
        return pl.IsingModel(stored["edges"], stored["couplings"], stored["fields"])
    factors = [(tuple(scope), np.array(table)) for scope, table in stored["log_factors"]]
    return pl.MarkovRandomField(stored["cardinalities"], factors, log=True)


def test_files_are_of_the_old_version() -> None:
    assert len(FILES) == len(MODELS) == 8
    assert all(json.loads(file.read_text())["version"] == 1 for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_old_results_are_read_and_hold(file: Path) -> None:
    result = load_result(file)
    assert result.exact
    assert check_result(model(file.stem), result).proved


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_old_results_do_not_hold_of_another_model(file: Path) -> None:
    other = "fields" if file.stem.startswith("planar") else "planar"
    with pytest.raises(pl.PlanarisError):
        check_result(model(f"{other}-ground-state"), load_result(file))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_old_results_are_written_anew(file: Path, tmp_path: Path) -> None:
    result = load_result(file)
    result.save(tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text())["version"] == 2
    again = load_result(tmp_path / "new.json")
    assert type(again) is type(result)
    assert check_result(model(file.stem), again).proved
