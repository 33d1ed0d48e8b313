from __future__ import annotations

import sys

import numpy as np
import pytest

from planaris.errors import FileFormatError
from planaris.experiments import performance
from planaris.experiments.performance import BEGIN, END, Row, insert_table, render_table
from planaris.generate import spin_glass
from planaris.infer import ground_state, log_partition


def test_the_peers_solve_the_same_problems():
    glass = spin_glass(8, np.random.default_rng(3))
    assert performance._kac_ward(glass) == pytest.approx(log_partition(glass).value, rel=1e-10)
    pytest.importorskip("pymatching")
    energy = 2 * performance._pymatching(glass) - np.abs(glass.couplings).sum()
    assert energy == pytest.approx(ground_state(glass).energy, rel=1e-4)


def test_a_peer_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymatching", None)  # imports fail, whatever is installed
    assert list(performance._ground_states(4)) == []


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
