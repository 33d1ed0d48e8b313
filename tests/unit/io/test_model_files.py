"""Max-cut, edge lists, QUBO and dimod files, and the one way in and out."""

from __future__ import annotations

import io
import itertools
import lzma
import tracemalloc
from pathlib import Path
from typing import Any

import dimod
import dimod.serialization.coo
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaris import IsingModel, MarkovRandomField
from planaris.errors import FileFormatError, MethodError, ModelError
from planaris.io import (
    read_coo,
    read_edge_list,
    read_maxcut,
    read_model,
    read_qubo,
    read_uai,
    write_coo,
    write_edge_list,
    write_maxcut,
    write_model,
    write_qubo,
)
from planaris.io.dimod import read_bqm
from planaris.reference import enumerate_states
from planaris.reference.brute_force import all_states


def random_model(rng: np.random.Generator, n: int = 6, *, fields: bool = True) -> IsingModel:
    edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.6]
    h = rng.normal(size=n) if fields else None
    return IsingModel(edges, rng.normal(size=len(edges)), h, num_spins=n, offset=rng.normal())


def same(a: IsingModel, b: IsingModel) -> bool:
    return (
        np.array_equal(np.sort(a.edges), np.sort(b.edges))
        and np.array_equal(a.couplings, b.couplings)
        and np.array_equal(a.fields, b.fields)
        and a.offset == b.offset
        and list(a.labels) == list(b.labels)
    )


def written(writer: Any, *arguments: Any, **options: Any) -> io.StringIO:
    stream = io.StringIO()
    writer(*arguments, stream, **options)
    return io.StringIO(stream.getvalue())


# -- max-cut ----------------------------------------------------------------------------------


def test_energy_is_minus_the_cut(rng: np.random.Generator) -> None:
    n = 7
    edges = list(itertools.combinations(range(n), 2))
    weights = rng.integers(-9, 10, len(edges))
    lines = [f"{u + 1} {v + 1} {w}" for (u, v), w in zip(edges, weights, strict=True)]
    model = read_maxcut(io.StringIO(f"{n} {len(edges)}\n" + "\n".join(lines)))
    states = all_states(n)
    cuts = sum(w * (states[:, u] != states[:, v]) for (u, v), w in zip(edges, weights, strict=True))
    assert np.array_equal(model.energy(states), -cuts)
    assert enumerate_states(model).energy == -cuts.max()


def test_maxcut_round_trip(rng: np.random.Generator) -> None:
    text = "4 3 \n1 2 3\n2 4 -5\n1 3 0.25\n"
    model = read_maxcut(io.StringIO(text))
    assert model.num_spins == 4
    assert written(write_maxcut, model).getvalue() == text.replace(" \n", "\n")
    assert same(read_maxcut(written(write_maxcut, model)), model)
    with pytest.raises(MethodError, match="keep_offset=False"):
        write_maxcut(IsingModel([(0, 1)], [1.0], offset=7.0), io.StringIO())
    with pytest.raises(MethodError, match="fields2bias"):
        write_maxcut(random_model(rng), io.StringIO())


def test_weights_may_be_left_out() -> None:
    assert read_maxcut(io.StringIO("3 2\n1 2\n2 3\n")).couplings.tolist() == [-0.5, -0.5]
    assert read_maxcut(io.StringIO("3 0\n")).num_spins == 3


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "'n m'"),
        ("3\n", 1, "'n m'"),
        ("3 1\n1 2 1\n2 3 1\n", 1, "1 lines after the first, got 2"),
        ("3 2\n1 2 1\n", 1, "2 lines after the first, got 1"),
        ("3 1\n0 2 1\n", 2, "a vertex from 1 to 3, got 0"),
        ("3 1\n1 4 1\n", 2, "got 4"),
        ("3 1\n1 1.5 1\n", 2, "got 1.5"),
        ("3 1\n2 2 1\n", 2, "format='bq'"),
        ("3 2\n1 2 1\n2 3\n", 3, "3 numbers in a line, got 2"),
        ("3 1\n1 2 3 4\n", 2, "2 or 3 numbers in a line, got 4"),
        ("3 1\n1 2 x\n", 2, "a finite number, got 'x'"),
        ("3 1\n1 2 inf\n", 2, "a finite number"),
        ("9999999999 1\n1 2 3\n", 1, "at most"),
    ],
)
def test_bad_maxcut_files(text: str, line: int, words: str) -> None:
    with pytest.raises(FileFormatError, match=words) as caught:
        read_maxcut(io.StringIO(text))
    assert caught.value.line == line


# -- edge lists -------------------------------------------------------------------------------


def test_edge_lists() -> None:
    model = read_edge_list(io.StringIO("# c\n0 1 2.5 # x\n\n2 1 -1\n1 0 1\n"))
    assert model.edges.tolist() == [[0, 1], [2, 1]]
    assert model.couplings.tolist() == [3.5, -1.0]
    assert read_edge_list(io.StringIO("0 3\n")).num_spins == 4
    named = read_edge_list(io.StringIO("β α 2\nα γ 1\n"))
    assert named.labels == ["β", "α", "γ"]
    assert read_edge_list(io.StringIO("7 9\n"), labels=True).labels == ["7", "9"]


def test_edge_list_round_trip(rng: np.random.Generator) -> None:
    model = random_model(rng, fields=False)
    assert same(read_edge_list(written(write_edge_list, model)), model)
    lonely = IsingModel([], [], num_spins=3)
    assert same(read_edge_list(written(write_edge_list, lonely)), lonely)
    named = IsingModel([(0, 1)], [0.1], labels=["a", "b"], offset=-0.5)
    assert same(read_edge_list(written(write_edge_list, named)), named)
    for bad in (["a", "b c"], ["a", "#"], ["1", "2"], ["a", ""]):
        with pytest.raises(MethodError, match="names"):
            write_edge_list(IsingModel([(0, 1)], [0.1], labels=bad), io.StringIO())
    with pytest.raises(MethodError, match="fields"):
        write_edge_list(random_model(rng), io.StringIO())


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "edges"),
        ("0 1\n1 2 3\n", 2, "2 numbers in a line"),
        ("0\n", 1, "2 or 3 numbers"),
        ("0 0 1\n", 1, "two different vertices"),
        ("a a 1\n", 1, "two different vertices"),
        ("0 1\n0 -1\n", 2, "a vertex number"),
        ("0 1\n0 1000000000\n", 2, "labels=True"),
        ("a b x\n", 1, "a finite coupling, got 'x'"),
        ("a b 1\nc\n", 2, "3 words in a line"),
        ("0 1 1\nO 2 1\n", 2, "labels=True reads numbers as names too.*got 'O'"),
        ("# num_spins=3\na b\n", 1, "num_spins=2"),
        ("# num_spins=1\n0 1\n", 1, "num_spins"),
        ("#" + "x" * 5000 + "\n# offset=x\n0 1\n", 1, "offset"),
        ("# num_spins=99999999999\n0 1\n", 1, "at most 4000002 variables"),
        ("# offset=nan\n0 1\n", 1, "offset"),
    ],
)
def test_bad_edge_lists(text: str, line: int, words: str) -> None:
    with pytest.raises(FileFormatError, match=words) as caught:
        read_edge_list(io.StringIO(text))
    assert caught.value.line == line


# -- QUBO -------------------------------------------------------------------------------------


def test_coo_is_dimods(rng: np.random.Generator) -> None:
    model = random_model(rng)
    stream = written(write_coo, model)
    assert same(read_coo(stream), model)
    theirs = dimod.serialization.coo.loads(stream.getvalue())
    states = all_states(model.num_spins)
    found = theirs.energies((states, list(range(model.num_spins))))
    np.testing.assert_allclose(found - model.offset, model.energy(states), atol=1e-12)
    for vartype in ("SPIN", "BINARY"):
        bqm = dimod.BinaryQuadraticModel({0: 1.5, 1: -2.0}, {(0, 1): 3.0, (1, 2): 0.5}, 0, vartype)
        bqm.add_variable(2)
        again = read_coo(io.StringIO(dimod.serialization.coo.dumps(bqm, vartype_header=True)))
        order = np.argsort([int(v) for v in bqm.variables])
        labels = all_states(3) if vartype == "SPIN" else (all_states(3) + 1) // 2
        names = [list(bqm.variables)[k] for k in order]
        np.testing.assert_allclose(again.energy(all_states(3)), bqm.energies((labels, names)))


def test_qubo_files_hold_the_objective() -> None:
    once = read_qubo(io.StringIO("c x\np qubo 0 3 1 1\n0 0 -3\n0 2 2\n"), format="qubo")
    twice = read_qubo(io.StringIO("3 2\n1 1 -3\n1 3 2\n"), format="bq")
    x = (all_states(3) + 1) // 2
    np.testing.assert_allclose(once.energy(all_states(3)), -3 * x[:, 0] + 2 * x[:, 0] * x[:, 2])
    np.testing.assert_allclose(twice.energy(all_states(3)), -3 * x[:, 0] + 4 * x[:, 0] * x[:, 2])


@pytest.mark.parametrize("format", ["qubo", "bq", "coo"])
def test_qubo_round_trip(format: str, rng: np.random.Generator, tmp_path: Path) -> None:
    model = random_model(rng)
    path = tmp_path / f"model.{format}"
    write_qubo(model, path)
    again = read_qubo(path) if format != "coo" else read_coo(path)
    states = all_states(model.num_spins)
    difference = again.energy(states) - model.energy(states)
    np.testing.assert_allclose(difference, 0.0, atol=1e-12)
    if format == "coo":
        assert difference[0] == 0


@pytest.mark.parametrize("start", ["c offset=5", "c offset=5: of the penalty", "# offset = 5"])
def test_an_offset_in_the_words_of_others_is_a_comment(start: str) -> None:
    assert read_qubo(io.StringIO(f"{start}\np qubo 0 1 0 0\n"), format="qubo").offset == 0.0


@pytest.mark.parametrize(
    ("text", "format", "words"),
    [
        ("0 0 1\n", "qubo", "p qubo"),
        ("p qubo 0 2 1 0\n0 0 1\n0 1 1\n", "qubo", "1 diagonal and 0 other entries"),
        ("p qubo 0 2 1 0\n5 5 1\n", "qubo", "a variable from 0 to 1"),
        ("p qubo 0 x 1 0\n0 0 1\n", "qubo", "maxNodes"),
        ("# offset=inf: energy = objective + offset\n0 0\n", "bq", "finite number for offset"),
        ("2 1\n3 1 1\n", "bq", "from 1 to 2"),
        ("2 1\n1 1\n", "bq", "3 numbers"),
        ("# vartype=OTHER\n0 1 1\n", "coo", "SPIN or BINARY"),
        ("", "coo", "entries"),
    ],
)
def test_bad_qubo_files(text: str, format: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read_model(io.StringIO(text), format=format)


# -- dimod's own files ------------------------------------------------------------------------


def test_bqm_files(tmp_path: Path) -> None:
    model = IsingModel([(0, 1)], [0.5], [1.0, 0.0], offset=2.0, labels=["a", "b"])
    path = tmp_path / "model.bqm"
    write_model(model, path)
    assert same(read_bqm(path), model)
    assert same(read_model(path), model)  # type: ignore[arg-type]
    for damaged in (b"DIMODBQM", b"DIMODBQM" + path.read_bytes()[8:60], b"nothing"):
        with pytest.raises(FileFormatError):
            read_model(io.BytesIO(damaged), format="bqm")


# -- one way in and out -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# x\nMARKOV 1 2 0", "MarkovRandomField(1 variable, 0 factors)"),
        ("3 2\n1 2 5\n2 3 1\n", "IsingModel(3 spins, 2 edges, no fields)"),
        ("0 1 1\n1 5 1\n", "IsingModel(6 spins, 2 edges, no fields)"),
        ("# vartype=SPIN\n0 0 1\n1 0 2\n", "IsingModel(2 spins, 1 edge, 1 field)"),
        ("p qubo 0 2 1 0\n1 1 3\n", "IsingModel(2 spins, 0 edges, 1 field)"),
    ],
)
def test_formats_are_told_by_content(text: str, kind: str) -> None:
    assert repr(read_model(io.StringIO(text))) == kind


@pytest.mark.parametrize("text", ["", "hello\n", "a b\n", "3 1\n1 2\n", "1 2 3\n4 5\n", "\x00"])
def test_doubtful_content_is_refused(text: str) -> None:
    with pytest.raises(FileFormatError, match="say which by `format`: uai"):
        read_model(io.StringIO(text))


def test_extensions(tmp_path: Path, rng: np.random.Generator) -> None:
    model = random_model(rng, fields=False)
    cut = IsingModel(model.edges, model.couplings, num_spins=6, offset=-model.couplings.sum())
    for name in ("m.mc", "m.rud", "m.edges", "m.coo", "m.bqm", "m.edges.xz"):
        write_model(cut, tmp_path / name)
        again = read_model(tmp_path / name)
        states = all_states(6)
        np.testing.assert_allclose(again.energy(states), cut.energy(states), atol=1e-12)
    for name in ("m.uai", "m.uai.LG", "m.LG.gz"):
        write_model(cut, tmp_path / name)
        labels = (all_states(6) + 1) // 2
        again = read_model(tmp_path / name)
        assert isinstance(again, MarkovRandomField)
        np.testing.assert_allclose(again.energy(labels), cut.energy(all_states(6)), atol=1e-12)
        write_model(again, tmp_path / "back.coo")
        back = read_model(tmp_path / "back.coo")
        np.testing.assert_allclose(
            back.energy(all_states(6)), cut.energy(all_states(6)), atol=1e-12
        )
    with pytest.raises(ModelError, match="format"):
        write_model(cut, tmp_path / "m.unknown")
    with pytest.raises(ModelError, match="format"):
        read_model(tmp_path / "m.mc", format="unknown")
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "absent.uai")


def test_standard_input_and_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stdin:
        buffer = io.BytesIO(lzma.compress(b"MARKOV 1 2 1 1 0 2 0.5 1"))

    monkeypatch.setattr("sys.stdin", Stdin)
    model = read_model("-")
    write_model(model, "-", format="uai")
    assert read_uai(io.StringIO(capsys.readouterr().out)).num_factors == 1
    Stdin.buffer = io.BytesIO(b"MARKOV x")
    with pytest.raises(FileFormatError, match="standard input, line 1"):
        read_model("-", format="uai")


finite = st.floats(-1e300, 1e300)


@given(st.integers(0, 5), st.data())
def test_any_double_survives_every_lossless_format(n: int, data: st.DataObject) -> None:
    edges = [e for e in itertools.combinations(range(n), 2) if data.draw(st.booleans())]
    couplings = [data.draw(finite) for _ in edges]
    fields = [data.draw(finite) for _ in range(n)]
    model = IsingModel(edges, couplings, fields, num_spins=n, offset=data.draw(finite))
    assert same(read_coo(written(write_coo, model)), model)
    bare = IsingModel(edges, couplings, num_spins=n, offset=model.offset)
    assert same(read_edge_list(written(write_edge_list, bare)), bare)
    cut = read_maxcut(written(write_maxcut, bare, keep_offset=False))
    assert np.array_equal(cut.couplings, bare.couplings)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1000000000 1\n1 2 3\n", "maxcut"),
        ("1000000000 1\n1 2 3\n", "bq"),
        ("p qubo 0 1000000000 0 1\n1 2 3\n", "qubo"),
        ("# num_spins=1000000000\n1 2 3\n", "edge-list"),
        ("# num_variables=1000000000\n1 2 3\n", "coo"),
        ("1 1000000000 3\n", "edge-list"),
        ("1 1000000000 3\n", "coo"),
    ],
)
def test_announced_gigabytes_are_refused_before_they_are_allocated(text: str, format: str) -> None:
    tracemalloc.start()
    with pytest.raises(FileFormatError):
        read_model(io.StringIO(text), format=format)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_many_comments_are_no_burden() -> None:
    with pytest.raises(FileFormatError, match="no lines of numbers"):
        read_model(io.BytesIO(b"#\n" * 1_000_000))


def test_edge_lists_of_names_are_known_by_their_content(tmp_path: Path) -> None:
    file = tmp_path / "friends.txt"
    file.write_text("# who likes whom\nann bob 1.5\nbob cyd -2e0\n\ncyd ann 1 # again\n")
    model = read_model(file)
    assert list(model.labels) == ["ann", "bob", "cyd"]
    assert model.couplings.tolist() == [1.5, -2.0, 1.0]


@pytest.mark.parametrize(
    "text", ["to be or\nnot to be\n", "ann bob\nbob cyd\n", "ann bob 1\nbob 3 1\n", "a a 1\n"]
)
def test_other_words_are_not_taken_for_an_edge_list(text: str) -> None:
    with pytest.raises(FileFormatError, match=r"`format`: uai, .*edge-list"):
        read_model(io.StringIO(text))


def test_writing_needs_a_format_that_is_known() -> None:
    with pytest.raises(ModelError, match=r"one of uai.*got no format and the extension"):
        write_model(IsingModel([(0, 1)], 1.0), io.StringIO())


def test_a_refused_offset_is_dropped_by_what_the_refusal_says(tmp_path: Path) -> None:
    model, file = IsingModel([(0, 1), (1, 2)], [1.0, -0.5]), tmp_path / "glass.mc"
    with pytest.raises(MethodError, match=r"io\.write_maxcut\(model, file, keep_offset=False\)"):
        write_model(model, file)
    write_maxcut(model, file, keep_offset=False)
    found = read_model(file)
    assert isinstance(found, IsingModel)
    wanted = enumerate_states(model).ground_states
    assert enumerate_states(found).ground_states.tolist() == wanted.tolist()


def test_an_offset_of_tiny_couplings_is_not_taken_for_that_of_a_cut() -> None:
    tiny = IsingModel([(0, 1)], [-1e-13], offset=7e-13)
    with pytest.raises(MethodError, match="keeps no offset"):
        write_maxcut(tiny, io.StringIO())
    file = io.StringIO()
    write_maxcut(IsingModel([(0, 1)], [-1e-13], offset=1e-13), file)
    assert read_maxcut(io.StringIO(file.getvalue())).offset == 1e-13


@pytest.mark.parametrize("format", ["qubo", "bq"])
def test_a_qubo_whose_sums_lose_fields_is_refused(format: str) -> None:
    penalty = IsingModel([(0, 1)], [1e17], [1.0, -2.0])
    with pytest.raises(MethodError, match="too different sizes"):
        write_qubo(penalty, io.StringIO(), format=format)
    whole = IsingModel([(0, 1)], [2.0**52], [1.0, -2.0])  # nothing is rounded
    file = io.StringIO()
    write_qubo(whole, file, format=format)
    assert read_qubo(io.StringIO(file.getvalue()), format=format) == whole


@pytest.mark.parametrize("source", [None, 3, [1, 2]])
def test_what_is_no_file_is_refused(source) -> None:
    with pytest.raises(ModelError, match="path, '-' or a stream"):
        read_model(source)
