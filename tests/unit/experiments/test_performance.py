from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from planaris.cli.commands.bench import bench
from planaris.errors import FileFormatError
from planaris.experiments import performance
from planaris.experiments.batch_performance import (
    BATCH_BEGIN,
    BATCH_END,
    BatchRow,
    measure_batches,
    render_batches,
)
from planaris.experiments.performance import BEGIN, END, Row, insert_table, render_table
from planaris.generate import spin_glass
from planaris.infer import ground_state, log_partition


def test_the_peers_solve_the_same_problems():
    glass = spin_glass(8, np.random.default_rng(3))
    assert performance.kac_ward_log_partition(glass) == pytest.approx(
        log_partition(glass).value, rel=1e-10
    )
    pytest.importorskip("pymatching")
    energy = 2 * performance._pymatching(glass) - np.abs(glass.couplings).sum()
    assert energy == pytest.approx(ground_state(glass).energy, rel=1e-4)


def test_a_peer_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymatching", None)  # imports fail, whatever is installed
    assert list(performance._ground_states(4)) == []


def test_one_model_of_a_batch_is_compared_with_the_peer():
    (row,) = performance._batch(5, count=3)
    assert row.agrees
    assert "µs" in render_table([Row("t", "s", 2e-5, "p", 2e-3, True)])


def test_another_answer_is_not_hidden():
    assert "another answer" in render_table([Row("t", "s", 1.0, "p", 2.0, False)])


def test_the_table_goes_between_the_marks():
    text = f"before\n{BEGIN}\nold \\1\n{END}\nafter\n"
    once = insert_table(text, "| new \\1 |")
    assert once == f"before\n{BEGIN}\n\n| new \\1 |\n\n{END}\nafter\n"
    assert insert_table(once, "| new \\1 |") == once
    for bad in ("no marks", text + text, f"{END} {BEGIN}"):
        with pytest.raises(FileFormatError, match="one pair"):
            insert_table(bad, "table")


def test_batches_are_measured_on_as_many_threads_as_there_are_processors() -> None:
    rows = list(measure_batches(sizes=(3, 4)))
    assert {row.size for row in rows} == {3, 4}
    assert all(row.agrees and row.per_second > 0 for row in rows)
    assert [row.efficiency for row in rows if row.threads == 1] == [1.0, 1.0]
    table = render_batches(rows).splitlines()
    assert len(table) == 2 + len(rows)
    assert {line.count("|") for line in table} == {9}


def test_the_command_measures_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = BatchRow(11, 1, 64, 5e4, 1.0, 4e-4, 2e-3, 2e-6, agrees=True)
    monkeypatch.setattr("planaris.experiments.batch_performance.measure_batches", lambda: [row])
    page = tmp_path / "page.md"
    page.write_text(f"a\n{BATCH_BEGIN}\nold\n{BATCH_END}\nb", encoding="utf-8")
    bench(batch=True, write=page)
    text = page.read_text(encoding="utf-8")
    assert "| 11² | 1 | 50,000 | 100 % |" in text
    assert "planaris bench --batch" in text
    assert "old" not in text


def test_every_run_is_timed_on_a_fresh_model(monkeypatch):
    """A model keeps the structure that the first run found; later runs would look faster."""
    seen = []

    def solve(model, *, threads):
        seen.append(model)
        return log_partition(model, threads=threads)

    monkeypatch.setattr(performance, "log_partition", solve)
    (row,) = performance._partition_functions(6)
    assert row.agrees
    assert len(seen) == 3
    assert len({id(model) for model in seen}) == 3
