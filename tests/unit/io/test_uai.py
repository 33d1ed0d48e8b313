from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.mrfs import mrfs
from planaris import IsingModel, MarkovRandomField
from planaris.errors import FileFormatError, ModelError
from planaris.io import (
    read_evidence,
    read_query,
    read_uai,
    write_evidence,
    write_query,
    write_uai,
)

SMALL = "MARKOV\n2\n2 3\n2\n1 1\n2 1 0\n\n3\n0.1 0.2 0.7\n\n6\n1 2 3 4 0 1e-3\n"


def read(text: str | bytes, **options: object) -> MarkovRandomField:
    stream = io.StringIO(text) if isinstance(text, str) else io.BytesIO(text)
    return read_uai(stream, **options)  # type: ignore[arg-type]


def written(mrf: MarkovRandomField, *, log: bool) -> str:
    stream = io.StringIO()
    write_uai(mrf, stream, log=log)
    return stream.getvalue()


def test_the_first_variable_is_the_slowest() -> None:
    mrf = read(SMALL)
    assert mrf.scope(1).tolist() == [1, 0]
    assert np.exp(mrf.log_table(1)[2]).tolist() == pytest.approx([0.0, 1e-3])
    assert mrf.linear_values is not None
    assert mrf.linear_values.tolist() == [0.1, 0.2, 0.7, 1, 2, 3, 4, 0, 1e-3]


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", " "),
        SMALL.replace(" ", "\t\t"),
        SMALL.replace("MARKOV", "# made by hand\n// twice\n  markov # here").replace(
            "3\n", "3 # x\n"
        ),
        SMALL.replace("MARKOV", "BAYES"),
        "\ufeff" + SMALL,
        SMALL.rstrip(),
        SMALL + "\n\n  \n# the end",
        SMALL.replace("0.1", "+.1").replace("0.7", "7E-1"),
    ],
)
def test_odd_white_space_and_comments(text: str) -> None:
    mrf = read(text)
    assert mrf.linear_values is not None
    assert mrf.linear_values.tolist() == [0.1, 0.2, 0.7, 1, 2, 3, 4, 0, 1e-3]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "MARKOV or BAYES, got the end of the file"),
        ("ISING\n2", 1, "MARKOV or BAYES, got 'ISING'"),
        ("MARKOV\nx", 2, "number of variables"),
        ("MARKOV\n1\n0\n0", 3, "number of labels of variable 0"),
        ("MARKOV\n1\n-2\n0", 3, "got '-2'"),
        ("MARKOV\n1\n2.0\n0", 3, "got '2.0'"),
        ("MARKOV\n2\n2 2\n1\n3 0 1 1\n8 1 1 1 1 1 1 1 1", 5, "number of variables of factor 0"),
        ("MARKOV\n2\n2 2\n1\n2 0 2\n4 1 1 1 1", 5, "a variable of factor 0, 0 to 1, got '2'"),
        ("MARKOV\n2\n2 2\n1\n2 0 0\n4 1 1 1 1", 5, "different variables"),
        ("MARKOV\n2\n2 2\n1\n2 0 1\n\n5\n1 1 1 1 1", 7, "table size 4 of factor 0, got '5'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1\n-1", 8, r"number 2 of 2 of factor 0\), got '-1'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1\nnan", 8, "finite and not negative"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1\n1e-400", 8, "fits a double"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1\n0,5", 8, "got '0,5'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1\n½", 8, r"got '\\xc2\\xbd'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 1\n1", 8, "end of the file after the last table, got '1'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1", 7, "got the end of the file"),
        ("MARKOV\n1\n2\0\n1\n1 0\n2\n1 1", 3, r"got '2\\x00'"),
    ],
)
def test_errors_name_line_and_expectation(text: str, line: int, words: str) -> None:
    with pytest.raises(FileFormatError, match=words) as caught:
        read(text)
    assert caught.value.line == line
    assert caught.value.evidence["path"] == "stream"


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.uai"
    path.write_text("MARKOV\n1\n2\n")
    with pytest.raises(FileFormatError, match=r"broken\.uai, line 4, column 1: expected"):
        read_uai(path)


@pytest.mark.parametrize(
    "text",
    [
        "MARKOV\n2\n100000 100000\n1\n2 0 1\n10000000000\n1 1 1",
        "MARKOV\n1\n130000000\n1\n1 0\n130000000\n1",
        "MARKOV\n130000000\n2 2",
        "MARKOV\n1\n2\n130000000\n1 0",
        "MARKOV\n3\n2000000000 2000000000 2000000000\n1\n3 0 1 2\n1 1",
    ],
)
def test_announced_gigabytes_are_refused_before_they_are_allocated(text: str) -> None:
    tracemalloc.start()
    with pytest.raises(FileFormatError):
        read(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_table_that_just_fits_its_file_is_read() -> None:
    mrf = read("MARKOV 1 100 1 1 0 100 " + " ".join("1" * 100))
    assert mrf.table_shape(0) == (100,)


def test_logarithms(tmp_path: Path) -> None:
    path = tmp_path / "model.uai.LG"
    path.write_text("MARKOV 1 3 1 1 0 3 -inf -1.5 700")
    mrf = read_uai(path)
    assert mrf.log_values.tolist() == [-np.inf, -1.5, 700.0]
    assert mrf.linear_values is None
    with pytest.raises(FileFormatError, match="not negative"):
        read_uai(path, log=False)
    with pytest.raises(ModelError, match="write logarithms"):
        write_uai(MarkovRandomField([1], [((0,), [800.0])], log=True), tmp_path / "x.uai")


def test_compressed(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("m.uai", SMALL)
    raw = SMALL.encode()
    for data in (gzip.compress(raw), lzma.compress(raw), bz2.compress(raw), archive.getvalue()):
        assert read(data).num_factors == 2
        with pytest.raises(FileFormatError):
            read(data[: len(data) // 2])
    for suffix in (".gz", ".xz", ".bz2"):
        path = tmp_path / f"m.uai.LG{suffix}"
        write_uai(read(SMALL), path)
        assert not path.read_bytes().startswith(b"MARKOV")
        assert read_uai(path).log_values.tolist() == read(SMALL).log_values.tolist()


@given(mrfs())
def test_round_trip_keeps_every_bit(mrf: MarkovRandomField) -> None:
    log = mrf.linear_values is None
    again = read(written(mrf, log=log), log=log)
    for name in ("cardinalities", "scopes", "scope_offsets", "table_offsets", "log_values"):
        assert np.array_equal(getattr(again, name), getattr(mrf, name))
    if mrf.linear_values is not None:
        assert again.linear_values is not None
        assert again.linear_values.tobytes() == mrf.linear_values.tobytes()
    assert written(again, log=log) == written(mrf, log=log)


@given(st.lists(st.floats(0, allow_infinity=False), min_size=1, max_size=6))
def test_any_double_survives(values: list[float]) -> None:
    mrf = MarkovRandomField([len(values)], [((0,), values)])
    again = read(written(mrf, log=False))
    assert again.linear_values is not None
    assert again.linear_values.tobytes() == np.array(values).tobytes()


def test_names_live_in_a_side_car(tmp_path: Path) -> None:
    path = tmp_path / "m.uai"
    mrf = MarkovRandomField([2, 2], [((0, 1), [1, 2, 3, 4])], labels=["rain", "wet"])
    write_uai(mrf, path)
    side = tmp_path / "m.uai.names.json"
    assert json.loads(side.read_text())["variables"] == ["rain", "wet"]
    assert read_uai(path).labels == ["rain", "wet"]
    write_uai(MarkovRandomField([2], []), path)
    assert not side.exists()
    for bad in ("{", "[]", '{"variables": ["a"]}', '{"variables": ["a", "a"]}', "\x00"):
        write_uai(mrf, path)
        side.write_text(bad)
        with pytest.raises(FileFormatError, match=r"names\.json"):
            read_uai(path)


# -- evidence ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("0", {}),
        ("0\n", {}),
        ("1 3 1", {3: 1}),
        ("2 0 1 3 0", {0: 1, 3: 0}),
        ("2\n1 1\n3 1\n", {1: 1, 3: 1}),
        ("1\n2 0 1 3 0\n", {0: 1, 3: 0}),
        ("1\n0\n", {}),
        ("1 0", {}),
        ("# none\n3 1 1 2 1 2 1", {1: 1, 2: 1}),
    ],
)
def test_both_forms_of_evidence(text: str, evidence: dict[int, int]) -> None:
    assert read_evidence(io.StringIO(text)) == evidence


def test_evidence_of_several_samples() -> None:
    text = "2\n0\n1 3 0\n"
    with pytest.raises(FileFormatError, match="sample="):
        read_evidence(io.StringIO(text))
    assert read_evidence(io.StringIO(text), sample=1) == {3: 0}
    assert read_evidence(io.StringIO(text), form="2014") == {0: 1, 3: 0}
    assert read_evidence(io.StringIO("2 0 1 3 0"), form="2010", sample=1) == {3: 0}
    with pytest.raises(FileFormatError, match="form="):
        read_evidence(io.StringIO("2\n0 1\n3 0\n"))
    with pytest.raises(ModelError, match="sample"):
        read_evidence(io.StringIO(text), sample=2)


@pytest.mark.parametrize(
    "text",
    ["", "x", "1", "1 2", "2 1 1", "-1", "1.5", "1 1 1 1 1", "2 1 0 1 1", "1 1e30 0", "3 nan"],
)
def test_bad_evidence(text: str) -> None:
    with pytest.raises(FileFormatError):
        read_evidence(io.StringIO(text))


@given(st.dictionaries(st.integers(0, 99), st.integers(0, 9)), st.sampled_from(["2014", "2010"]))
def test_evidence_round_trip(evidence: dict[int, int], form: str) -> None:
    stream = io.StringIO()
    write_evidence(evidence, stream, form=form)
    assert read_evidence(io.StringIO(stream.getvalue())) == evidence


def test_query() -> None:
    stream = io.StringIO()
    write_query([4, 0], stream)
    assert read_query(io.StringIO(stream.getvalue())) == [4, 0]
    for bad in ("", "1", "2 4 4", "2 1 2 3"):
        with pytest.raises(FileFormatError):
            read_query(io.StringIO(bad))


def test_ising_models_are_refused_by_name(tmp_path: Path) -> None:
    model = IsingModel([(0, 1)], [0.5])
    with pytest.raises(ModelError, match=r"IsingModel.*write_model"):
        write_uai(model, tmp_path / "model.uai")  # type: ignore[arg-type]
