from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from helpers import toy_figure
from planaris.errors import MethodError
from planaris.experiments import FIGURES, load_figure
from planaris.experiments.figure import Settings
from planaris.experiments.reproduce import reproduce


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(FIGURES, "toy", "helpers.toy_figure")


def test_writes_a_page_of_what_is_stored(toy, tmp_path):
    (section,) = reproduce(["toy"], tmp_path, Settings(quick=True))
    assert (section.done, section.total, list(section.problems)) == (12, 12, [])
    page = (tmp_path / "index.html").read_text()
    assert f"planaris reproduce toy --quick --out {tmp_path}" in page
    assert "12 are." in page
    assert "Incomplete" not in page


def test_figures_of_earlier_runs_stay_on_the_page(toy, tmp_path, monkeypatch):
    reproduce(["toy"], tmp_path)
    monkeypatch.setitem(FIGURES, "other", "other_figure")
    monkeypatch.setitem(sys.modules, "other_figure", other())
    assert [section.name for section in reproduce(["other"], tmp_path)] == ["toy", "other"]


def other():
    return SimpleNamespace(FIGURE=replace(toy_figure.FIGURE, name="other"))


def test_a_failed_trial_and_a_failed_plot_are_on_the_page(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAILS", "3")
    (section,) = reproduce(["toy"], tmp_path)
    assert section.done == 11
    page = (tmp_path / "index.html").read_text()
    assert "A trial failed: ValueError: this one &lt;fails&gt;" in page
    assert "Incomplete: 11 of 12" in page

    monkeypatch.delenv("TOY_FAILS")
    monkeypatch.setattr(toy_figure, "new_figure", None)
    (section,) = reproduce(["toy"], tmp_path)
    assert section.done == 12
    assert "The plot failed: TypeError" in (tmp_path / "index.html").read_text()


def test_an_interrupted_run_shows_what_it_has(toy, tmp_path):
    def stop(progress):
        if progress.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["toy"], tmp_path, report=stop)
    assert "Incomplete: 5 of 12" in (tmp_path / "index.html").read_text()


def test_unknown_names_change_nothing(toy, tmp_path):
    with pytest.raises(MethodError, match="no figure is called 'nonsense'; there are: ring-cost"):
        reproduce(["toy", "nonsense"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_module_must_hold_the_figure_it_is_listed_for(toy, monkeypatch):
    monkeypatch.setitem(FIGURES, "wrong", "helpers.toy_figure")
    with pytest.raises(MethodError, match="must be a Figure called 'wrong'"):
        load_figure("wrong")
