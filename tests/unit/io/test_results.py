from __future__ import annotations

import io
import math

import numpy as np
import pytest

from planaris.errors import FileFormatError, ModelError
from planaris.io import (
    read_map,
    read_mar,
    read_pr,
    write_map,
    write_mar,
    write_mmap,
    write_pr,
)


def test_pr_is_base_ten() -> None:
    stream = io.StringIO()
    write_pr(698.0, stream)
    assert stream.getvalue() == f"PR\n{698.0 / math.log(10)!r}\n"
    assert read_pr(io.StringIO(stream.getvalue())) == pytest.approx(698.0, rel=1e-15)
    assert read_pr(io.StringIO("PR\n2.5"), log_base=math.e) == 2.5


def test_pr_of_an_impossible_model_is_written() -> None:
    stream = io.StringIO()
    write_pr(-math.inf, stream)
    assert stream.getvalue() == "PR\n-inf\n"
    assert read_pr(io.StringIO(stream.getvalue())) == -math.inf


def test_mar_round_trip() -> None:
    nodes = [np.array([0.1, 0.9]), np.array([1.0]), np.array([1 / 3, 1 / 3, 1 / 3])]
    stream = io.StringIO()
    write_mar(nodes, stream)
    again = read_mar(io.StringIO(stream.getvalue()))
    assert [t.tolist() for t in again] == [t.tolist() for t in nodes]


def test_map_round_trip() -> None:
    for task in ("MAP", "MPE"):
        stream = io.StringIO()
        write_map(np.array([2, 0, 1]), stream, task=task)
        assert stream.getvalue() == f"{task}\n3 2 0 1\n"
        assert read_map(io.StringIO(stream.getvalue())).tolist() == [2, 0, 1]
    with pytest.raises(ModelError, match="task"):
        write_map([0], io.StringIO(), task="PR")


def test_the_last_of_several_solutions_counts() -> None:
    assert read_map(io.StringIO("MPE\n2 0 0\n-BEGIN-\n2 0 1\n-BEGIN-\n2 1 1\n")).tolist() == [1, 1]
    assert read_pr(io.StringIO("PR\n-BEGIN-\n1\n-BEGIN-\n2\n"), log_base=math.e) == 2


def test_marginal_map() -> None:
    stream = io.StringIO()
    write_mmap({3: 1}, stream)
    assert stream.getvalue() == "MMAP\n1 3 1\n"


@pytest.mark.parametrize(
    ("reader", "text", "line"),
    [
        (read_pr, "", 1),
        (read_pr, "PR\n", 1),
        (read_pr, "PR\n1 2\n", 2),
        (read_pr, "MAR\n1\n", 1),
        (read_pr, "PR\n\nx\n", 3),
        (read_mar, "MAR\n2 2 .5 .5\n", 2),
        (read_mar, "MAR\n1 2 .5\n", 2),
        (read_mar, "MAR\n1 2 .5 1.5\n", 2),
        (read_mar, "MAR\n1 2 .5 .5 1\n", 2),
        (read_mar, "MAR\n-1\n", 2),
        (read_map, "MAP\n3 0 1\n", 2),
        (read_map, "MAP\n1 0.5\n", 2),
        (read_map, "MAP\n1 -1\n", 2),
    ],
)
def test_bad_results(reader: object, text: str, line: int) -> None:
    with pytest.raises(FileFormatError) as caught:
        reader(io.StringIO(text))  # type: ignore[operator]
    assert caught.value.line == line
