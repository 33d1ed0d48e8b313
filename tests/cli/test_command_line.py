"""The command line as its users meet it: a process, files, exit codes."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import planaris as pl
from helpers.command import COMMAND, planaris
from planaris.cli import demo_page
from planaris.io import read_map, read_mar, read_pr, write_model, write_uai

TRIANGLE = "3 3\n1 2 1\n2 3 1\n1 3 1\n"
CHAIN = "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n2\n 1 3\n4\n 1 2 5 1\n"  # weights 1 2 15 3


@pytest.fixture
def maxcut_file(tmp_path: Path) -> str:
    path = tmp_path / "triangle.mc"
    path.write_text(TRIANGLE)
    return str(path)


@pytest.fixture
def uai_file(tmp_path: Path) -> str:
    path = tmp_path / "chain.uai"
    path.write_text(CHAIN)
    return str(path)


def test_map_of_a_max_cut_file(maxcut_file):
    out, _ = planaris("map", maxcut_file, "--json")
    found = json.loads(out)
    assert found["exact"]
    assert found["energy"] == -2.0  # a triangle has a cut of two edges


def test_map_of_a_max_cut_file_says_the_weight_of_the_cut(maxcut_file):
    assert "cut 2.0, energy -2.0 (exact" in planaris("map", maxcut_file)[1]
    assert json.loads(planaris("map", maxcut_file, "--json")[0])["cut"] == 2.0
    assert "cut" not in planaris("map", "-", stdin="0 1 2.5\n")[1]


def test_a_self_loop_is_reported_with_the_number_of_the_file():
    _, err = planaris("map", "-", "--format", "maxcut", stdin="2 1\n1 1 5\n", code=1)
    assert "got 1 twice" in err
    assert "--format bq" in err


def test_messages_name_options(maxcut_file):
    _, err = planaris("pr", maxcut_file, "--method", "nothing", code=1)
    assert err.startswith("planaris: '--method' must be one of")
    assert "'--time-limit' must be" in planaris("pr", maxcut_file, "--time-limit", "0", code=1)[1]


REFUSED = {
    "planar": ("map", "--method", "planar"),
    "fields": ("pr", "--method", "planar"),
    "cut": ("map", "--method", "graph-cut"),
    "memory": ("pr", "--method", "treewidth"),
    "states": ("mar", "--method", "brute-force"),
    "chains": ("sample", "--method", "coupling-from-the-past"),
    "surface": ("map", "--genus", "0"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refusals_name_nothing_of_python(why, tmp_path):
    torus = pl.generate.spin_glass(pl.generate.torus(40 if why == "memory" else 6), 1)
    fields = np.ones(torus.num_spins) if why == "fields" else None
    file = tmp_path / "torus.coo"
    pl.io.write_model(torus.with_couplings(torus.couplings, fields), file)
    command, *options = REFUSED[why]
    _, err = planaris(command, file, *options, code=1)
    assert re.match(r"planaris: [^\n]+\n$", err)
    assert not re.search(r"`|_|\(model|err\.", err), err


def test_a_torus_is_exact_on_the_command_line(tmp_path):
    path = str(tmp_path / "torus.edges")
    write_model(pl.generate.spin_glass(pl.generate.torus(20), 1), path)
    facts = json.loads(planaris("info", path, "--json")[0])
    assert facts["genus_at_most"] == 1
    assert "4^1 Pfaffians" in facts["exact_methods"]
    assert json.loads(planaris("pr", path, "--json")[0])["exact"]


def test_genus_looks_for_a_surface(tmp_path):
    path = tmp_path / "k5.edges"
    path.write_text("".join(f"{u} {v} 0.5\n" for u in range(5) for v in range(u)))
    assert "genus_at_most" not in json.loads(planaris("info", path, "--json")[0])
    assert json.loads(planaris("info", path, "--json", "--genus", "1")[0])["genus_at_most"] == 1
    by_surface = json.loads(planaris("pr", path, "--json", "--genus", "1")[0])
    assert by_surface["method"] == "planar"
    by_tables = json.loads(planaris("pr", path, "--json")[0])["log_partition"]
    assert by_surface["log_partition"] == pytest.approx(by_tables)
    assert "no embedding of genus 0" in planaris("pr", path, "--genus", "0", code=1)[1]


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "planaris", "--version"], capture_output=True)
    assert done.stdout.startswith(b"planaris ")


def test_version_and_help_load_no_numbers():
    for words in (["--version"], ["--help"], ["segment", "--help"], ["bench", "--help"]):
        code = f"""
import sys
from planaris.cli.main import run
sys.argv[1:] = {words!r}
try:
    run()
except SystemExit:
    pass
print("numpy" in sys.modules, "typer" in sys.modules)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        loaded = done.stdout.split()[-2:]
        assert loaded == ["False", str(words != ["--version"])], (words, done.stderr)


def test_shells_complete_commands_and_methods():
    def complete(line: str) -> list[str]:
        asked = {"_PLANARIS_COMPLETE": "complete_bash", "COMP_WORDS": line}
        place = {"COMP_CWORD": str(len(line.split(" ")) - 1)}
        done = subprocess.run(
            [*COMMAND], capture_output=True, text=True, env={**os.environ, **asked, **place}
        )
        return done.stdout.split()

    assert "mar" in complete("planaris ma")
    assert "treewidth" in complete("planaris pr --method t")


def test_map_of_an_edge_list_from_stdin():
    out, err = planaris("map", "-", "--format", "edge-list", stdin="# u v J\n0 1 -2.5\n1 2 1\n")
    labels = out.split()[2:]
    assert labels[0] != labels[1] == labels[2]
    assert "energy -3.5 (exact, planar)" in err


def test_map_pr_mar_of_a_uai_file(uai_file, tmp_path):
    planaris("map", uai_file, "--out", str(tmp_path / "o.MAP"))
    assert read_map(tmp_path / "o.MAP").tolist() == [1, 0]
    planaris("pr", uai_file, "--out", str(tmp_path / "o.PR"))
    assert read_pr(tmp_path / "o.PR") == pytest.approx(math.log(21), rel=1e-12)
    planaris("mar", uai_file, "--out", str(tmp_path / "o.MAR"))
    np.testing.assert_allclose(read_mar(tmp_path / "o.MAR"), [[3 / 21, 18 / 21], [16 / 21, 5 / 21]])


def test_evidence(uai_file, tmp_path):
    evidence = tmp_path / "chain.evid"
    evidence.write_text("1 0 0")
    out, _ = planaris("pr", uai_file, "--evidence", str(evidence), "--json")
    assert json.loads(out)["log_partition"] == pytest.approx(math.log(3))
    out, _ = planaris("mar", uai_file, "--evidence", str(evidence), "--json")
    np.testing.assert_allclose(json.loads(out)["nodes"], [[1, 0], [1 / 3, 2 / 3]])
    assert "names" not in json.loads(out)  # the file has none
    ends = [json.loads(out)[f"log_partition{end}"] for end in ("_lower", "", "_upper")]
    assert ends == sorted(ends) == pytest.approx([math.log(3)] * 3)
    assert "log_partition" not in json.loads(out)["stats"]  # as text for people
    out, _ = planaris("sample", uai_file, "--evidence", str(evidence), "-n", "5", "--seed", "1")
    assert [line.split()[0] for line in out.splitlines()] == ["0"] * 5


@pytest.mark.parametrize("command", ["map", "mar", "sample"])
def test_names_stand_for_all_variables_under_evidence(uai_file, tmp_path, command):
    Path(uai_file + ".names.json").write_text('{"variables": ["ann", "bob"]}')
    (tmp_path / "chain.evid").write_text("1 0 0")
    out, _ = planaris(command, uai_file, "--evidence", str(tmp_path / "chain.evid"), "--json")
    assert json.loads(out)["names"] == ["ann", "bob"]


def test_samples_are_reproducible(maxcut_file):
    first, _ = planaris("sample", maxcut_file, "--count", "3", "--seed", "7")
    again, _ = planaris("sample", maxcut_file, "--count", "3", "--seed", "7", "--time-limit", "60")
    assert first == again
    assert len(first.splitlines()) == 3


def test_info(maxcut_file, uai_file):
    out, _ = planaris("info", maxcut_file, "--json")
    facts = json.loads(out)
    assert (facts["spins"], facts["planar_with_fields"], facts["frustrated"]) == (3, True, True)
    assert facts["exact_methods"] == ["treewidth", "planar"]
    out, _ = planaris("info", uai_file)
    assert "MarkovRandomField" in out


def test_only_bounded_has_its_own_exit_code(tmp_path, ticking):
    rng = np.random.default_rng(0)
    edges = [(u, v) for u in range(40) for v in range(u)]
    factors = [(edge, np.exp(rng.standard_normal((2, 2)))) for edge in edges]
    path = tmp_path / "dense.uai"
    write_uai(pl.MarkovRandomField([2] * 40, factors), path)
    out, _ = planaris("pr", str(path), "--time-limit", "1", "--json", code=3)
    found = json.loads(out)
    assert not found["exact"]
    assert found["lower"] < found["upper"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("MARKOV\n1\n2\n1\n1 5\n2\n1 1\n", "line 5"), ("MARKOV\n1\n", "line")],
)
def test_errors_are_one_line(tmp_path, text, said):
    path = tmp_path / "broken.uai"
    path.write_text(text)
    out, err = planaris("map", str(path), code=1)
    assert out == ""
    assert err.startswith("planaris: ")
    assert len(err.splitlines()) == 1
    assert said in err


def test_a_missing_file_is_one_line():
    _, err = planaris("map", "no-such-file.uai", code=1)
    assert len(err.splitlines()) == 1
    assert "no-such-file.uai" in err


def test_files_in_the_wrong_place_are_named(uai_file, tmp_path):
    evidence, proof = tmp_path / "chain.uai.evid", tmp_path / "proof.json"
    evidence.write_text("1 0 1\n")  # an edge list, were it not for the name
    for files in ((uai_file, evidence), (evidence,)):
        assert f"'--evidence {evidence}'" in planaris("pr", *files, code=1)[1]
    with pytest.raises(pl.errors.FileFormatError, match="read_evidence"):
        pl.io.read_model(evidence)
    planaris("map", uai_file, "--certificate", proof)
    said = planaris("verify", proof, uai_file, code=1)[1]
    assert f"planaris verify {uai_file} {proof}" in said
    assert "a JSON object" in planaris("info", proof, code=1)[1]
    said = planaris("map", uai_file, uai_file, "--out", tmp_path / "table.csv", code=1)[1]
    assert "'--out' must be a folder" in said
    assert not (tmp_path / "table.csv").exists()
    assert (
        "positive number of seconds, got -1.0"
        in planaris("map", uai_file, "--time-limit", "-1", code=1)[1]
    )


def test_usage_errors_exit_with_two():
    planaris("map", code=2)


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_demo_leaves_a_picture(full, tmp_path, monkeypatch):
    """Full size is for `make demo`: a million spins."""
    if not full:
        monkeypatch.setattr(demo_page, "GLASSES", ((30, "bimodal"), (60, "gaussian")))
        monkeypatch.setattr(demo_page, "FERROMAGNET", 40)
        monkeypatch.setattr(demo_page, "FIGURES", ("ring-cost",))
    out, _ = planaris("demo", "--out", str(tmp_path / "demo"))
    assert (tmp_path / "demo" / "planaris.png").stat().st_size > 10_000
    assert "planaris.png" in out
    page = (tmp_path / "demo" / "index.html").read_text()
    assert page.count("proved ±") == 2  # log Z, warm and cold
    assert page.count("dual bound checked") == 2
    assert "Incomplete" not in page


def test_json_goes_to_the_file_that_is_named(uai_file, tmp_path):
    target = tmp_path / "answer.json"
    out, _ = planaris("map", uai_file, "--json", "--out", target)
    assert out == ""
    assert json.loads(target.read_text())["exact"]


def test_version_and_files_that_are_not_there(uai_file, tmp_path):
    assert planaris("--version")[0].startswith("planaris 0.")
    _, err = planaris("map", tmp_path / "no.uai", code=1)
    assert err == f"planaris: {tmp_path / 'no.uai'}: No such file or directory\n"
    _, err = planaris("map", uai_file, "--certificate", tmp_path / "no" / "proof.json", code=1)
    assert err == f"planaris: {tmp_path / 'no' / 'proof.json'}: No such file or directory\n"


def test_an_unknown_method_is_named_before_the_model_is_converted(tmp_path):
    file = tmp_path / "three-labels.uai"
    file.write_text("MARKOV\n1\n3\n1\n1 0\n3\n 1 2 3\n")
    assert "got 'foo'" in planaris("map", file, "--method", "foo", code=1)[1]
    assert "not asked here" in planaris("pr", file, "--method", "graph-cut", code=1)[1]


@pytest.mark.parametrize(
    ("command", "verb"),
    [
        ("map", pl.ground_state),
        ("pr", pl.log_partition),
        ("mar", pl.marginals),
        ("sample", lambda model, method: pl.sample(model, 1, 0, method)),
    ],
)
def test_the_help_names_every_method_that_may_be_forced(command, verb):
    from planaris.cli.options import VERB_OF
    from planaris.methods import method_names

    with pytest.raises(pl.errors.MethodError) as refusal:
        verb(pl.IsingModel([(0, 1)], 1.0), "no such method")
    known = set(re.findall(r"'([^']+)'", str(refusal.value))) - {"no such method", "auto"}
    assert set(method_names(VERB_OF[command])) - {"auto"} == known
    out, _ = planaris(command, "--help")
    for name in known:
        assert name in out


def test_the_help_says_nothing_of_types_after_flags_and_fills_its_lines():
    out, _ = planaris("map", "--help")
    assert "--json" in out
    assert "bool" not in out
    assert "a label each (label 1 is spin +1)" in out
    assert "edge-list" in out


def test_an_edge_list_of_names_needs_no_format():
    text = "zoe bob 3\nbob cyd -1\n"
    out, _ = planaris("map", "-", "--json", stdin=text)
    found = json.loads(out)
    assert found["energy"] == -4.0
    state = dict(zip(found["names"], found["assignment"], strict=True))
    assert state["zoe"] == state["bob"] != state["cyd"]
    out, _ = planaris("mar", "-", "--json", stdin=text)
    assert json.loads(out)["names"] == ["zoe", "bob", "cyd"]
    out, _ = planaris("sample", "-", "--json", stdin=text)
    assert json.loads(out)["names"] == ["zoe", "bob", "cyd"]


def test_numbered_models_have_no_names(maxcut_file):
    out, _ = planaris("map", maxcut_file, "--json")
    assert "names" not in json.loads(out)


def test_info_in_words(maxcut_file):
    out, _ = planaris("info", maxcut_file)
    facts = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in out.splitlines())
    assert facts["frustrated"] == "yes"
    assert facts["treewidth"] == "at most 2"
    assert facts["parts not planar"] == "none"
    assert re.fullmatch(r"\d+ B|[\d.]+ KiB", facts["elimination tables"])


def complete_graph(tmp_path: Path, n: int) -> Path:
    """A model that nothing exact fits."""
    pairs = [(u, v) for u in range(n) for v in range(u)]
    couplings = np.random.default_rng(0).normal(size=len(pairs)) / 8
    file = tmp_path / "complete.coo"
    pl.io.write_model(pl.IsingModel(pairs, couplings, fields=np.full(n, 0.1)), file)
    return file


def test_marginals_that_are_not_exact_have_an_exit_code_of_their_own(tmp_path, ticking):
    ticking.tick = 1e-3
    file = complete_graph(tmp_path, 60)
    out, err = planaris("mar", file, "--time-limit", "2", code=3)
    assert err.startswith("estimates, with no bound")
    assert out.split()[:3] == ["MAR", "60", "2"]
    out, _ = planaris("info", file)
    assert "none: branch and cut" in out


@pytest.mark.parametrize("wish", ["--prove", "--certificate"])
@pytest.mark.parametrize(("size", "beta", "proved"), [(8, 1.0, True), (24, 3.0, False)])
def test_marginals_are_called_proved_where_they_are(size, beta, proved, wish, tmp_path):
    file = tmp_path / "glass.txt"
    model = pl.generate.spin_glass(size, np.random.default_rng(1)).at(beta)
    write_model(model, file, format="edge-list")
    wished = [wish] if wish == "--prove" else [wish, tmp_path / "proof.json"]
    arguments = ("mar", file, "--format", "edge-list", *wished)
    assert ("proved" in planaris(*arguments)[1]) == proved
    assert json.loads(planaris(*arguments, "--json")[0])["proved"] == proved


def test_verify_names_the_file_that_does_not_fit(uai_file, maxcut_file, tmp_path):
    proof = tmp_path / "proof.json"
    planaris("map", maxcut_file, "--certificate", proof)
    _, err = planaris("verify", uai_file, proof, code=1)
    assert err.startswith(f"planaris: {proof} does not hold for {uai_file}: ")


def test_info_says_whether_a_method_fits(maxcut_file: str) -> None:
    def facts(*options: str) -> dict[str, object]:
        out, _ = planaris("info", maxcut_file, "--json", *options)
        return dict(json.loads(out))

    assert "fits" not in facts()
    assert facts("--method", "planar")["fits"] is True
    assert facts("--method", "graph-cut")["fits"] is not facts()["frustrated"]
    assert facts("--method", "treewidth", "--time-limit", "1e-12")["fits"] is False
    planaris("info", maxcut_file, "--method", "magic", code=1)


def test_the_formats_of_the_help_are_those_that_are_read():
    from planaris.cli.options import FORMATS
    from planaris.io.model_files import READERS

    assert tuple(READERS) == FORMATS
