from __future__ import annotations

import numpy as np

from planaris.experiments.figure import Result, Settings
from planaris.experiments.figures.side_chains import FIGURE
from planaris.experiments.store import plain
from planaris.generate import side_chain_model
from planaris.io import write_uai


def test_takes_the_files_of_the_user(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("pdb1abc.uai", "deep/pdb2xyz.uai.gz"):
        write_uai(side_chain_model(8, np.random.default_rng(len(name))), tmp_path / name)
    (tmp_path / "readme.txt").write_text("not a model")
    trials = FIGURE.trials(Settings(data=tmp_path))
    assert sorted(params["file"] for params in trials) == ["pdb1abc.uai", "pdb2xyz.uai.gz"]
    results = [Result(params, plain(FIGURE.run(params))) for params in trials]
    for result in results:
        assert result.record["variables"] == 8
        assert result.record["k"]["upper"] >= result.record["full"]["lower"] - 1e-9
    panels = FIGURE.plot(results)
    assert {row[0] for row in panels.tables[0].rows} == {"1abc", "2xyz"}
    assert panels.notes == ["2 files given with --data."]


def test_generated_models_when_the_folder_has_none(tmp_path):
    assert FIGURE.trials(Settings(data=tmp_path)) == FIGURE.trials(Settings())


def test_verdicts_follow_the_data():
    def record(local, k, full, lower=1.0):
        answer = {"lower": 1.0, "upper": 1.0, "iterations": 2}
        return {
            "variables": 9,
            "labels": 3,
            "local": {"exact": local, "lower": 0.5},
            "k": answer | {"exact": k},
            "full": answer | {"exact": full, "lower": lower},
            "seconds": {"local": 0.1, "k": 0.2, "full": 0.3},
        }

    def holds(*records):
        files = [{"file": f"{k}.uai"} for k in range(len(records))]
        results = [Result(*pair) for pair in zip(files, records, strict=True)]
        return [verdict.holds for verdict in FIGURE.plot(results).verdicts]

    easy, hard = record(True, True, True), record(False, True, True)
    assert holds(easy, easy, hard) == [True, True, None, True]
    assert holds(easy, hard, hard)[0] is False
    assert holds(easy, easy, record(False, False, True))[1:3] == [True, True]
    assert holds(hard, record(False, False, False), record(False, False, False))[1] is False
    assert holds(record(False, True, True, lower=0.9))[2] is False
    assert holds(easy) == [None]
