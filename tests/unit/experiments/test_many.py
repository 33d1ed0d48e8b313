"""Many models in one call: rows, failures, killed runs, a cluster that loses a worker."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import planaris as pl
from helpers.command import COMMAND, planaris
from helpers.processes import lines, started, wait_until
from planaris.errors import MethodError, MissingExtraError, ModelError, PlanarisError
from planaris.experiments import many
from planaris.experiments.parquet import write_parquet
from planaris.io import write_model


def glasses(count: int, size: int = 4) -> list[pl.IsingModel]:
    return [pl.generate.spin_glass(size, seed) for seed in range(count)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "models"
    place.mkdir()
    for k, glass in enumerate(glasses(4)):
        write_model(glass, place / f"{k}.edges")
    (place / "bad.uai").write_text("MARKOV\n2\n")
    (place / "notes.md").write_text("no model")
    return place


@pytest.mark.parametrize("verb", many.VERBS)
def test_rows_are_what_single_calls_say(verb):
    models = [*glasses(3), pl.MarkovRandomField([3], [((0,), [1.0, 2.0, 3.0])])]
    rows = pl.solve_many(models, verb, jobs=1)
    assert [row["name"] for row in rows] == [f"model {k}" for k in range(4)]
    for model, row in zip(models, rows, strict=True):
        single = getattr(pl, verb)(model, threads=1)
        wanted = {"ground_state": "energy", "log_partition": "value", "marginals": "error"}[verb]
        assert row["answer"] == getattr(single, wanted)
        assert row["exact"] is True
        assert row["error"] is None
    if verb == "ground_state":
        assert rows[0]["state"] == pl.ground_state(models[0]).assignment.tolist()


def test_failures_are_rows():
    dense = pl.IsingModel.from_matrix(np.triu(np.ones((30, 30)), 1))
    rows = pl.solve_many(
        [*glasses(1), dense, "no such file.uai"], "log_partition", "planar", jobs=1
    )
    assert [row["error"] is None for row in rows] == [True, False, False]
    assert "NotPlanarError" in rows[1]["error"]
    assert "FileNotFoundError" in rows[2]["error"]
    assert pl.solve_many([], jobs=1) == []
    with pytest.raises(MethodError, match="verb"):
        pl.solve_many([], "sample")
    with pytest.raises(ModelError, match="must hold models or paths"):
        pl.solve_many([7], jobs=1)


@pytest.mark.parametrize("verb", many.VERBS)
def test_parquet_holds_what_the_rows_say(verb, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    mrf = pl.MarkovRandomField([3], [((0,), [1.0, 2.0, 3.0])])
    models = [*glasses(2), mrf, "no such file.uai"]
    rows = pl.solve_many(models, verb, jobs=1, out=tmp_path, table="parquet")
    read = parquet.read_table(tmp_path / f"{verb}.parquet").to_pylist()
    assert not (tmp_path / f"{verb}.csv").exists()
    for row, found in zip(rows, read, strict=True):
        for name in ("name", "variables", "answer", "lower", "upper", "exact", "error"):
            assert found[name] == row[name]
        assert found["state"] == row.get("state")
    if verb == "marginals":
        up = np.array(rows[0]["nodes"])
        assert np.array_equal(np.array(read[0]["nodes"]), np.stack([1.0 - up, up], axis=1))
        assert read[2]["nodes"] == rows[2]["nodes"]
        assert read[3]["nodes"] is None


def test_parquet_keeps_infinite_ends_as_numbers(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet([{"name": "a", "lower": "-inf", "upper": 1.0}], tmp_path / "t.parquet")
    (row,) = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert (row["lower"], row["upper"], row["answer"]) == (-np.inf, 1.0, None)


def test_parquet_without_its_package_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(many, "solve_one", lambda _: pytest.fail("worked"))
    with pytest.raises(MissingExtraError, match="extra 'parquet' of planaris"):
        pl.solve_many(glasses(1), out=tmp_path, jobs=1, table="parquet")
    with pytest.raises(MethodError, match="`table` must be one of csv, parquet, got 'xlsx'"):
        pl.solve_many(glasses(1), out=tmp_path, jobs=1, table="xlsx")


def test_a_second_run_repeats_nothing(tmp_path, monkeypatch):
    models = glasses(5)
    first = pl.solve_many(iter(models[:3]), out=tmp_path, jobs=1)
    solved = []
    once = many.solve_one
    monkeypatch.setattr(many, "solve_one", lambda params: solved.append(params) or once(params))
    again = pl.solve_many(models, out=tmp_path, jobs=1)
    assert [params["name"] for params in solved] == ["model 3", "model 4"]
    assert again[:3] == first
    solved.clear()
    pl.solve_many([models[0], *models[2:], 2 * models[0]], out=tmp_path, jobs=1)
    assert len(solved) == 4  # another model under a name is another model
    table = list(csv.DictReader((tmp_path / "ground_state.csv").read_text().splitlines()))
    assert float(table[0]["answer"]) == first[0]["answer"]


def test_models_that_failed_are_tried_again(tmp_path, monkeypatch):
    once, short = many.log_partition, []

    def log_partition(model, *args, **options):
        if not short:
            short.append(model)
            raise MemoryError("for now")
        return once(model, *args, **options)

    monkeypatch.setattr(many, "log_partition", log_partition)
    models = glasses(3)
    rows = pl.solve_many(models, "log_partition", out=tmp_path, jobs=1)
    assert [row["error"] for row in rows] == ["MemoryError: for now", None, None]
    again = pl.solve_many(models, "log_partition", out=tmp_path, jobs=1)
    assert again[0]["answer"] == pl.log_partition(models[0], threads=1).value
    assert again[1:] == rows[1:]


def test_damaged_lines_are_solved_again(tmp_path):
    models = glasses(4)
    rows = pl.solve_many(models, "log_partition", out=tmp_path, jobs=1)
    stored = tmp_path / "log_partition.jsonl"
    whole = stored.read_bytes()
    answers = [row["answer"] for row in rows]
    digits = [repr(answer).encode() for answer in answers]
    damages = {
        "cut off": whole[:-40],
        "a digit": whole.replace(digits[1], digits[1][:-1] + bytes([digits[1][-1] ^ 1])),
        "zeros": whole[:100] + bytes(300) + whole[400:],
        "line ends": whole.replace(b"\n", b"\r\n"),
        "joined": whole.replace(b"\n", b"", 1),
        "nothing": b"",
    }
    for what, text in damages.items():
        assert text != whole
        stored.write_bytes(text)
        again = pl.solve_many(models, "log_partition", out=tmp_path, jobs=1)
        assert [row["answer"] for row in again] == answers, what


def test_a_killed_run_goes_on(tmp_path):
    """Killed once some models are on disk; what is there is neither lost nor done again."""
    models, out = tmp_path / "models", tmp_path / "out"
    models.mkdir()
    for k, glass in enumerate(glasses(40, size=30)):
        write_model(glass, models / f"{k:02}.edges")
    stored = out / "log_partition.jsonl"
    command = [*COMMAND, "pr", str(models), "--jobs", "1", "--out", str(out)]
    with started(command, stderr=-3, stdout=-3) as process:
        wait_until(lambda: len(lines(stored)) >= 3, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kept = lines(stored)
    planaris("pr", str(models), "--jobs", "1", "--out", str(out))
    after = lines(stored)
    assert after[: len(kept)] == kept
    trials = [json.loads(line)["trial"] for line in after]
    assert len({trial["key"] for trial in trials}) == len(trials) == 40


def test_commands_take_folders(folder, tmp_path):
    out, err = planaris("map", folder, "--jobs", "1", code=3)
    rows = list(csv.DictReader(out.splitlines()))
    assert [Path(row["name"]).name for row in rows] == [
        *(f"{k}.edges" for k in range(4)),
        "bad.uai",
    ]
    assert "5 models: 4 exact, 1 failed" in err
    _, err = planaris("pr", folder / "0.edges", folder / "1.edges", "--method", "bp", code=3)
    assert "2 models: 0 exact, 2 not exact, 0 failed" in err
    files = [folder / "1.edges", folder / "0.edges"]
    out, _ = planaris("pr", *files, "--jobs", "2")
    assert [row["name"] for row in csv.DictReader(out.splitlines())] == [str(f) for f in files]
    for option in (["--genus", "1"], ["--certificate", "r.json"], ["--prove"], ["--json"]):
        said = planaris("pr", *files, *option, code=1)[1]
        assert f"'{option[0]}' is for one file" in said
    (tmp_path / "empty").mkdir()
    assert "no model files" in planaris("mar", tmp_path / "empty", code=1)[1]


def test_folders_of_a_competition_give_their_models_alone(tmp_path):
    """Evidence, queries, solutions and texts lie beside the models, under names of their own."""
    model = pl.MarkovRandomField([2], [((0,), [1.0, 3.0])])
    for name in ("a.uai", "b.UAI", "c.uai.gz", "d.uai.LG"):
        write_model(model, tmp_path / name)
    for name in ("a.uai.evid", "a.uai.query", "a.uai.MAR", "a.uai.evid.gz", "a.uai.PR"):
        (tmp_path / name).write_text("1 0 1\n")
    (tmp_path / "README.uai.md").write_text("no model")
    (tmp_path / "e.uai").mkdir()
    out, err = planaris("pr", tmp_path, "--jobs", "1")
    names = [Path(row["name"]).name for row in csv.DictReader(out.splitlines())]
    assert names == ["a.uai", "b.UAI", "c.uai.gz", "d.uai.LG"]
    assert "4 models: 4 exact, 0 failed" in err
    assert "solved without evidence" in err
    assert "(2 files); give one model with '--evidence'" in err
    _, err = planaris("pr", tmp_path / "a.uai", tmp_path / "b.UAI", "--jobs", "1")
    assert "evidence" not in err


def wait_for_file(params):
    """Say which process works here, and go on once there is a file."""
    gate = Path(params["gate"])
    with (gate / "workers").open("a") as file:
        file.write(f"{os.getpid()}\n")
    wait_until((gate / "go").exists)
    return {"name": params["name"]}


@pytest.mark.filterwarnings("default")  # a slow machine makes Dask warn
def test_a_cluster_survives_a_lost_worker_and_solves_models(tmp_path):
    from distributed import LocalCluster

    from planaris.experiments.runner import run_all

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",  # a port that the system chooses
        memory_limit=0,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as cluster:
        taken: list[int] = []

        def pending():
            for k in range(30):
                taken.append(k)
                yield {"name": f"model {k}", "gate": str(tmp_path)}

        work = run_all(wait_for_file, pending(), scheduler=cluster.scheduler_address)
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(list, work)

            seen = tmp_path / "workers"
            wait_until(lambda: len(set(lines(seen))) >= 2 or ended.done())
            assert not ended.done(), ended.result()
            assert len(taken) <= 8  # four for each worker, not all thirty
            # Dask may start another, but on a busy machine it sometimes gives that up.
            os.kill(int(lines(seen)[0]), signal.SIGKILL)
            (tmp_path / "go").touch()
            found = ended.result()
        rows = pl.solve_many(glasses(12), "log_partition", cluster=cluster.scheduler_address)
    assert sorted(index for index, _, _ in found) == list(range(30))
    assert all(error == "" for _, _, error in found)
    alone = pl.solve_many(glasses(12), "log_partition", jobs=1)
    assert [row["answer"] for row in rows] == [row["answer"] for row in alone]


def test_infinite_answers_are_numbers(tmp_path: Path) -> None:
    never = pl.MarkovRandomField([2], [((0,), [0.0, 0.0])])
    for _ in range(2):  # computed, then read
        (row,) = pl.solve_many([never], "log_partition", jobs=1, out=tmp_path)
        assert (row["answer"], row["upper"], row["error"]) == (-np.inf, -np.inf, None)


@pytest.mark.parametrize("models", [None, 3, pl.IsingModel([(0, 1)], [1.0])])
def test_what_is_no_list_of_models_is_refused(models) -> None:
    with pytest.raises(ModelError, match="list of models"):
        pl.solve_many(models, jobs=1)


def test_a_file_that_changes_while_it_waits_is_not_kept(tmp_path: Path, monkeypatch) -> None:
    """Its row would be found again as that of the file it was before."""
    path, out = tmp_path / "a.edges", tmp_path / "out"
    before, after = glasses(2)
    write_model(before, path)
    text, digest = path.read_bytes(), many._digest

    def changed_behind(given):
        found = digest(given)
        write_model(after, path)
        return found

    monkeypatch.setattr(many, "_digest", changed_behind)
    (row,) = pl.solve_many([path], out=out, jobs=1)
    assert "changed while it waited" in row["error"]
    monkeypatch.undo()
    path.write_bytes(text)
    (row,) = pl.solve_many([path], out=out, jobs=1)
    assert row["answer"] == pl.ground_state(before).energy


def test_a_model_given_twice_is_solved_once(tmp_path: Path) -> None:
    write_model(glasses(1)[0], tmp_path / "a.edges")
    files = [tmp_path / "a.edges", tmp_path / "none.edges", str(tmp_path / "a.edges")]
    rows = pl.solve_many(iter(files), out=tmp_path / "out", jobs=1)
    assert [row["error"] is None for row in rows] == [True, False, True]
    assert rows[0] == rows[2]
    assert len(lines(tmp_path / "out" / "ground_state.jsonl")) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("table", many.TABLES)
def test_names_that_are_no_text_are_written_as_text(tmp_path: Path, table: str) -> None:
    write_model(glasses(1)[0], tmp_path / "a.edges")
    (tmp_path / "a.edges").rename(tmp_path / os.fsdecode(b"\xff, b.edges"))
    (row,) = pl.solve_many(tmp_path, out=tmp_path / "out", jobs=1, table=table)
    assert row["name"].endswith("/\\xff, b.edges")
    assert row["exact"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_not_kept(tmp_path: Path) -> None:
    """Their names say nothing about what they hold."""
    pipe = tmp_path / "pipe.edges"
    os.mkfifo(pipe)
    for model in glasses(2):
        write_model(model, tmp_path / "a.edges")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(pipe.write_bytes, (tmp_path / "a.edges").read_bytes())
            (row,) = pl.solve_many([pipe], out=tmp_path / "out", jobs=1)
        assert row["answer"] == pl.ground_state(model).energy
    with pytest.raises(ModelError, match="standard input is one model"):
        pl.solve_many(["-"], jobs=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "best"}, "`method` must be one of"),
        ({"time_limit": -1}, "`time_limit` must be"),
        ({"format": "zip"}, "`format` must be one of"),
        ({"jobs": 0}, "`jobs` must be a number of processes"),
        ({"jobs": "two"}, "`jobs` must be a number of processes"),
        ({"cluster": 8786}, "`cluster` must be an address"),
        ({"out": __file__}, "`out` must be a folder"),
    ],
)
def test_options_that_no_model_can_be_solved_with_are_refused_at_once(options, said) -> None:
    with pytest.raises(PlanarisError, match=said):
        pl.solve_many(glasses(2), **{"jobs": 1, **options})
